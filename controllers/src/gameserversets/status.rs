use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gates::{FeatureGates, Gate};
use crate::types::{
    AggregatedPlayerStatus, AggregatedStatus, GameServer, GameServerSet, GameServerSetStatus,
    GameServerState, Undecodable,
};

/// What a set is, given its servers (GSS-6). Fields that are not known stay as they are.
///
/// # Errors
///
/// If the set's template is not one.
pub fn status(
    set: &GameServerSet,
    servers: &[Arc<GameServer>],
    gates: FeatureGates,
) -> Result<GameServerSetStatus, Undecodable> {
    let mut status =
        GameServerSetStatus { other: set.status.other.clone(), ..GameServerSetStatus::default() };
    let counts = gates.has(Gate::CountsAndLists);
    if counts {
        let template = &set.spec.template.get()?.spec;
        let nothing = |key: &String| (key.clone(), AggregatedStatus::default());
        status.counters = template.counters.keys().map(nothing).collect();
        status.lists = template.lists.keys().map(nothing).collect();
    }
    if gates.has(Gate::PlayerTracking) {
        status.players = Some(AggregatedPlayerStatus::default());
    }
    for server in servers {
        if server.is_being_deleted() {
            status.shutdown_replicas += 1;
            continue;
        }
        status.replicas += 1;
        match server.status.state {
            GameServerState::Ready => status.ready_replicas += 1,
            GameServerState::Allocated => status.allocated_replicas += 1,
            GameServerState::Reserved => status.reserved_replicas += 1,
            _ => {}
        }
        if let (Some(sum), Some(players), true) =
            (&mut status.players, &server.status.players, server.is_active())
        {
            sum.count = sum.count.saturating_add(players.count);
            sum.capacity = sum.capacity.saturating_add(players.capacity);
        }
        if counts {
            let is_allocated = server.status.state == GameServerState::Allocated;
            for (key, counter) in &server.status.counters {
                sum(&mut status.counters, key, counter.count, counter.capacity, is_allocated);
            }
            for (key, list) in &server.status.lists {
                sum(&mut status.lists, key, list.count(), list.capacity, is_allocated);
            }
        }
    }
    Ok(status)
}

fn sum(
    sums: &mut BTreeMap<String, AggregatedStatus>,
    key: &str,
    count: i64,
    capacity: i64,
    is_allocated: bool,
) {
    let sum = sums.entry(key.to_owned()).or_default();
    sum.count = sum.count.saturating_add(count);
    sum.capacity = sum.capacity.saturating_add(capacity);
    if is_allocated {
        sum.allocated_count = sum.allocated_count.saturating_add(count);
        sum.allocated_capacity = sum.allocated_capacity.saturating_add(capacity);
    }
}
