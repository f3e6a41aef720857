//! Marks servers with players of which there are more than a set is to have (GSS-7).

use std::sync::Arc;

use crate::gameservers::order::{NodeCounts, sort_for_deletion};
use crate::types::{AllocationOverflow, GameServer, GameServerSet, GameServerState};

/// How many of the allocated servers have all labels and annotations, and the other ones.
pub fn count_matches(
    overflow: &AllocationOverflow,
    servers: &[Arc<GameServer>],
) -> (usize, Vec<Arc<GameServer>>) {
    let allocated =
        servers.iter().filter(|server| server.status.state == GameServerState::Allocated).cloned();
    let (matching, rest): (Vec<_>, Vec<_>) = allocated.partition(|server| matches(overflow, server));
    (matching.len(), rest)
}

fn matches(overflow: &AllocationOverflow, server: &GameServer) -> bool {
    let meta = &server.metadata;
    overflow.labels.iter().all(|(key, value)| meta.labels.get(key) == Some(value))
        && overflow.annotations.iter().all(|(key, value)| meta.annotations.get(key) == Some(value.as_str()))
}

/// The servers to mark, marked, in the order in which they would go.
pub fn overflowing(set: &GameServerSet, servers: &[Arc<GameServer>], counts: &NodeCounts) -> Vec<GameServer> {
    let Some(overflow) = &set.spec.allocation_overflow else { return Vec::new() };
    let surplus = set.status.allocated_replicas.saturating_sub(set.spec.replicas);
    let surplus = usize::try_from(surplus).unwrap_or_default();
    if surplus == 0 || (overflow.labels.is_empty() && overflow.annotations.is_empty()) {
        return Vec::new();
    }
    let (marked, mut rest) = count_matches(overflow, servers);
    sort_for_deletion(&mut rest, &set.spec.scheduling, &set.spec.priorities, counts);
    // The status may be of a time when there were more.
    let wanted = surplus.saturating_sub(marked);
    rest.into_iter().take(wanted).map(|server| mark(overflow, &server)).collect()
}

fn mark(overflow: &AllocationOverflow, server: &GameServer) -> GameServer {
    let mut marked = server.clone();
    for (key, value) in &overflow.labels {
        marked.metadata.labels.insert(key.clone(), value.clone());
    }
    for (key, value) in &overflow.annotations {
        marked.metadata.annotations.insert(key, value.as_str());
    }
    marked
}
