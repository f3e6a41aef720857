//! Config maps, and what they share with secrets.

use serde_json::Value;

use super::base64;
use super::names;
use super::value::{at, entries, flag, same};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

/// How many bytes the values of a config map or secret may have together.
pub(crate) const MAX_SIZE: usize = 1024 * 1024;

pub(crate) fn validate(map: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size: usize = 0;
    for (key, value) in entries(map, &["data"]) {
        let path = FieldPath::new("data").key(key);
        validate_key(key, &path, &mut errors);
        if at(map, &["binaryData"]).is_some_and(|binary| binary.get(key).is_some()) {
            errors.push(FieldError::invalid(&path, key.as_str(), "duplicate of key present in binaryData"));
        }
        size = size.saturating_add(value.as_str().map_or(0, str::len));
    }
    for (key, value) in entries(map, &["binaryData"]) {
        validate_key(key, &FieldPath::new("binaryData").key(key), &mut errors);
        size = size.saturating_add(decoded_size(value));
    }
    if size > MAX_SIZE {
        // The server names the object as a whole by an empty key.
        errors.push(FieldError::too_long(&FieldPath::root().key(""), MAX_SIZE as u64));
    }
    errors
}

pub(crate) fn decoded_size(value: &Value) -> usize {
    value.as_str().and_then(|text| base64::decode(text).ok()).map_or(0, |bytes| bytes.len())
}

pub(crate) fn validate_key(key: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for problem in names::config_key(key) {
        errors.push(FieldError::invalid(path, key, problem));
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    validate_immutable(new, old, &["data", "binaryData"])
}

/// Once set, `immutable` keeps itself and the data.
pub(crate) fn validate_immutable(new: &Value, old: &Value, data: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !flag(old, &["immutable"]) {
        return errors;
    }
    let detail = "field is immutable when `immutable` is set";
    if !flag(new, &["immutable"]) {
        errors.push(FieldError::forbidden(&FieldPath::new("immutable"), detail));
    }
    for field in data {
        if !same(new.get(field), old.get(field)) {
            errors.push(FieldError::forbidden(&FieldPath::new(field), detail));
        }
    }
    errors
}
