use serde_json::{Map, Value};

use super::order::{arrange, position};
use super::problem::{Problem, go_text};
use super::{DIRECTIVE, merge_key, merge_maps, plain};
use crate::apply::shape::{Patch, Shape};
use crate::apply::value::is_same;
use crate::patch::merge::go_kind;

/// Merges a list of a patch into the list that is there.
pub(super) fn merge_lists(
    shape: &Shape,
    ours: Vec<Value>,
    theirs: Vec<Value>,
) -> Result<Vec<Value>, Problem> {
    if shape.patch() == Patch::Replace {
        return Ok(theirs.into_iter().filter_map(plain).collect());
    }
    if ours.is_empty() && theirs.is_empty() {
        return Ok(ours);
    }
    if !are_objects(&ours, &theirs)? {
        let mut merged: Vec<Value> = Vec::new();
        for item in ours.iter().chain(&theirs) {
            if position(&merged, item, None).is_none() {
                merged.push(item.clone());
            }
        }
        return arrange(merged, &theirs, &ours, None);
    }
    let key = merge_key(shape).ok_or(Problem::NoKeyDeclared)?;
    let (ours, theirs) = follow_directives(key, ours, theirs)?;
    let mut merged = ours.clone();
    for item in &theirs {
        require_key(item, key)?;
        match position(&merged, item, Some(key)).and_then(|at| merged.get_mut(at)) {
            Some(Value::Object(fields)) => {
                let patch = item.as_object().cloned().unwrap_or_default();
                *fields = merge_maps(shape.items(), std::mem::take(fields), patch)?;
            }
            _ => merged.extend(plain(item.clone())),
        }
    }
    arrange(merged, &theirs, &ours, Some(key))
}

/// Merges a list of a patch into the list that is there, and gives it an order. None if there is neither.
pub(super) fn merge_in_order(
    shape: &Shape,
    ours: Option<Vec<Value>>,
    theirs: Option<Vec<Value>>,
    order: &[Value],
) -> Result<Option<Vec<Value>>, Problem> {
    let key = merge_key(shape);
    check_order(key, theirs.as_deref().unwrap_or_default(), order)?;
    let live = ours.clone().unwrap_or_default();
    let merged = match (ours, theirs) {
        (None, None) => return Ok(None),
        (Some(ours), None) => ours,
        (None, Some(theirs)) => theirs.into_iter().filter_map(plain).collect(),
        (Some(ours), Some(theirs)) => merge_lists(shape, ours, theirs)?,
    };
    arrange(merged, order, &live, key).map(Some)
}

/// Takes items out of a list of scalars.
pub(super) fn delete_items(shape: &Shape, ours: Vec<Value>, gone: Vec<Value>) -> Result<Vec<Value>, Problem> {
    if are_objects(&ours, &gone)? {
        return merge_lists(shape, ours, gone);
    }
    Ok(ours.into_iter().filter(|item| position(&gone, item, None).is_none()).collect())
}

/// Carries out what the items of a patch with directives say, and takes them out of it.
fn follow_directives(
    key: &'static str,
    mut ours: Vec<Value>,
    theirs: Vec<Value>,
) -> Result<(Vec<Value>, Vec<Value>), Problem> {
    let mut rest = Vec::new();
    let mut is_replaced = false;
    for item in theirs {
        match item.get(DIRECTIVE) {
            None => rest.push(item),
            Some(Value::String(directive)) if directive == "delete" => {
                require_key(&item, key)?;
                for live in &ours {
                    require_key(live, key)?;
                }
                ours.retain(|live| !is_same(key_of(live, key), key_of(&item, key)));
            }
            Some(Value::String(directive)) if directive == "replace" => is_replaced = true,
            Some(Value::String(directive)) if directive == "merge" => return Err(Problem::MergeDirective),
            Some(directive) => return Err(Problem::UnknownDirective(go_text(directive), go_text(&item))),
        }
    }
    Ok(if is_replaced { (rest, Vec::new()) } else { (ours, rest) })
}

/// Whether the items are objects; they must be all of one kind, and not lists.
fn are_objects(ours: &[Value], theirs: &[Value]) -> Result<bool, Problem> {
    let mut items = ours.iter().chain(theirs);
    let Some(first) = items.next() else { return Ok(false) };
    if first.is_array() {
        return Err(Problem::ListOfLists);
    }
    match items.find(|item| go_kind(item) != go_kind(first)) {
        Some(other) => Err(Problem::MixedItems(format!("{} and {}", go_kind(first), go_kind(other)))),
        None => Ok(first.is_object()),
    }
}

/// The items of the patch must be among those whose order is set, and in that order.
fn check_order(key: Option<&'static str>, theirs: &[Value], order: &[Value]) -> Result<(), Problem> {
    if theirs.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut items = theirs.iter().filter(|item| item.get(DIRECTIVE).is_none()).peekable();
    for place in order {
        let Some(item) = items.peek() else { return Ok(()) };
        let is_here = match key {
            None => is_same(item, place),
            Some(key) => {
                require_key(item, key)?;
                require_key(place, key)?;
                is_same(key_of(item, key), key_of(place, key))
            }
        };
        if is_here {
            items.next();
        }
    }
    if items.peek().is_none() {
        return Ok(());
    }
    let text = |items: &[Value]| go_text(&Value::Array(items.to_vec()));
    Err(Problem::OrderDiffers(text(theirs), text(order)))
}

/// Refuses an item without the key by which its list is merged.
pub(super) fn require_key(item: &Value, key: &'static str) -> Result<(), Problem> {
    match item {
        Value::Object(fields) if fields.contains_key(key) => Ok(()),
        Value::Object(_) => Err(Problem::NoMergeKey(go_text(item), key)),
        _ => Err(Problem::wrong_type("map[string]interface {}", go_kind(item))),
    }
}

pub(super) fn key_of<'a>(item: &'a Value, key: &str) -> &'a Value {
    item.as_object().and_then(|fields: &Map<String, Value>| fields.get(key)).unwrap_or(&Value::Null)
}
