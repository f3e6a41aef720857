//! The metadata of built-in objects: what the server sets, what stays, and what is not valid.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::names;
use super::registry::Resource;
use super::value::{entries, flag, int, items, object_mut, remove, restore, set, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;
use crate::schema::shared::format_rfc3339;

/// How many bytes the annotations of an object may have, keys included.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Finalizers that need no prefix.
const STANDARD_FINALIZERS: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

/// Clears what only the server sets, and sets the time of creation.
pub(crate) fn prepare_create(object: &mut Value, now: SystemTime) {
    if object_mut(object, "metadata").is_none() {
        return;
    }
    let Some(metadata) = object.get_mut("metadata") else { return };
    for field in ["deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"] {
        remove(metadata, field);
    }
    set(metadata, "creationTimestamp", format_rfc3339(now));
}

/// Keeps what only the server sets.
pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    let Some(old) = old.get("metadata") else { return };
    if object_mut(new, "metadata").is_none() {
        return;
    }
    let Some(metadata) = new.get_mut("metadata") else { return };
    for field in ["creationTimestamp", "generation"] {
        restore(metadata, old, field);
    }
    for field in ["deletionGracePeriodSeconds", "deletionTimestamp", "uid"] {
        if metadata.get(field).is_none_or(|value| value.is_null() || value == "") {
            restore(metadata, old, field);
        }
    }
    remove(metadata, "selfLink");
}

/// Sets the generation of a new object of a kind that counts them.
pub(crate) fn first_generation(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata") {
        set(metadata, "generation", 1);
    }
}

/// Counts one up from the old object's generation.
pub(crate) fn next_generation(object: &mut Value, old: &Value) {
    let next = int(old, &["metadata", "generation"]).unwrap_or_default().saturating_add(1);
    if let Some(metadata) = object.get_mut("metadata") {
        set(metadata, "generation", next);
    }
}

/// What is wrong with the metadata of a new object.
pub(crate) fn validate_create(
    resource: &Resource,
    object: &Value,
    name_problems: fn(&str) -> Vec<String>,
) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let null = Value::Null;
    let metadata = object.get("metadata").unwrap_or(&null);
    let mut errors = Vec::new();
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        // Something will follow it, so that it may end where a name may not.
        let stem = generate.strip_suffix('-').map_or(generate.to_owned(), |stem| format!("{stem}a"));
        for problem in name_problems(&stem) {
            errors.push(FieldError::invalid(&path.child("generateName"), generate, problem));
        }
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        for problem in name_problems(name) {
            errors.push(FieldError::invalid(&path.child("name"), name, problem));
        }
    }
    let namespace = text(metadata, "namespace");
    if !resource.namespaced {
        if !namespace.is_empty() {
            errors.push(FieldError::forbidden(&path.child("namespace"), "not allowed on this type"));
        }
    } else if namespace.is_empty() {
        errors.push(FieldError::required(&path.child("namespace"), ""));
    } else {
        for problem in names::label(namespace) {
            errors.push(FieldError::invalid(&path.child("namespace"), namespace, problem));
        }
    }
    validate_common(resource, metadata, &path, &mut errors);
    errors
}

/// What is wrong with the metadata of an object that replaces another.
pub(crate) fn validate_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let null = Value::Null;
    let old_metadata = old.get("metadata").unwrap_or(&null);
    let metadata = new.get("metadata").unwrap_or(&null);
    let mut errors = Vec::new();
    if !text(old_metadata, "deletionTimestamp").is_empty() {
        let known = items(old_metadata, &["finalizers"]);
        let added = items(metadata, &["finalizers"]).iter().filter(|finalizer| !known.contains(finalizer));
        let added: Vec<_> = added.map(Value::to_string).collect();
        if !added.is_empty() {
            let added = added.join(", ");
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added}}}"
            );
            errors.push(FieldError::forbidden(&path.child("finalizers"), detail));
        }
    }
    let version = text(metadata, "resourceVersion");
    if version.is_empty() {
        errors.push(FieldError::invalid(
            &path.child("resourceVersion"),
            version,
            "must be specified for an update",
        ));
    }
    for field in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        let (value, old_value) = (metadata.get(field), old_metadata.get(field));
        let nothing = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value == "");
        if value != old_value && !(nothing(value) && nothing(old_value)) {
            let value = value.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&path.child(field), value, "field is immutable"));
        }
    }
    validate_common(resource, metadata, &path, &mut errors);
    errors
}

