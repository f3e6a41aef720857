//! Whether a schema is structural: every field has one type, and conditions only restrict what is specified elsewhere.

use serde_json::{Map, Value, json};

use super::error::FieldError;
use super::path::FieldPath;
use super::pattern::Pattern;
use super::schema_check::{flag, is_zero, present, text};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What is left of a metadata schema when the parts that are allowed are taken away.
const METADATA_KEYWORDS: [&str; 3] = ["default", "properties", "type"];

/// Everything that keeps a schema from being structural, sorted as the server sorts it.
pub(crate) fn validate(root: &Map<String, Value>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(root, Level::Root, path, &mut errors);
    completeness(root, root, path, path, &mut errors);
    errors.sort_by_cached_key(FieldError::to_string);
    errors
}

fn invariants(schema: &Map<String, Value>, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let items = schema.get("items").and_then(Value::as_object);
    if kind == "array" && present(schema, "items").is_none() {
        errors.push(FieldError::required(&path.child("items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in properties(schema) {
        invariants(property, Level::Field, &path.child("properties").key(name), errors);
    }
    let additional = present(schema, "additionalProperties");
    if additional.is_some() && level == Level::Root {
        errors
            .push(FieldError::forbidden(&path.child("additionalProperties"), "must not be used at the root"));
    }
    if let Some(Value::Object(additional)) = additional {
        invariants(additional, Level::Field, &path.child("additionalProperties"), errors);
    }

    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    if int_or_string {
        for (keyword, is_set) in
            [("x-kubernetes-preserve-unknown-fields", preserve), ("x-kubernetes-embedded-resource", embedded)]
        {
            if is_set {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                errors.push(FieldError::invalid(&path.child(keyword), true, detail));
            }
        }
    }
    let first_all_of = schema.get("allOf").and_then(|all_of| all_of.get(0)).and_then(Value::as_object);
    let exempt = Exempt {
        any_of: is_int_or_string_any_of(schema),
        first_all_of: first_all_of.is_some_and(is_int_or_string_any_of),
    };
    conditions(schema, exempt, path, errors);

    let type_path = path.child("type");
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => FieldError::required(&type_path, detail),
            kind => FieldError::invalid(&type_path, kind, detail),
        });
    } else if kind.is_empty() && !int_or_string && !preserve {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.push(FieldError::required(&type_path, format!("must not be empty {place}")));
    }
    if embedded && additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(&path.child("additionalProperties"), detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(&type_path, kind, "must be object at the root"));
    }

    let is_object = level == Level::Root || embedded;
    for (name, property) in properties(schema).filter(|_| is_object) {
        let path = path.child("properties").key(name);
        let kind = text(property, "type");
        match name {
            "kind" | "apiVersion" if kind != "string" => {
                errors.push(FieldError::invalid(&path.child("type"), kind, "must be string"));
            }
            "metadata" => {
                if kind != "object" {
                    errors.push(FieldError::invalid(&path.child("type"), kind, "must be object"));
                }
                if level == Level::Root && !is_plain_metadata(property) {
                    let detail = "must not specify anything other than name and generateName, but metadata is \
                                  implicitly specified";
                    errors.push(FieldError::forbidden(&path, detail));
                }
            }
            _ => {}
        }
    }
    if embedded && !preserve && properties(schema).next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&path.child("properties"), detail));
    }
}

fn is_plain_metadata(schema: &Map<String, Value>) -> bool {
    properties(schema).all(|(name, _)| matches!(name, "name" | "generateName"))
        && schema
            .iter()
            .all(|(keyword, value)| METADATA_KEYWORDS.contains(&keyword.as_str()) || is_zero(value))
}

/// `anyOf: [{type: integer}, {type: string}]`, the one place where a condition may speak of types.
fn is_int_or_string_any_of(schema: &Map<String, Value>) -> bool {
    schema.get("anyOf") == Some(&json!([{"type": "integer"}, {"type": "string"}]))
}

