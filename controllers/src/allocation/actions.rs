//! What is done to a server that is given (AL-5).

use crate::gameservers::counters::{CountAction, CountError};
use crate::gates::{FeatureGates, Gate};
use crate::types::{
    AllocationSpec, CounterAction, GameServer, GameServerState, GameServerStatus, ListAction, names,
};

/// Actions that could not be carried out. They do not keep the server from being given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActionErrors {
    /// Those on counters, with the counter.
    pub counters: Vec<(String, CountError)>,
    /// Those on lists, with the list.
    pub lists: Vec<(String, CountError)>,
}

/// Carries out the actions of an allocation.
pub fn apply_actions(spec: &AllocationSpec, status: &mut GameServerStatus) -> ActionErrors {
    let mut errors = ActionErrors::default();
    for (name, action) in &spec.counters {
        for error in count(name, action, status) {
            errors.counters.push((name.clone(), error));
        }
    }
    for (name, action) in &spec.lists {
        for error in change_list(name, action, status) {
            errors.lists.push((name.clone(), error));
        }
    }
    errors
}

/// The capacity first, so that the count has room.
fn count(name: &str, action: &CounterAction, status: &mut GameServerStatus) -> Vec<CountError> {
    let mut results = Vec::new();
    if let Some(capacity) = action.capacity {
        results.push(status.update_counter_capacity(name, capacity));
    }
    if let (Some(kind), Some(amount)) = (&action.action, action.amount) {
        results.push(match kind.parse::<CountAction>() {
            Ok(kind) => status.update_count(name, kind, amount),
            Err(()) => Err(CountError::Action { name: name.to_owned(), action: kind.clone() }),
        });
    }
    results.into_iter().filter_map(Result::err).collect()
}

fn change_list(name: &str, action: &ListAction, status: &mut GameServerStatus) -> Vec<CountError> {
    let mut results = Vec::new();
    if let Some(capacity) = action.capacity {
        results.push(status.update_list_capacity(name, capacity));
    }
    if let Some(values) = action.add_values.as_deref().filter(|values| !values.is_empty()) {
        results.push(status.append_list_values(name, Some(values)));
    }
    if let Some(values) = action.delete_values.as_deref().filter(|values| !values.is_empty()) {
        results.push(status.delete_list_values(name, Some(values)));
    }
    results.into_iter().filter_map(Result::err).collect()
}

/// A server as it is given at a time.
pub fn apply(
    server: &GameServer,
    spec: &AllocationSpec,
    now: &str,
    gates: FeatureGates,
) -> (GameServer, ActionErrors) {
    let mut given = server.clone();
    for (key, value) in &spec.metadata.labels {
        given.metadata.labels.insert(key.clone(), value.clone());
    }
    for (key, value) in &spec.metadata.annotations {
        given.metadata.annotations.insert(key, value.as_str());
    }
    given.metadata.annotations.insert(names::LAST_ALLOCATED, now);
    given.status.state = GameServerState::Allocated;
    let errors = if gates.has(Gate::CountsAndLists) {
        apply_actions(spec, &mut given.status)
    } else {
        ActionErrors::default()
    };
    (given, errors)
}
