//! Reaching into objects whose form is not known.

use serde_json::{Map, Value};

/// What stands at a path; nothing if the path leads through something that is no object.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

pub(crate) fn text_at<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    text_at(value, &[key])
}

pub(crate) fn int(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path).and_then(Value::as_i64)
}

pub(crate) fn flag(value: &Value, path: &[&str]) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn entries<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
    at(value, path).and_then(Value::as_object).into_iter().flatten()
}

/// The object in a field, made if nothing is there. `None` if something else is there.
pub(crate) fn object_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let field = value.as_object_mut()?.entry(key).or_insert(Value::Null);
    if field.is_null() {
        *field = Value::Object(Map::new());
    }
    field.as_object_mut()
}

pub(crate) fn items_mut<'a>(value: &'a mut Value, path: &[&str]) -> impl Iterator<Item = &'a mut Value> {
    let found = path.iter().try_fold(value, |value, key| value.get_mut(key));
    found.and_then(Value::as_array_mut).into_iter().flatten()
}

pub(crate) fn set(value: &mut Value, key: &str, to: impl Into<Value>) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.into(), to.into());
    }
}

pub(crate) fn remove(value: &mut Value, key: &str) -> Option<Value> {
    value.as_object_mut()?.remove(key)
}

/// Fills a field in that is missing, null or empty text.
pub(crate) fn fill(value: &mut Value, key: &str, with: impl Into<Value>) {
    let Some(fields) = value.as_object_mut() else { return };
    let there = fields.get(key).is_some_and(|field| !field.is_null() && field.as_str() != Some(""));
    if !there {
        fields.insert(key.into(), with.into());
    }
}

/// Makes a field what it is in another object, or removes it.
pub(crate) fn restore(value: &mut Value, old: &Value, key: &str) {
    let Some(fields) = value.as_object_mut() else { return };
    match old.get(key) {
        Some(field) => fields.insert(key.into(), field.clone()),
        None => fields.remove(key),
    };
}

/// Whether two fields are equal, where nothing, null and what is empty are the same.
pub(crate) fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.filter(|a| !is_empty(a)), b.filter(|b| !is_empty(b))) {
        (None, None) => true,
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys = a.keys().chain(b.keys());
            keys.into_iter().all(|key| same(a.get(key), b.get(key)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b)))
        }
        (a, b) => a == b,
    }
}

pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
