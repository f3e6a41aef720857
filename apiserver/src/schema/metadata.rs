//! The metadata and type of objects, whatever the schema says of them.

use serde_json::Value;

use super::error::FieldError;
use super::names;
use super::path::FieldPath;
use super::structural::{Schema, StructuralSchema};

const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
const OWNER_REFERENCE: [&str; 6] = ["apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"];
const MANAGED_FIELDS: [&str; 7] =
    ["apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"];

/// Drops the fields that metadata does not have, and adds their paths to `dropped`.
pub(crate) fn prune(metadata: &mut Value, path: &str, dropped: &mut Vec<String>) {
    keep(metadata, &METADATA, path, dropped);
    for (list, known) in [("managedFields", &MANAGED_FIELDS[..]), ("ownerReferences", &OWNER_REFERENCE[..])] {
        let items = metadata.get_mut(list).and_then(Value::as_array_mut);
        for (index, item) in items.into_iter().flatten().enumerate() {
            keep(item, known, &format!("{path}.{list}[{index}]"), dropped);
        }
    }
}

fn keep(value: &mut Value, known: &[&str], path: &str, dropped: &mut Vec<String>) {
    let Some(fields) = value.as_object_mut() else { return };
    fields.retain(|key, _| {
        let keep = known.contains(&key.as_str());
        if !keep {
            dropped.push(format!("{path}.{key}"));
        }
        keep
    });
}

impl StructuralSchema {
    /// What is wrong with the types and metadata of the objects that an object embeds
    /// (`x-kubernetes-embedded-resource`).
    pub fn validate_embedded(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        validate(&self.root, object, &FieldPath::root(), &mut errors);
        errors
    }
}

pub(crate) fn validate(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                validate_object(fields, path, errors);
            }
            for (key, field) in fields {
                if let Some(property) = schema.properties.get(key) {
                    validate(property, field, &path.child(key), errors);
                } else if let Some(any) = schema.additional_schema() {
                    validate(any, field, &path.key(key), errors);
                }
            }
        }
        Value::Array(items) => {
            for (schema, (index, item)) in schema.items.iter().flat_map(|schema| {
                items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| item.is_object() || item.is_array())
                    .map(move |item| (schema, item))
            }) {
                validate(schema, item, &path.index(index), errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_object(fields: &serde_json::Map<String, Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let path = path.child(name);
        match fields.get(name) {
            None => errors.push(FieldError::required(&path, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&path, text.as_str(), "must not be empty"));
            }
            Some(Value::String(text)) if name == "kind" => {
                let problems = names::dns1035_label(&text.to_lowercase());
                if !problems.is_empty() {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {}", problems.join(","));
                    errors.push(FieldError::invalid(&path, text.as_str(), detail));
                }
            }
            Some(Value::String(text)) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(&path, text.as_str(), detail));
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::invalid(&path, other.clone(), "must be a string")),
        }
    }
    let path = path.child("metadata");
    match fields.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(metadata)) => {
            let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
            for problem in names::path_segment(name) {
                errors.push(FieldError::invalid(&path.child("name"), name, problem));
            }
        }
        Some(other) => errors.push(FieldError::invalid(&path, other.clone(), "must be an object")),
    }
}
