//! What the tests of recorded answers have in common.

#![allow(dead_code)] // each test file uses a part of it

pub(crate) mod echo;

use lariat_controllers::gates::FeatureGates;
use lariat_controllers::validation::FieldError;
use lariat_fixtures::vectors::Case;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The features that a case has on.
pub(crate) fn gates(case: &Case) -> FeatureGates {
    case.input["featureGates"].as_str().unwrap_or_default().parse().unwrap()
}

/// A typed argument; the default for null.
pub(crate) fn arg<T: DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value::<Option<T>>(value.clone()).unwrap().unwrap_or_default()
}

/// Without what says nothing: null, empty maps and lists. Entries of lists stay.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), plain(value)));
            let says = |value: &Value| match value {
                Value::Null => false,
                Value::Object(fields) => !fields.is_empty(),
                Value::Array(items) => !items.is_empty(),
                _ => true,
            };
            fields.filter(|(_, value)| says(value)).collect()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// Compares two objects of the API.
pub(crate) fn same_object(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    let (got, want) = (plain(&json!({"": got})), plain(&json!({"": want})));
    if got == want { Ok(()) } else { Err(format!("{what}: {}", difference("", &got, &want))) }
}

/// Where two values differ first.
fn difference(path: &str, got: &Value, want: &Value) -> String {
    match (got, want) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()) {
                let (x, y) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                if x != y {
                    return difference(&format!("{path}.{key}"), x, y);
                }
            }
            String::new()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let at = (0..a.len()).find(|at| a[*at] != b[*at]).unwrap_or_default();
            difference(&format!("{path}[{at}]"), &a[at], &b[at])
        }
        _ => format!("{path}: {got}\n    want {want}"),
    }
}

/// The status of an object without `apiVersion` and `kind`.
pub(crate) fn untyped(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    value
}

pub(crate) fn json_of<T: serde::Serialize>(value: &T) -> Value {
    untyped(serde_json::to_value(value).unwrap())
}

/// Compares what is wrong with an object.
pub(crate) fn same_errors(errors: &[FieldError], want: &Value) -> Result<(), String> {
    let mut got: Vec<(String, &str)> =
        errors.iter().map(|error| (error.field.clone(), error.kind.as_str())).collect();
    got.sort();
    let got: Vec<Value> =
        got.into_iter().map(|(field, kind)| json!({"field": field, "type": kind})).collect();
    same_object("errors", &json!({"errors": got}), want)
}
