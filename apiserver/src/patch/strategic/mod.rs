//! Strategic merge patch: a merge patch that knows from the object's type which lists are merged item by item, and that
//! can say more than a merge patch by directives, which are fields whose names begin with a dollar sign.
//!
//! The lists of a patched object come in a certain order: the items of the patch in the patch's order (or that of
//! `$setElementOrder`), and the other items among them where they were, as far as that can be told.

mod list;
mod order;
mod problem;

use serde_json::{Map, Value};

use super::merge::go_kind;
use super::{PatchError, check_depth};
use crate::apply::builtin_shape;
use crate::apply::shape::{Patch, Shape};
use problem::Problem;
pub(crate) use problem::go_text;

/// What is to be done with an object or an item of a list.
const DIRECTIVE: &str = "$patch";
/// The fields that an object keeps.
const RETAIN_KEYS: &str = "$retainKeys";
/// What is taken out of a list of scalars; the list's name follows after a slash.
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// The order of a list; the list's name follows after a slash.
const SET_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch to an object of a built-in kind.
///
/// # Errors
///
/// If the patch is no object, if its directives make no sense, and if an item of a list that is merged has no key. For a
/// kind that is not built in there is no such patch: it is [`PatchError::Failed`], but the API server does not let it come
/// that far and answers 415.
///
/// # Example
///
/// ```
/// use lariat_apiserver::patch::strategic_patch;
/// use serde_json::json;
///
/// let pod = json!({"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}});
/// let patch = json!({"spec": {"containers": [{"name": "b", "image": "b:2"}, {"name": "a", "$patch": "delete"}]}});
/// let patched = strategic_patch(&pod, &patch, "", "Pod").unwrap();
/// assert_eq!(patched, json!({"spec": {"containers": [{"name": "b", "image": "b:2"}]}}));
/// ```
pub fn strategic_patch(object: &Value, patch: &Value, group: &str, kind: &str) -> Result<Value, PatchError> {
    check_depth([object, patch])?;
    let Value::Object(patch) = patch else {
        let kind = go_kind(patch);
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )));
    };
    let shape = builtin_shape(group, kind);
    let shape = shape.ok_or_else(|| PatchError::Failed(format!("no strategic merge patch for {kind:?}")))?;
    let original = object.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(merge_maps(shape, original, patch.clone())?))
}

fn merge_maps(
    shape: &Shape,
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<Map<String, Value>, Problem> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => return Ok(plain_fields(patch)),
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(directive) => {
            let text = go_text(&directive);
            patch.insert(DIRECTIVE.into(), directive);
            return Err(Problem::UnknownDirective(text, go_text(&Value::Object(patch))));
        }
    }
    retain_keys(&mut original, &mut patch)?;
    set_orders(shape, &mut original, &mut patch)?;
    for (name, value) in patch {
        match name.strip_prefix(DELETE_FROM_LIST) {
            Some(rest) => {
                let name = rest.strip_prefix('/').ok_or(Problem::BadPrimitiveList)?;
                delete_from_list(shape.field(name), &mut original, name, value)?;
            }
            None => merge_field(shape.field(&name), &mut original, name, value)?,
        }
    }
    Ok(original)
}

fn merge_field(
    shape: &Shape,
    original: &mut Map<String, Value>,
    name: String,
    value: Value,
) -> Result<(), Problem> {
    let merged = match (original.remove(&name), value) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(ours)), Value::Object(theirs)) => Value::Object(merge_maps(shape, ours, theirs)?),
        (Some(Value::Array(ours)), Value::Array(theirs)) => {
            Value::Array(list::merge_lists(shape, ours, theirs)?)
        }
        (_, value) => match plain(value) {
            Some(value) => value,
            None => return Ok(()),
        },
    };
    original.insert(name, merged);
    Ok(())
}

fn delete_from_list(
    shape: &Shape,
    original: &mut Map<String, Value>,
    name: &str,
    value: Value,
) -> Result<(), Problem> {
    if let (Some(Value::Array(ours)), Value::Array(gone)) = (original.get_mut(name), value) {
        *ours = list::delete_items(shape, std::mem::take(ours), gone)?;
    }
    Ok(())
}

fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Problem> {
    let keys = match patch.remove(RETAIN_KEYS) {
        None => return Ok(()),
        Some(Value::Array(keys)) => keys,
        Some(_) => return Err(Problem::BadRetainKeys),
    };
    let is_kept = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let is_directive = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !is_kept(name)) {
        return Err(Problem::BadRetainKeys);
    }
    original.retain(|name, _| is_kept(name));
    Ok(())
}

/// Merges the lists whose order is set, and takes them out of the patch.
fn set_orders(
    shape: &Shape,
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), Problem> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err(Problem::wrong_type("[]interface {}", "no list"));
        };
        let name = directive.strip_prefix(SET_ORDER).and_then(|rest| rest.strip_prefix('/'));
        let name = name.ok_or(Problem::BadSetOrder)?;
        let ours = list_field(original, name)?;
        let theirs = list_field(patch, name)?;
        if let Some(ordered) = list::merge_in_order(shape.field(name), ours, theirs, &order)? {
            original.insert(name.to_owned(), Value::Array(ordered));
        }
    }
    Ok(())
}

fn list_field(fields: &mut Map<String, Value>, name: &str) -> Result<Option<Vec<Value>>, Problem> {
    match fields.remove(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(value) => Err(Problem::wrong_type("[]interface {}", go_kind(&value))),
    }
}

/// A value of a patch where there is nothing to merge it with: without nulls and directives. None if a directive is about
/// itself.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(Value::Object(plain_fields(fields))),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(plain).collect())),
        value => Some(value),
    }
}

fn plain_fields(fields: Map<String, Value>) -> Map<String, Value> {
    let is_directive =
        |name: &str| name == RETAIN_KEYS || name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER);
    let fields = fields.into_iter().filter(|(name, value)| !value.is_null() && !is_directive(name));
    fields.filter_map(|(name, value)| Some((name, plain(value)?))).collect()
}

/// The key by which the items of a list are merged; none for a list of scalars.
fn merge_key(shape: &Shape) -> Option<&'static str> {
    match shape.patch() {
        Patch::MergeBy(key) => Some(key),
        Patch::Add | Patch::Replace => None,
    }
}
