//! Whether a schema may stand in a definition: the keywords one by one, and its defaults.

use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::error::FieldError;
use super::list_check::{validate_list_type, validate_map_type};
use super::metadata;
use super::parse::SchemaError;
use super::path::FieldPath;
use super::structural::{Schema, SchemaType, StructuralSchema};
use super::structural_check;

/// What may stand at the root of a schema whose status is a subresource, as the server's message names it.
const AT_ROOT: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";
/// What may not stand there.
const NOT_AT_ROOT: [&str; 22] = [
    "id",
    "$schema",
    "$ref",
    "nullable",
    "default",
    "enum",
    "maxProperties",
    "minProperties",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Adds everything that is wrong with the schema in `path.openAPIV3Schema`.
pub(crate) fn validate(schema: &Value, has_status: bool, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    let root_path = path.child("openAPIV3Schema");
    let Some(root) = schema.as_object() else {
        errors.push(FieldError::invalid(&root_path, schema.clone(), "must be a schema"));
        return;
    };
    if is_too_deep(schema, 0) {
        errors.push(FieldError::invalid(
            &root_path,
            "",
            format!("must not be nested more than {MAX_DEPTH} levels deep"),
        ));
        return;
    }
    if has_status {
        validate_root(root, schema, path, errors);
    }
    if flag(root, "nullable") {
        errors.push(FieldError::forbidden(
            &path.child("openAPIV3Schema.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let mut structural = structural_check::validate(root, &root_path);
    let compiled = StructuralSchema::parse(schema);
    if structural.is_empty()
        && let Ok(compiled) = &compiled
    {
        validate_defaults(compiled.root(), &root_path, true, &mut structural);
    }
    errors.append(&mut structural);
    let context = Context { defaults: None, inside_metadata: false, is_root: true };
    validate_keywords(root, &root_path, context, errors);
    if errors.len() == before
        && let Err(error) = compiled
    {
        // What is of the wrong type in a schema is found by the server's decoder.
        let (at, detail) = match error {
            SchemaError::TooDeep { .. } => (root_path, error.to_string()),
            SchemaError::Malformed { path, expected } => {
                (root_path.relative(&path), format!("must be {expected}"))
            }
            SchemaError::Pattern { path, error } => (root_path.relative(&path), error.to_string()),
        };
        errors.push(FieldError::invalid(&at, "", detail));
    }
}

/// Whether a schema has a default anywhere.
pub(crate) fn has_defaults(schema: &Value) -> bool {
    fn has_defaults_from(schema: &Value, level: usize) -> bool {
        let Some(fields) = schema.as_object().filter(|_| level <= MAX_DEPTH) else { return false };
        present(fields, "default").is_some()
            || children(fields).into_iter().any(|child| has_defaults_from(child, level + 1))
    }
    has_defaults_from(schema, 0)
}

/// Whether a schema is nested deeper than it may be.
fn is_too_deep(schema: &Value, level: usize) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    level > MAX_DEPTH || children(fields).into_iter().any(|child| is_too_deep(child, level + 1))
}

/// The schemas directly in a schema.
fn children(fields: &Map<String, Value>) -> Vec<&Value> {
    let mut children = Vec::new();
    for keyword in ["properties", "patternProperties", "definitions", "dependencies"] {
        children.extend(
            fields.get(keyword).and_then(Value::as_object).into_iter().flatten().map(|(_, schema)| schema),
        );
    }
    for keyword in ["not", "items", "additionalProperties", "additionalItems"] {
        children.extend(fields.get(keyword).filter(|schema| schema.is_object()));
    }
    for keyword in ["allOf", "oneOf", "anyOf", "items"] {
        children.extend(fields.get(keyword).and_then(Value::as_array).into_iter().flatten());
    }
    children
}

fn validate_root(root: &Map<String, Value>, schema: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let kind = text(root, "type");
    if !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(&path.child("openAPIV3Schema.type"), kind, detail));
    } else if NOT_AT_ROOT.iter().any(|keyword| present(root, keyword).is_some_and(|value| !is_zero(value))) {
        let detail = format!(
            "only {AT_ROOT} fields are allowed at the root of the schema if the status subresource is enabled"
        );
        errors.push(FieldError::invalid(&path.child("openAPIV3Schema"), schema.clone(), detail));
    }
}

fn validate_defaults(schema: &Schema, path: &FieldPath, is_root: bool, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        let path = path.child("default");
        if schema.prune_value(&mut default.clone()) {
            errors.push(FieldError::invalid(&path, default.clone(), "must not have unknown fields"));
        }
        let mut embedded = Vec::new();
        metadata::validate(schema, default, &path, &mut embedded);
        if embedded.is_empty() {
            embedded = schema.validate_at(&path, default, None);
        }
        errors.append(&mut embedded);
    }
    if let Some(items) = &schema.items {
        validate_defaults(items, &path.child("items"), false, errors);
    }
    for (name, property) in &schema.properties {
        // Defaults for the metadata of the object itself are forbidden altogether.
        if !(is_root && META_FIELDS.contains(&name.as_str())) {
            validate_defaults(property, &path.child("properties").key(name), false, errors);
        }
    }
}

#[derive(Clone)]
struct Context {
    /// Why defaults are forbidden, if they are.
    defaults: Option<String>,
    inside_metadata: bool,
    is_root: bool,
}

fn validate_keywords(
    fields: &Map<String, Value>,
    path: &FieldPath,
    context: Context,
    errors: &mut Vec<FieldError>,
) {
    validate_unsupported(fields, path, &context, errors);
    if flag(fields, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&path.child("uniqueItems"), detail));
    }
    let has_properties =
        fields.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    if has_properties
        && present(fields, "additionalProperties").is_some_and(|value| *value != Value::Bool(true))
    {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(&path.child("additionalProperties"), detail));
    }
    let embedded = flag(fields, "x-kubernetes-embedded-resource");
    let plain = Context { is_root: false, ..context.clone() };
    if let Some(Value::Object(child)) = fields.get("additionalProperties") {
        let mut context = plain.clone();
        if context.inside_metadata {
            context.defaults = Some("inside additionalProperties applying to object metadata".into());
        }
        validate_keywords(child, &path.child("additionalProperties"), context, errors);
    }
    for (name, child) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Value::Object(child) = child else { continue };
        let mut child_context = plain.clone();
        if (context.is_root || embedded) && META_FIELDS.contains(&name.as_str()) {
            child_context.inside_metadata = true;
            if context.is_root {
                child_context.defaults = Some(format!("in top-level {name}"));
            }
        }
        validate_keywords(child, &path.child("properties").key(name), child_context, errors);
    }
    if let Some(Value::Object(child)) = fields.get("not") {
        validate_keywords(child, &path.child("not"), plain.clone(), errors);
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        for (index, child) in fields.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            let Value::Object(child) = child else { continue };
            validate_keywords(child, &path.child(keyword).index(index), plain.clone(), errors);
        }
    }
    if let Some(Value::Object(child)) = fields.get("items") {
        validate_keywords(child, &path.child("items"), plain, errors);
    }
    if fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let path = path.child("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(&path, false, "must be true or undefined"));
    }
    validate_map_type(fields, path, errors);
    validate_list_type(fields, path, errors);
    validate_rules(fields, path, errors);
}