#[derive(Clone, Copy, Default)]
struct Exempt {
    any_of: bool,
    first_all_of: bool,
}

/// The conditions of a schema: `anyOf`, `allOf`, `oneOf`, `not`, and the pattern.
fn conditions(schema: &Map<String, Value>, exempt: Exempt, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        if keyword == "anyOf" && exempt.any_of {
            continue;
        }
        for (index, nested) in alternatives(schema, keyword) {
            let any_of = keyword == "allOf" && index == 0 && exempt.first_all_of;
            let exempt = Exempt { any_of, first_all_of: false };
            condition(nested, exempt, &path.child(keyword).index(index), errors);
        }
    }
    if let Some(nested) = schema.get("not").and_then(Value::as_object) {
        condition(nested, Exempt::default(), &path.child("not"), errors);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty()
        && let Err(error) = Pattern::new(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(&path.child("pattern"), pattern, detail));
    }
}

/// A schema within a condition: it may only restrict.
fn condition(schema: &Map<String, Value>, exempt: Exempt, path: &FieldPath, errors: &mut Vec<FieldError>) {
    conditions(schema, exempt, path, errors);
    if let Some(items) = schema.get("items").and_then(Value::as_object) {
        condition(items, Exempt::default(), &path.child("items"), errors);
    }
    for (name, property) in properties(schema) {
        condition(property, Exempt::default(), &path.child("properties").key(name), errors);
    }
    for (keyword, state) in [
        ("type", "empty"),
        ("additionalProperties", "undefined"),
        ("default", "undefined"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ] {
        let is_set = match (present(schema, keyword), state) {
            (None, _) => false,
            (Some(_), "undefined") => true,
            (Some(value), _) => !is_zero(value),
        };
        if is_set {
            let detail = format!("must be {state} to be structural");
            errors.push(FieldError::forbidden(&path.child(keyword), detail));
        }
    }
    if properties(schema).any(|(name, _)| name == "metadata") {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(&path.child("properties").key("metadata"), detail));
    }
}

/// Every field that a condition of `schema` names is specified in `specified`, too. Like the server, this begins with
/// the conditions of the root only.
fn completeness(
    schema: &Map<String, Value>,
    specified: &Map<String, Value>,
    path: &FieldPath,
    condition_path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let nested = |nested: &Map<String, Value>, condition_path: FieldPath, errors: &mut Vec<FieldError>| {
        complete_condition(nested, specified, path, &condition_path, errors);
    };
    if let Some(not) = schema.get("not").and_then(Value::as_object) {
        nested(not, condition_path.child("not"), errors);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for (index, schema) in alternatives(schema, keyword) {
            nested(schema, condition_path.child(keyword).index(index), errors);
        }
    }
}

fn complete_condition(
    schema: &Map<String, Value>,
    specified: &Map<String, Value>,
    path: &FieldPath,
    condition_path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    completeness(schema, specified, path, condition_path, errors);
    let mut part =
        |schema: &Map<String, Value>, specified: Option<&Value>, path: FieldPath, at: FieldPath| {
            match specified.and_then(Value::as_object) {
                Some(specified) => complete_condition(schema, specified, &path, &at, errors),
                None => errors.push(FieldError::required(&path, format!("because it is defined in {at}"))),
            }
        };
    if let Some(items) = schema.get("items").and_then(Value::as_object) {
        part(items, specified.get("items"), path.child("items"), condition_path.child("items"));
    }
    for (name, property) in properties(schema) {
        let known = specified.get("properties").and_then(|properties| properties.get(name));
        let at = condition_path.child("properties").key(name);
        part(property, known, path.child("properties").key(name), at);
    }
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().filter_map(|(name, schema)| Some((name.as_str(), schema.as_object()?)))
}

fn alternatives<'a>(
    schema: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> + use<'a> {
    let schemas = schema.get(keyword).and_then(Value::as_array);
    schemas.into_iter().flatten().enumerate().filter_map(|(index, schema)| Some((index, schema.as_object()?)))
}
