use serde_json::{Map, Value};

use super::merge::go_kind;
use super::{PatchError, check_depth};
use crate::apply::MAX_DEPTH;
use crate::apply::value::{is_same, is_within};

/// How many operations a patch may have; the API server's limit.
const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON all `copy` operations of a patch may copy; the API server's limit. Copies can double an object
/// with every operation.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a JSON patch.
///
/// In three points the API server is laxer than RFC 6902, and so is this: `replace` adds a field that is not there, `copy`
/// of a field that is not there gives null, and an index that is negative counts from the end.
///
/// # Errors
///
/// If the patch is no list of operations, or one of them fails: the object is as it was then.
///
/// # Example
///
/// ```
/// use lariat_apiserver::patch::json_patch;
/// use serde_json::json;
///
/// let patch = json!([{"op": "test", "path": "/a~1b", "value": 1}, {"op": "add", "path": "/list/-", "value": 2}]);
/// let patched = json_patch(&json!({"a/b": 1, "list": [1]}), &patch).unwrap();
/// assert_eq!(patched, json!({"a/b": 1, "list": [1, 2]}));
/// ```
pub fn json_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    check_depth([object, patch])?;
    let operations = operations(patch)?;
    let mut target = Target { object: object.clone(), copied: 0 };
    for operation in operations {
        target.apply(operation)?;
    }
    Ok(target.object)
}

fn operations(patch: &Value) -> Result<Vec<&Map<String, Value>>, PatchError> {
    let refuse = |value: &Value, of: &str| {
        PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type jsonpatch.{of}",
            go_kind(value)
        ))
    };
    let operations = patch.as_array().ok_or_else(|| refuse(patch, "Patch"))?;
    let found: Result<Vec<_>, _> = operations
        .iter()
        .map(|operation| operation.as_object().ok_or_else(|| refuse(operation, "Operation")))
        .collect();
    let found = found?;
    if found.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations { limit: MAX_OPERATIONS, count: found.len() });
    }
    Ok(found)
}

struct Target {
    object: Value,
    copied: usize,
}

impl Target {
    fn apply(&mut self, operation: &Map<String, Value>) -> Result<(), PatchError> {
        let text = |name: &str| {
            let text = operation.get(name).and_then(Value::as_str);
            text.ok_or_else(|| rejected(format!("operation has no {name:?}")))
        };
        let value = operation.get("value");
        match text("op")? {
            "add" => self.add(text("path")?, value.cloned().unwrap_or_default()),
            "remove" => self.remove(text("path")?).map(drop),
            "replace" => self.replace(text("path")?, value.cloned().unwrap_or_default()),
            "move" => {
                let moved = self.remove(text("from")?)?;
                self.add(text("path")?, moved)
            }
            "copy" => {
                let copied = self.get(text("from")?)?.cloned().unwrap_or_default();
                self.copied = self.copied.saturating_add(copied.to_string().len());
                if self.copied > MAX_COPIED {
                    return Err(rejected(format!("copies more than {MAX_COPIED} bytes")));
                }
                self.add(text("path")?, copied)
            }
            "test" => self.test(text("path")?, value.unwrap_or(&Value::Null)),
            other => Err(rejected(format!("Unexpected kind: {other}"))),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), PatchError> {
        check_size(path, &value)?;
        match self.parent(path)? {
            (Value::Object(fields), key) => {
                fields.insert(key, value);
                Ok(())
            }
            (Value::Array(items), key) if key == "-" => {
                items.push(value);
                Ok(())
            }
            (Value::Array(items), key) => {
                let index = index(&key, items.len() + 1).ok_or_else(|| missing(path))?;
                items.insert(index, value);
                Ok(())
            }
            _ => Err(missing(path)),
        }
    }

    fn remove(&mut self, path: &str) -> Result<Value, PatchError> {
        match self.parent(path)? {
            (Value::Object(fields), key) => fields.remove(&key).ok_or_else(|| missing(path)),
            (Value::Array(items), key) => {
                let index = index(&key, items.len()).ok_or_else(|| missing(path))?;
                Ok(items.remove(index))
            }
            _ => Err(missing(path)),
        }
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), PatchError> {
        check_size(path, &value)?;
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return Err(rejected("replace operation value must be object or array"));
            }
            self.object = value;
            return Ok(());
        }
        match self.parent(path)? {
            (Value::Object(fields), key) => {
                fields.insert(key, value);
                Ok(())
            }
            (Value::Array(items), key) => {
                let item = index(&key, items.len()).and_then(|index| items.get_mut(index));
                *item.ok_or_else(|| missing(path))? = value;
                Ok(())
            }
            _ => Err(missing(path)),
        }
    }

    fn test(&mut self, path: &str, value: &Value) -> Result<(), PatchError> {
        let found = if path.is_empty() { Some(&self.object) } else { self.get(path)? };
        if is_same(found.unwrap_or(&Value::Null), value) {
            Ok(())
        } else {
            Err(rejected(format!("testing value {path} failed")))
        }
    }

    /// What is there; none if its object is there and has no such field.
    fn get(&mut self, path: &str) -> Result<Option<&Value>, PatchError> {
        match self.parent(path)? {
            (Value::Object(fields), key) => Ok(fields.get(&key)),
            (Value::Array(items), key) => {
                let index = index(&key, items.len()).ok_or_else(|| missing(path))?;
                Ok(items.get(index))
            }
            _ => Err(missing(path)),
        }
    }

    /// The object or list in which a path ends, and the last step. What comes before the first slash does not count.
    fn parent(&mut self, path: &str) -> Result<(&mut Value, String), PatchError> {
        let (_, steps) = path.split_once('/').ok_or_else(|| missing(path))?;
        let mut steps: Vec<&str> = steps.split('/').collect();
        let last = steps.pop().unwrap_or_default();
        let mut at = &mut self.object;
        for step in steps {
            let step = unescape(step);
            at = match at {
                Value::Object(fields) => fields.get_mut(&step),
                Value::Array(items) => index(&step, items.len()).and_then(|index| items.get_mut(index)),
                _ => None,
            }
            .ok_or_else(|| missing(path))?;
        }
        Ok((at, unescape(last)))
    }
}

/// A step as an index into a list of this length; a negative one counts from the end.
fn index(step: &str, len: usize) -> Option<usize> {
    let index: isize = step.parse().ok()?;
    let index = if index < 0 { index.checked_add_unsigned(len)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}

/// Reads the escapes of a step from left to right, so that `~01` is `~1`.
fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Refuses to put a value where it would nest too deeply.
fn check_size(path: &str, value: &Value) -> Result<(), PatchError> {
    let steps = path.bytes().filter(|byte| *byte == b'/').count();
    match MAX_DEPTH.checked_sub(steps) {
        Some(rest) if is_within(value, rest) => Ok(()),
        _ => Err(rejected("exceeded max depth")),
    }
}

fn missing(path: &str) -> PatchError {
    rejected(format!("doc is missing path: {path:?}"))
}

fn rejected(why: impl Into<String>) -> PatchError {
    PatchError::Rejected(why.into())
}
