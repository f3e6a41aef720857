//! Metadata in objects that are JSON.

use serde_json::{Map, Value};

/// The text of a field of `metadata`, `""` if it is not there or no text.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

pub(crate) fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

pub(crate) fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The owner references, each an object.
pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

pub(crate) fn set_resource_version(object: &mut Value, revision: u64) {
    set(object, "resourceVersion", revision.to_string());
}

/// Sets a field of `metadata`, which is made an object if it is none.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = metadata(object) {
        metadata.insert(field.to_owned(), value.into());
    }
}

/// Sets a field of `metadata` to a list of texts, or removes it for none.
pub(crate) fn set_list(object: &mut Value, field: &str, texts: &[String]) {
    if texts.is_empty() {
        remove(object, field);
    } else {
        set(object, field, texts);
    }
}

/// Removes a field of `metadata` and returns it.
pub(crate) fn remove(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// `metadata` to write to; none if the object is no object at all.
fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Map::new().into());
    if !metadata.is_object() {
        *metadata = Map::new().into();
    }
    metadata.as_object_mut()
}

/// The labels, for selectors.
pub(crate) struct Labels<'a>(pub(crate) &'a Value);

impl lariat_api::labels::Labels for Labels<'_> {
    fn label(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"].get(key)?.as_str()
    }
}
