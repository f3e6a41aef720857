//! Secrets.

use serde_json::{Map, Value};

use super::base64;
use super::config_map::{MAX_SIZE, decoded_size, validate_immutable, validate_key};
use super::value::{at, entries, fill, object_mut, remove, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const ACCOUNT: &str = "kubernetes.io/service-account.name";

pub(crate) fn default(secret: &mut Value) {
    let texts = remove(secret, "stringData");
    let texts: Map<String, Value> = match texts {
        Some(Value::Object(texts)) => texts,
        _ => Map::new(),
    };
    if !texts.is_empty()
        && let Some(data) = object_mut(secret, "data")
    {
        for (key, value) in texts {
            let coded = base64::encode(value.as_str().unwrap_or_default().as_bytes());
            data.insert(key, coded.into());
        }
    }
    fill(secret, "type", "Opaque");
}

pub(crate) fn validate(secret: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let data = FieldPath::new("data");
    let mut size: usize = 0;
    for (key, value) in entries(secret, &["data"]) {
        validate_key(key, &data.key(key), &mut errors);
        size = size.saturating_add(decoded_size(value));
    }
    if size > MAX_SIZE {
        errors.push(FieldError::too_long(&data, MAX_SIZE as u64));
    }
    let has = |key: &str| at(secret, &["data", key]).is_some();
    let mut require = |keys: &[&str]| {
        for key in keys.iter().filter(|key| !has(key)) {
            errors.push(FieldError::required(&data.key(key), ""));
        }
    };
    match text(secret, "type") {
        "kubernetes.io/tls" => require(&["tls.crt", "tls.key"]),
        // One of the two is enough.
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" => require(&["ssh-privatekey"]),
        "kubernetes.io/dockercfg" => validate_json(secret, ".dockercfg", &data, &mut errors),
        "kubernetes.io/dockerconfigjson" => validate_json(secret, ".dockerconfigjson", &data, &mut errors),
        "kubernetes.io/service-account-token"
            if text_at(secret, &["metadata", "annotations", ACCOUNT]).is_empty() =>
        {
            let path = FieldPath::new("metadata").child("annotations").key(ACCOUNT);
            errors.push(FieldError::required(&path, ""));
        }
        _ => {}
    }
    errors
}

fn validate_json(secret: &Value, key: &str, data: &FieldPath, errors: &mut Vec<FieldError>) {
    let path = data.key(key);
    let Some(value) = at(secret, &["data", key]).and_then(Value::as_str) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    let bytes = base64::decode(value).unwrap_or_default();
    if serde_json::from_slice::<Map<String, Value>>(&bytes).is_err() {
        let first = String::from_utf8_lossy(&bytes).trim_start().chars().next();
        let detail = match first {
            None => "unexpected end of JSON input".into(),
            Some(first) => format!("invalid character '{first}' looking for beginning of value"),
        };
        errors.push(FieldError::invalid(&path, "<secret contents redacted>", detail));
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(new, "type");
    if kind != text(old, "type") {
        errors.push(FieldError::invalid(&FieldPath::new("type"), kind, "field is immutable"));
    }
    errors.extend(validate_immutable(new, old, &["data"]));
    errors
}
