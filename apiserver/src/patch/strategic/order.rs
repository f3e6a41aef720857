use std::collections::VecDeque;

use serde_json::Value;

use super::list::{key_of, require_key};
use super::problem::Problem;
use crate::apply::value::is_same;

/// Orders a merged list: the items that `wanted` has come in its order; the others, which only the server knows, keep the
/// order that they had in `live`, and one of them comes before an item of `wanted` if it did so in `live`.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    live: &[Value],
    key: Option<&'static str>,
) -> Result<Vec<Value>, Problem> {
    if let Some(key) = key {
        for item in merged.iter().chain(wanted).chain(live) {
            require_key(item, key)?;
        }
    }
    let place = |list: &[Value], item: &Value| position(list, item, key);
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(wanted, item).is_some());
    named.sort_by_cached_key(|item| place(wanted, item).unwrap_or(usize::MAX));
    others.sort_by_cached_key(|item| place(live, item).unwrap_or(usize::MAX));

    let mut others: VecDeque<(Option<usize>, Value)> =
        others.into_iter().map(|item| (place(live, &item), item)).collect();
    let mut arranged = Vec::new();
    for item in named {
        let at = place(live, &item);
        let is_before = |other: Option<usize>| matches!((other, at), (Some(other), Some(at)) if other < at);
        while others.front().is_some_and(|(other, _)| is_before(*other)) {
            arranged.extend(others.pop_front().map(|(_, other)| other));
        }
        arranged.push(item);
    }
    arranged.extend(others.into_iter().map(|(_, item)| item));
    Ok(arranged)
}

/// Where an item is in a list: by its key, or by what it is.
pub(super) fn position(list: &[Value], item: &Value, key: Option<&str>) -> Option<usize> {
    match key {
        Some(key) => list.iter().position(|other| is_same(key_of(other, key), key_of(item, key))),
        None => list.iter().position(|other| is_same(other, item)),
    }
}
