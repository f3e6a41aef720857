use serde_json::{Map, Value};

use super::{PatchError, check_depth};

/// Applies a JSON merge patch: objects are merged, null removes, and everything else replaces.
///
/// # Errors
///
/// If the patch is no object, or nests too deeply.
///
/// # Example
///
/// ```
/// use lariat_apiserver::patch::merge_patch;
/// use serde_json::json;
///
/// let patched = merge_patch(&json!({"a": 1, "b": [1, 2]}), &json!({"a": null, "b": [3]}));
/// assert_eq!(patched.unwrap(), json!({"b": [3]}));
/// ```
pub fn merge_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    check_depth([object, patch])?;
    if !patch.is_object() {
        let kind = go_kind(patch);
        return Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )));
    }
    let mut object = object.clone();
    merge(&mut object, patch);
    Ok(object)
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}

/// What Go calls a kind of JSON value.
pub(crate) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
