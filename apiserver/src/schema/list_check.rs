//! Whether the keywords that say how lists and maps merge fit together.

use serde_json::{Map, Value};

use super::error::FieldError;
use super::path::FieldPath;
use super::schema_check::{flag, present, text};

pub(super) fn validate_map_type(fields: &Map<String, Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(map_type) = present(fields, "x-kubernetes-map-type") else { return };
    wants_type(fields, "object", "x-kubernetes-map-type", path, errors);
    if !matches!(map_type.as_str(), Some("atomic" | "granular")) {
        let path = path.child("x-kubernetes-map-type");
        errors.push(FieldError::not_supported(&path, map_type.clone(), &["atomic", "granular"]));
    }
}

/// Adds an error unless the type is the one that a keyword demands. Says whether it is.
fn wants_type(
    fields: &Map<String, Value>,
    wanted: &str,
    keyword: &str,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> bool {
    let detail = format!("must be {wanted} if {keyword} is specified");
    match text(fields, "type") {
        found if found == wanted => return true,
        "" => errors.push(FieldError::required(&path.child("type"), detail)),
        found => errors.push(FieldError::invalid(&path.child("type"), found, detail)),
    }
    false
}

pub(super) fn validate_list_type(
    fields: &Map<String, Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let list_type = present(fields, "x-kubernetes-list-type");
    let name = list_type.and_then(Value::as_str).unwrap_or_default();
    let items = fields.get("items").and_then(Value::as_object);
    let is_array = list_type.is_none() || wants_type(fields, "array", "x-kubernetes-list-type", path, errors);
    if let (true, "set", Some(items)) = (is_array, name, items) {
        let items_path = path.child("items");
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let atomic = |keyword: &str| items.get(keyword).and_then(Value::as_str) == Some("atomic");
        match text(items, "type") {
            "array"
                if present(items, "x-kubernetes-list-type").is_some()
                    && !atomic("x-kubernetes-list-type") =>
            {
                let value = text(items, "x-kubernetes-list-type");
                errors.push(FieldError::invalid(&items_path.child("x-kubernetes-list-type"), value, detail));
            }
            "object" if !atomic("x-kubernetes-map-type") => {
                // The server shows the list type of the items here, which objects do not have.
                errors.push(FieldError::invalid(
                    &items_path.child("x-kubernetes-map-type"),
                    Value::Null,
                    detail,
                ));
            }
            _ => {}
        }
    }
    if let Some(list_type) = list_type
        && !matches!(name, "atomic" | "set" | "map")
    {
        let path = path.child("x-kubernetes-list-type");
        errors.push(FieldError::not_supported(&path, list_type.clone(), &["atomic", "set", "map"]));
    }
    let keys =
        fields.get("x-kubernetes-list-map-keys").and_then(Value::as_array).filter(|keys| !keys.is_empty());
    if keys.is_some() {
        let path = path.child("x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match (list_type, name) {
            (None, _) => errors.push(FieldError::required(&path, detail)),
            (_, "map") => {}
            (_, name) => errors.push(FieldError::invalid(&path, name, detail)),
        }
    }
    if name == "map" {
        validate_map_list(fields, keys.map(Vec::as_slice).unwrap_or_default(), path, errors);
    }
    if let (Some(items), "set" | "map") = (items, name) {
        validate_items_of_sets_and_maps(
            items,
            keys.map(Vec::as_slice).unwrap_or_default(),
            name,
            path,
            errors,
        );
    }
}

fn validate_map_list(
    fields: &Map<String, Value>,
    keys: &[Value],
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let keys_path = path.child("x-kubernetes-list-map-keys");
    let items_path = path.child("items");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&keys_path, detail));
    }
    let items = match fields.get("items") {
        None | Some(Value::Null) => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&items_path, detail));
            return;
        }
        Some(Value::Object(items)) => items,
        Some(other) => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(&items_path, other.clone(), detail));
            return;
        }
    };
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&items_path.child("type"), text(items, "type"), detail));
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        let property =
            items.get("properties").and_then(|properties| properties.get(name)).and_then(Value::as_object);
        match property.map(|property| text(property, "type")) {
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(&keys_path, keys.to_vec(), detail));
            }
            Some("array" | "object") => {
                let path = items_path.child("properties").key(name).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(&path, text(items, "type"), detail));
            }
            Some(_) => {}
        }
        if keys[..index].contains(key) {
            errors.push(FieldError::invalid(&keys_path, keys.to_vec(), "must not contain duplicate entries"));
        }
    }
}

fn validate_items_of_sets_and_maps(
    items: &Map<String, Value>,
    keys: &[Value],
    list_type: &str,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let path = path.child("items");
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&path.child("nullable"), detail));
    }
    if list_type != "map" {
        return;
    }
    let required = items.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        let property =
            items.get("properties").and_then(|properties| properties.get(name)).and_then(Value::as_object);
        let Some(property) = property else { continue };
        let path = path.child("properties").key(name);
        if !required.contains(key) && present(property, "default").is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(FieldError::required(&path.child("default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.child("nullable"), detail));
        }
    }
}
