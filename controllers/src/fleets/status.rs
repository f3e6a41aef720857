use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gates::{FeatureGates, Gate};
use crate::types::{AggregatedStatus, Fleet, FleetStatus, GameServerSet};

/// What a fleet is, given its sets (F-12). What is not summed up stays as it is.
pub fn status(fleet: &Fleet, sets: &[Arc<GameServerSet>], gates: FeatureGates) -> FleetStatus {
    let mut status = FleetStatus {
        players: fleet.status.players.clone(),
        other: fleet.status.other.clone(),
        ..FleetStatus::default()
    };
    let counts = gates.has(Gate::CountsAndLists);
    let tracks = gates.has(Gate::PlayerTracking);
    if tracks && !sets.is_empty() {
        status.players = None;
    }
    for set in sets {
        let of_set = &set.status;
        status.replicas = status.replicas.saturating_add(of_set.replicas);
        status.ready_replicas = status.ready_replicas.saturating_add(of_set.ready_replicas);
        status.reserved_replicas = status.reserved_replicas.saturating_add(of_set.reserved_replicas);
        status.allocated_replicas = status.allocated_replicas.saturating_add(of_set.allocated_replicas);
        if counts {
            merge(&mut status.counters, &of_set.counters);
            merge(&mut status.lists, &of_set.lists);
        }
        if let (true, Some(players)) = (tracks, &of_set.players) {
            let sum = status.players.get_or_insert_default();
            sum.count = sum.count.saturating_add(players.count);
            sum.capacity = sum.capacity.saturating_add(players.capacity);
        }
    }
    status
}

fn merge(sums: &mut BTreeMap<String, AggregatedStatus>, parts: &BTreeMap<String, AggregatedStatus>) {
    for (key, part) in parts {
        let sum = sums.entry(key.clone()).or_default();
        sum.allocated_count = sum.allocated_count.saturating_add(part.allocated_count);
        sum.allocated_capacity = sum.allocated_capacity.saturating_add(part.allocated_capacity);
        sum.count = sum.count.saturating_add(part.count);
        sum.capacity = sum.capacity.saturating_add(part.capacity);
    }
}