fn validate_common(resource: &Resource, metadata: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if let Some(generation @ ..0) = int(metadata, &["generation"]) {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            generation,
            "must be greater than or equal to 0",
        ));
    }
    validate_labels(metadata, "labels", &path.child("labels"), errors);
    let annotations = path.child("annotations");
    let mut size: usize = 0;
    for (key, value) in entries(metadata, &["annotations"]) {
        for problem in names::qualified(&key.to_lowercase()) {
            errors.push(FieldError::invalid(&annotations, key.as_str(), problem));
        }
        size = size.saturating_add(key.len()).saturating_add(value.as_str().map_or(0, str::len));
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long(&annotations, MAX_ANNOTATIONS as u64));
    }
    validate_owners(metadata, &path.child("ownerReferences"), errors);
    validate_finalizers(resource, metadata, &path.child("finalizers"), errors);
}

/// What is wrong with a map of labels; all errors name the map.
pub(crate) fn validate_labels(value: &Value, key: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (key, value) in entries(value, &[key]) {
        for problem in names::qualified(key) {
            errors.push(FieldError::invalid(path, key.as_str(), problem));
        }
        let value = value.as_str().unwrap_or_default();
        for problem in names::label_value(value) {
            errors.push(FieldError::invalid(path, value, problem));
        }
    }
}

fn validate_owners(metadata: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let owners = items(metadata, &["ownerReferences"]);
    let mut controller: Option<&Value> = None;
    for owner in owners {
        let version = text(owner, "apiVersion");
        if version.is_empty() {
            errors.push(FieldError::invalid(&path.child("apiVersion"), version, "version must not be empty"));
        }
        for field in ["kind", "name", "uid"] {
            if text(owner, field).is_empty() {
                errors.push(FieldError::invalid(&path.child(field), "", "must not be empty"));
            }
        }
        if text(owner, "kind") == "Event" && version == "v1" {
            errors.push(FieldError::invalid(
                path,
                owner.clone(),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if flag(owner, &["controller"]) {
            if let Some(first) = controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and \
                     {}/{}",
                    text(first, "kind"),
                    text(first, "name"),
                    text(owner, "kind"),
                    text(owner, "name"),
                );
                errors.push(FieldError::invalid(path, json!(owners), detail));
            }
            controller = controller.or(Some(owner));
        }
    }
}

fn validate_finalizers(
    resource: &Resource,
    metadata: &Value,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let finalizers = || items(metadata, &["finalizers"]).iter().filter_map(Value::as_str);
    for finalizer in finalizers() {
        for problem in names::qualified(finalizer) {
            errors.push(FieldError::invalid(path, finalizer, problem));
        }
    }
    if finalizers().any(|name| name == "orphan") && finalizers().any(|name| name == "foregroundDeletion") {
        let all: Vec<_> = finalizers().collect();
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, json!(all), detail));
    }
    // Leases are not checked for this.
    if resource.plural != "leases" {
        for (index, finalizer) in finalizers().enumerate() {
            unqualified_finalizer(finalizer, &path.index(index), errors);
        }
    }
}

/// Refuses a finalizer that is neither qualified by a prefix nor one of Kubernetes itself.
pub(crate) fn unqualified_finalizer(finalizer: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(FieldError::invalid(path, finalizer, detail));
    }
}

/// The name and namespace of an object.
pub(crate) fn name(object: &Value) -> &str {
    text_at(object, &["metadata", "name"])
}
