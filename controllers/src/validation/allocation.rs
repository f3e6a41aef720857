use std::collections::BTreeMap;

use lariat::api::labels::Selector;

use super::meta::{annotations, labels};
use super::{Errors, FieldError, FieldErrorKind};
use crate::gates::{FeatureGates, Gate};
use crate::types::{CounterAction, GameServerAllocation, GameServerSelector, GameServerState, Priority};

/// What is wrong with an allocation, defaults applied.
pub fn allocation(request: &GameServerAllocation, gates: FeatureGates) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = &request.spec;
    if !matches!(spec.scheduling.as_str(), "Packed" | "Distributed") {
        let detail = format!("{:?}: want \"Packed\" or \"Distributed\"", spec.scheduling);
        errors.add(FieldErrorKind::NotSupported, "spec.scheduling", detail);
    }
    selector(&mut errors, &spec.required, gates, "spec.required");
    for (index, preferred) in spec.preferred.iter().enumerate() {
        selector(&mut errors, preferred, gates, &format!("spec.preferred[{index}]"));
    }
    for (index, one) in spec.selectors.iter().enumerate() {
        selector(&mut errors, one, gates, &format!("spec.selectors[{index}]"));
    }
    let path = "spec.metadata";
    labels(&mut errors, &spec.metadata.labels, &format!("{path}.labels"));
    let entries = spec.metadata.annotations.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    annotations(&mut errors, entries, &format!("{path}.annotations"));
    if gates.has(Gate::CountsAndLists) {
        priorities(&mut errors, &spec.priorities);
        counters(&mut errors, &spec.counters);
        for (name, list) in &spec.lists {
            if list.capacity.is_some_and(|capacity| capacity < 0) {
                errors.invalid(format!("spec.lists[{name}].capacity"), "must not be negative");
            }
        }
    } else {
        let used = [
            (!spec.priorities.is_empty(), "priorities"),
            (!spec.counters.is_empty(), "counters"),
            (!spec.lists.is_empty(), "lists"),
        ];
        for (_, field) in used.iter().filter(|(is_used, _)| *is_used) {
            errors.forbidden(format!("spec.{field}"), "needs the feature gate CountsAndLists");
        }
    }
    errors.0
}

fn selector(errors: &mut Errors, selector: &GameServerSelector, gates: FeatureGates, path: &str) {
    if let Err(error) = Selector::from_label_selector(Some(&selector.labels)) {
        errors.invalid(format!("{path}.labelSelector"), error.to_string());
    }
    let state = selector.game_server_state.as_ref();
    if state.is_some_and(|state| !matches!(state, GameServerState::Ready | GameServerState::Allocated)) {
        errors.invalid(format!("{path}.gameServerState"), "must be Ready or Allocated");
    }
    if gates.has(Gate::PlayerAllocationFilter)
        && let Some(players) = &selector.players
    {
        bounds(
            errors,
            players.min_available,
            players.max_available,
            "Available",
            &format!("{path}.players"),
            false,
        );
    }
    if !gates.has(Gate::CountsAndLists) {
        if !selector.counters.is_empty() {
            errors.forbidden(format!("{path}.counters"), "needs the feature gate CountsAndLists");
        }
        if !selector.lists.is_empty() {
            errors.forbidden(format!("{path}.lists"), "needs the feature gate CountsAndLists");
        }
        return;
    }
    for (name, counter) in &selector.counters {
        let path = format!("{path}.counters[{name}]");
        bounds(errors, counter.min_count, counter.max_count, "Count", &path, true);
        bounds(errors, counter.min_available, counter.max_available, "Available", &path, true);
    }
    for (name, list) in &selector.lists {
        let path = format!("{path}.lists[{name}]");
        bounds(errors, list.min_available, list.max_available, "Available", &path, true);
    }
}

/// Neither is negative, and a maximum that is not 0 is at least the minimum.
fn bounds(errors: &mut Errors, least: i64, most: i64, what: &str, path: &str, whole: bool) {
    if least < 0 {
        errors.invalid(format!("{path}.min{what}"), "must not be negative");
    }
    if most < 0 {
        errors.invalid(format!("{path}.max{what}"), "must not be negative");
    }
    if most != 0 && most < least {
        let field = if whole { path.to_owned() } else { format!("{path}.min{what}") };
        errors.invalid(field, format!("max{what} must be 0, or at least min{what}"));
    }
}

fn priorities(errors: &mut Errors, priorities: &[Priority]) {
    for (index, priority) in priorities.iter().enumerate() {
        let field = format!("spec.priorities[{index}]");
        if !matches!(priority.kind.as_str(), "Counter" | "List") {
            errors.invalid(&*field, "type must be Counter or List");
        }
        if priority.key.is_empty() {
            errors.invalid(&*field, "key must not be empty");
        }
        if !matches!(priority.order.as_str(), "Ascending" | "Descending" | "") {
            errors.invalid(field, "order must be Ascending or Descending");
        }
    }
}

fn counters(errors: &mut Errors, counters: &BTreeMap<String, CounterAction>) {
    for (name, counter) in counters {
        let field = format!("spec.counters[{name}]");
        if counter.amount.is_some_and(|amount| amount < 0) {
            errors.invalid(format!("{field}.amount"), "must not be negative");
        }
        if counter.capacity.is_some_and(|capacity| capacity < 0) {
            errors.invalid(format!("{field}.capacity"), "must not be negative");
        }
        if counter.action.is_some() != counter.amount.is_some() {
            errors.invalid(field, "action and amount go together");
        }
    }
}
