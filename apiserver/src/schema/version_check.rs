//! Whether what a version of a definition offers is valid: subresources, columns, selectable fields.

use serde_json::Value;

use super::definition::{DefinitionVersion, PrinterColumn, SelectableField, Subresources};
use super::error::FieldError;
use super::path::FieldPath;
use super::structural::{Schema, SchemaType, StructuralSchema};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
/// How many fields of a version can be selectable.
const MAX_SELECTABLE_FIELDS: u64 = 8;

pub(super) fn validate_deprecation(
    version: &DefinitionVersion,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(warning) = &version.deprecation_warning else { return };
    let mut problems = Vec::new();
    if !version.deprecated {
        problems.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > 256 {
            problems.push("must be <= 256 characters long".into());
        }
        if warning.is_empty() {
            problems.push("must not be an empty string".into());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, c)| !super::text::is_print(*c)) {
            problems.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    }
    let path = path.child("deprecationWarning");
    errors.extend(problems.into_iter().map(|problem| FieldError::invalid(&path, warning.as_str(), problem)));
}

pub(super) fn validate_subresources(
    subresources: &Option<Subresources>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(scale) = subresources.as_ref().and_then(|subresources| subresources.scale.as_ref()) else {
        return;
    };
    for (field, value, parent) in [
        ("scale.specReplicasPath", &scale.spec_replicas_path, ".spec"),
        ("scale.statusReplicasPath", &scale.status_replicas_path, ".status"),
    ] {
        let path = path.child(field);
        if value.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if validate_simple_path(value, &path, errors) && !is_under(value, parent) {
            let detail = format!("should be a json path under {parent}");
            errors.push(FieldError::invalid(&path, value.as_str(), detail));
        }
    }
    if let Some(value) = scale.label_selector_path.as_ref().filter(|value| !value.is_empty()) {
        let path = path.child("scale.labelSelectorPath");
        if validate_simple_path(value, &path, errors)
            && !is_under(value, ".spec")
            && !is_under(value, ".status")
        {
            let detail = "should be a json path under either .spec or .status";
            errors.push(FieldError::invalid(&path, value.as_str(), detail));
        }
    }
}

fn is_under(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'))
}

fn validate_simple_path(value: &str, path: &FieldPath, errors: &mut Vec<FieldError>) -> bool {
    let is_simple = value.starts_with('.');
    if !is_simple {
        errors.push(FieldError::invalid(path, value, "must be a simple json path starting with ."));
    }
    is_simple
}

pub(super) fn validate_columns(columns: &[PrinterColumn], path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, column) in columns.iter().enumerate() {
        let path = path.child("additionalPrinterColumns").index(index);
        if column.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if column.column_type.is_empty() {
            errors.push(FieldError::required(&path.child("type"), types));
        } else if !COLUMN_TYPES.contains(&column.column_type.as_str()) {
            errors.push(FieldError::invalid(&path.child("type"), column.column_type.as_str(), types));
        }
        if !column.format.is_empty() && !COLUMN_FORMATS.contains(&column.format.as_str()) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(&path.child("format"), column.format.as_str(), detail));
        }
        if column.json_path.is_empty() {
            errors.push(FieldError::required(&path.child("JSONPath"), ""));
        } else {
            validate_simple_path(&column.json_path, &path.child("JSONPath"), errors);
        }
    }
}

pub(super) fn validate_selectable(
    fields: &[SelectableField],
    schema: Option<&Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let path = path.child("selectableFields");
    // What is wrong with the schema is reported for the schema.
    let Some(schema) = schema.and_then(|schema| StructuralSchema::parse(schema).ok()) else { return };
    validate_selectable_paths(fields, schema.root(), &path, errors);
}

fn validate_selectable_paths<'a>(
    fields: &'a [SelectableField],
    schema: &'a Schema,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let path = path.index(index).child("jsonPath");
        let text = field.json_path.as_str();
        if text.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let found = text.strip_prefix('.').filter(|rest| !rest.is_empty()).and_then(|rest| {
            let part = |schema: &'a Schema, name| match schema.properties.is_empty() {
                true => schema.additional_schema(),
                false => schema.properties.get(name),
            };
            rest.split('.').try_fold(schema, part)
        });
        let is_metadata = text == ".metadata" || is_under(text, ".metadata");
        let problem = match text.contains('[') {
            true => Some("array notation is not allowed"),
            false if found.is_none() && !is_metadata => Some("does not refer to a valid field"),
            false => None,
        };
        if let Some(problem) = problem {
            errors.push(FieldError::invalid(&path, text, format!("is an invalid path: {problem}")));
            continue;
        }
        if is_metadata {
            errors.push(FieldError::invalid(&path, text, "must not point to fields in metadata"));
        }
        let scalar = [SchemaType::String, SchemaType::Boolean, SchemaType::Integer];
        if !found.and_then(Schema::schema_type).is_some_and(|found| scalar.contains(&found)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            errors.push(FieldError::invalid(&path, text, detail));
        }
        if seen.contains(&text) {
            errors.push(FieldError::duplicate(&path, text));
        } else {
            seen.push(text);
        }
    }
    if u64::try_from(seen.len()).is_ok_and(|count| count > MAX_SELECTABLE_FIELDS) {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS));
    }
}