fn validate_unsupported(
    fields: &Map<String, Value>,
    path: &FieldPath,
    context: &Context,
    errors: &mut Vec<FieldError>,
) {
    let kind = text(fields, "type");
    let known: Vec<_> = SchemaType::ALL.iter().map(|(name, _)| *name).collect();
    if !kind.is_empty() && !known.contains(&kind) {
        errors.push(FieldError::not_supported(&path.child("type"), kind, &known));
    }
    if let (Some(reason), Some(_)) = (&context.defaults, present(fields, "default")) {
        errors.push(FieldError::forbidden(&path.child("default"), format!("must not be set {reason}")));
    }
    for keyword in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let is_set = match present(fields, keyword) {
            None => false,
            Some(value) => !matches!(keyword, "id" | "patternProperties" | "definitions") || !is_zero(value),
        };
        if is_set {
            errors.push(FieldError::forbidden(&path.child(keyword), format!("{keyword} is not supported")));
        }
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(&path.child("type"), detail));
    }
    if fields.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty()) {
        let detail = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(&path.child("items"), detail));
    }
    if context.inside_metadata && flag(fields, "x-kubernetes-embedded-resource") {
        let path = path.child("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(&path, "must not be used inside of resource meta"));
    }
}

/// The form of CEL rules; what they say is not looked at.
fn validate_rules(fields: &Map<String, Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array);
    for (index, rule) in rules.into_iter().flatten().filter_map(Value::as_object).enumerate() {
        let path = path.child("x-kubernetes-validations").index(index);
        let (source, message) = (text(rule, "rule"), text(rule, "message"));
        let breaks = |text: &str| text.trim().contains(['\n', '\r']);
        if source.trim().is_empty() {
            errors.push(FieldError::required(&path.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            let detail = "message must be non-empty if specified";
            errors.push(FieldError::invalid(&path.child("message"), message, detail));
        } else if breaks(message) {
            let detail = "message must not contain line breaks";
            errors.push(FieldError::invalid(&path.child("message"), message, detail));
        } else if breaks(source) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(&path.child("message"), detail));
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(&path.child("messageExpression"), detail));
        }
        let reason = text(rule, "reason");
        if !reason.is_empty() && !REASONS.contains(&reason) {
            errors.push(FieldError::not_supported(&path.child("reason"), reason, &REASONS));
        }
        let field = text(rule, "fieldPath");
        if !field.is_empty() && field.trim().is_empty() {
            let detail = "fieldPath must be non-empty if specified";
            errors.push(FieldError::invalid(&path.child("fieldPath"), field, detail));
        }
        if field.contains(['\n', '\r']) {
            let detail = "fieldPath must not contain line breaks";
            errors.push(FieldError::invalid(&path.child("fieldPath"), field, detail));
        }
    }
}

/// The value of a keyword, unless it is null.
pub(crate) fn present<'a>(fields: &'a Map<String, Value>, keyword: &str) -> Option<&'a Value> {
    fields.get(keyword).filter(|value| !value.is_null())
}

pub(crate) fn text<'a>(fields: &'a Map<String, Value>, keyword: &str) -> &'a str {
    fields.get(keyword).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn flag(fields: &Map<String, Value>, keyword: &str) -> bool {
    fields.get(keyword).and_then(Value::as_bool).unwrap_or_default()
}

/// Whether a keyword with this value is the same as none.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(_) | Value::Object(_) => false,
    }
}
