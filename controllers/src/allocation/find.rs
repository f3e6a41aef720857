//! Which server is given (AL-3, AL-4).

use std::cmp::Ordering;
use std::sync::Arc;

use lariat::api::labels::Selector;
use lariat::api::{Object, Randomness};

use crate::gameservers::order::{NodeCounts, by_priorities, merge_sort};
use crate::gates::{FeatureGates, Gate};
use crate::types::{
    AllocationSpec, CounterSelector, GameServer, GameServerSelector, GameServerState, ListSelector, Priority,
};

/// Whether a server is what a selector asks for. A selector that is none matches nothing.
pub fn matches(selector: &GameServerSelector, server: &GameServer, gates: FeatureGates) -> bool {
    let Ok(labels) = Selector::from_label_selector(Some(&selector.labels)) else { return false };
    if !labels.matches(&server.metadata) {
        return false;
    }
    if selector.game_server_state.as_ref().is_some_and(|state| *state != server.status.state) {
        return false;
    }
    if gates.has(Gate::PlayerAllocationFilter)
        && let Some(wanted) = &selector.players
        && let Some(players) = &server.status.players
        // Without a maximum it asks for nothing: so does what older clients leave out.
        && wanted.max_available != 0
    {
        let free = players.capacity.saturating_sub(players.count);
        if !within(free, wanted.min_available, wanted.max_available) {
            return false;
        }
    }
    if !gates.has(Gate::CountsAndLists) {
        return true;
    }
    selector.counters.iter().all(|(name, wanted)| counter_matches(wanted, server, name))
        && selector.lists.iter().all(|(name, wanted)| list_matches(wanted, server, name))
}

fn counter_matches(wanted: &CounterSelector, server: &GameServer, name: &str) -> bool {
    server.status.counters.get(name).is_some_and(|counter| {
        let free = counter.capacity.saturating_sub(counter.count);
        within(counter.count, wanted.min_count, wanted.max_count)
            && within(free, wanted.min_available, wanted.max_available)
    })
}

fn list_matches(wanted: &ListSelector, server: &GameServer, name: &str) -> bool {
    server.status.lists.get(name).is_some_and(|list| {
        let free = list.capacity.saturating_sub(list.count());
        within(free, wanted.min_available, wanted.max_available)
            && (wanted.contains_value.is_empty() || list.values().contains(&wanted.contains_value))
    })
}

/// A maximum of 0 is none.
fn within(number: i64, least: i64, most: i64) -> bool {
    number >= least && (most == 0 || number <= most)
}

/// Puts servers in the order in which they are given.
pub fn sort(
    servers: &mut [Arc<GameServer>],
    spec: &AllocationSpec,
    counts: &NodeCounts,
    gates: FeatureGates,
) {
    servers.sort_by(|a, b| a.name().cmp(b.name()));
    merge_sort(servers, &|a, b| order(a, b, spec, counts, gates));
}

/// Whether a server is given before another one.
pub(super) fn before(
    server: &GameServer,
    other: &GameServer,
    spec: &AllocationSpec,
    counts: &NodeCounts,
    gates: FeatureGates,
) -> bool {
    order(server, other, spec, counts, gates).is_lt()
}

fn order(
    a: &GameServer,
    b: &GameServer,
    spec: &AllocationSpec,
    counts: &NodeCounts,
    gates: FeatureGates,
) -> Ordering {
    let priorities: &[Priority] = if gates.has(Gate::CountsAndLists) { &spec.priorities } else { &[] };
    if spec.scheduling == "Packed" || !gates.has(Gate::CountsAndLists) {
        packed(a, b, priorities, counts, gates)
    } else {
        by_priorities(priorities, &a.status, &b.status).then_with(|| a.name().cmp(b.name()))
    }
}

/// Servers with players first, on the fullest nodes, so that others become empty.
fn packed(
    a: &GameServer,
    b: &GameServer,
    priorities: &[Priority],
    counts: &NodeCounts,
    gates: FeatureGates,
) -> Ordering {
    let is_allocated = |server: &GameServer| server.status.state == GameServerState::Allocated;
    let by_state = is_allocated(b).cmp(&is_allocated(a));
    let by_node = || match (counts.get(&a.status.node_name), counts.get(&b.status.node_name)) {
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
        (Some(of_a), Some(of_b)) => {
            of_b.allocated.cmp(&of_a.allocated).then_with(|| of_b.ready.cmp(&of_a.ready))
        }
    };
    let by_players = || {
        let free = |server: &GameServer| {
            server.status.players.as_ref().map(|players| players.capacity.saturating_sub(players.count))
        };
        match (gates.has(Gate::PlayerAllocationFilter), free(a), free(b)) {
            (true, Some(a), Some(b)) => a.cmp(&b),
            _ => Ordering::Equal,
        }
    };
    by_state
        .then_with(by_node)
        .then_with(by_players)
        .then_with(|| by_priorities(priorities, &a.status, &b.status))
        .then_with(|| a.name().cmp(b.name()))
}

/// The first server, in their order, that matches the first selector that any of them matches. Where servers are to be
/// distributed and no priority says otherwise, their order is any.
pub fn find<'a>(
    servers: &'a [Arc<GameServer>],
    spec: &AllocationSpec,
    namespace: &str,
    gates: FeatureGates,
    randomness: &Randomness,
) -> Option<&'a Arc<GameServer>> {
    let mut order: Vec<&Arc<GameServer>> = servers.iter().collect();
    if spec.scheduling == "Distributed" && spec.priorities.is_empty() {
        for last in (1..order.len()).rev() {
            let other = usize::try_from(randomness.below(last as u64 + 1)).unwrap_or_default();
            order.swap(last, other);
        }
    }
    spec.selectors.iter().find_map(|selector| {
        let fits =
            |server: &Arc<GameServer>| server.namespace() == namespace && matches(selector, server, gates);
        order.iter().copied().find(|server| fits(server))
    })
}
