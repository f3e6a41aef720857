use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::list::{duplicates, elements_of};
use super::path::PathElement;
use super::types::TypeInfo;

/// An object with a configuration merged into it: what the configuration sets wins, and the rest stays.
pub(crate) fn merge(node: &dyn TypeInfo, live: &Value, config: &Value) -> Value {
    merge_parts(node, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn merge_parts(node: &dyn TypeInfo, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    // Null is of any form, so it takes nothing away from an object or a list.
    let form = config.filter(|value| !value.is_null()).or(live);
    match form {
        Some(Value::Object(_)) => merge_maps(node, live, config),
        Some(Value::Array(_)) => merge_lists(node, live, config),
        _ => config.or(live).cloned(),
    }
}

fn merge_maps(node: &dyn TypeInfo, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let theirs = live.and_then(Value::as_object).filter(|fields| !fields.is_empty());
    let ours = config.and_then(Value::as_object).filter(|fields| !fields.is_empty());
    if node.is_atomic_map() || theirs.is_none() && ours.is_none() {
        return config.or(live).cloned();
    }
    let mut merged = Map::new();
    for (name, value) in theirs.into_iter().flatten() {
        let other = ours.and_then(|fields| fields.get(name));
        if let Some(value) = merge_parts(node.child(name).node(), Some(value), other) {
            merged.insert(name.clone(), value);
        }
    }
    for (name, value) in ours.into_iter().flatten() {
        if theirs.is_none_or(|fields| !fields.contains_key(name))
            && let Some(value) = merge_parts(node.child(name).node(), None, Some(value))
        {
            merged.insert(name.clone(), value);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

fn merge_lists(node: &dyn TypeInfo, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let theirs = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let ours = config.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_empty = theirs.is_empty() && ours.is_empty();
    let (Some(their_elements), Some(our_elements), false) =
        (elements_of(node, theirs), elements_of(node, ours), is_empty)
    else {
        return config.or(live).cloned();
    };
    let lists = Lists::new(&their_elements, theirs, &our_elements, ours);
    let merged = lists.merge(|live, config| merge_parts(node.item(), live, config));
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// Two lists whose items are known by their elements.
///
/// The merged list keeps the order of both where they agree. Of the items that both have, the configuration's order wins,
/// and items that only the live object has stay in front of the item that followed them.
struct Lists<'a> {
    theirs: Vec<(&'a PathElement, &'a Value)>,
    ours: Vec<(&'a PathElement, &'a Value)>,
    /// None for an element that occurs more than once: there is no one item to merge with.
    their_items: BTreeMap<&'a PathElement, Option<&'a Value>>,
    our_elements: BTreeSet<&'a PathElement>,
}

impl<'a> Lists<'a> {
    fn new(
        their_elements: &'a [PathElement],
        theirs: &'a [Value],
        our_elements: &'a [PathElement],
        ours: &'a [Value],
    ) -> Self {
        let ambiguous = duplicates(their_elements);
        let theirs: Vec<_> = their_elements.iter().zip(theirs).collect();
        let their_items =
            theirs.iter().map(|(element, item)| (*element, (!ambiguous.contains(element)).then_some(*item)));
        Self {
            their_items: their_items.collect(),
            theirs,
            ours: our_elements.iter().zip(ours).collect(),
            our_elements: our_elements.iter().collect(),
        }
    }

    fn merge(&self, mut merge: impl FnMut(Option<&Value>, Option<&Value>) -> Option<Value>) -> Vec<Value> {
        let shared = self.ours.iter().map(|(element, _)| *element);
        let mut shared: VecDeque<&PathElement> =
            shared.filter(|element| self.their_items.contains_key(element)).collect();
        let mut theirs: VecDeque<_> = self.theirs.iter().copied().collect();
        let mut merged = Vec::new();
        for (element, item) in &self.ours {
            // What only they have comes before our next item, up to the next item that both have in our order.
            while let Some((next, live)) = theirs.front().copied() {
                if !self.our_elements.contains(next) {
                    merged.extend(merge(Some(live), None));
                } else if next == *element || shared.front() == Some(&next) {
                    break;
                }
                theirs.pop_front();
                if shared.is_empty() && self.our_elements.contains(next) {
                    break;
                }
            }
            merged.extend(merge(self.their_items.get(element).copied().flatten(), Some(item)));
            if shared.front() == Some(element) {
                shared.pop_front();
            }
            if theirs.front().is_some_and(|(next, _)| next == element) {
                theirs.pop_front();
            }
        }
        let rest = theirs.into_iter().filter(|(element, _)| !self.our_elements.contains(element));
        merged.extend(rest.filter_map(|(_, live)| merge(Some(live), None)));
        merged
    }
}
