//! Which of two servers goes first (GSS-4, AL-4).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::types::{GameServer, GameServerState, GameServerStatus, Priority};

/// How many servers of a node are ready and allocated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NodeCount {
    /// How many wait for players.
    pub ready: i64,
    /// How many have players.
    pub allocated: i64,
}

/// The counts of all nodes that are known, by name.
pub type NodeCounts = BTreeMap<String, NodeCount>;

/// Which of two servers goes first by counters and lists: by free capacity, the smaller one if `Ascending`. Who lacks the key goes
/// last. `Equal` if no priority tells.
pub fn by_priorities(priorities: &[Priority], a: &GameServerStatus, b: &GameServerStatus) -> Ordering {
    for priority in priorities {
        let order = match (free(priority, a), free(priority, b)) {
            (Some(a), Some(b)) => match priority.order.as_str() {
                "Descending" => b.cmp(&a),
                // An order that was left out is the default one between two servers that have the key.
                _ => a.cmp(&b),
            },
            (None, None) => Ordering::Equal,
            _ if priority.order.is_empty() => Ordering::Equal,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn free(priority: &Priority, status: &GameServerStatus) -> Option<i64> {
    match priority.kind.as_str() {
        "Counter" => {
            status.counters.get(&priority.key).map(|counter| counter.capacity.saturating_sub(counter.count))
        }
        "List" => status.lists.get(&priority.key).map(|list| list.capacity.saturating_sub(list.count())),
        _ => None,
    }
}

/// Which of two servers is deleted first. Servers on unknown nodes go before all others.
///
/// It is not transitive: between a ready server and one with players of the same node the name decides, between a ready one and
/// one that starts it does not. So it is for [`sort_for_deletion`] only, which does not mind.
fn deletion_order(
    is_distributed: bool,
    priorities: &[Priority],
    counts: &NodeCounts,
    a: &GameServer,
    b: &GameServer,
) -> Ordering {
    let order = if is_distributed {
        by_priorities(priorities, &a.status, &b.status)
            .then_with(|| a.metadata.creation_timestamp.cmp(&b.metadata.creation_timestamp))
    } else {
        packed_deletion_order(priorities, counts, a, b)
    };
    order.then_with(|| a.metadata.name.as_str().cmp(b.metadata.name.as_str()))
}

fn packed_deletion_order(
    priorities: &[Priority],
    counts: &NodeCounts,
    a: &GameServer,
    b: &GameServer,
) -> Ordering {
    let count = |server: &GameServer| counts.get(&server.status.node_name);
    let (of_a, of_b) = match (count(a), count(b)) {
        (None, None) => return by_priorities(priorities, &a.status, &b.status),
        (None, Some(_)) => return Ordering::Less,
        (Some(_), None) => return Ordering::Greater,
        (Some(a), Some(b)) => (a, b),
    };
    if a.status.node_name == b.status.node_name {
        let is_ready = |server: &GameServer| server.status.state == GameServerState::Ready;
        return match (a.is_before_ready(), b.is_before_ready()) {
            (true, false) if is_ready(b) => Ordering::Less,
            (false, true) if is_ready(a) => Ordering::Greater,
            _ => by_priorities(priorities, &a.status, &b.status),
        };
    }
    let total = |count: &NodeCount| count.ready.saturating_add(count.allocated);
    total(of_a).cmp(&total(of_b)).then_with(|| a.status.node_name.cmp(&b.status.node_name))
}

/// Sorts servers so that the first is to be deleted first. The order that they are in before does not matter.
pub fn sort_for_deletion<S: std::ops::Deref<Target = GameServer> + Clone>(
    servers: &mut [S],
    scheduling: &str,
    priorities: &[Priority],
    counts: &NodeCounts,
) {
    // What is not Packed is Distributed, as in the original.
    let is_distributed = scheduling != "Packed";
    servers.sort_by(|a, b| a.metadata.name.as_str().cmp(b.metadata.name.as_str()));
    merge_sort(servers, &|a, b| deletion_order(is_distributed, priorities, counts, a, b));
}

/// A stable sort by any comparison at all: that of the standard library may panic if the comparison is no total order (trap 6).
pub(crate) fn merge_sort<T: Clone>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    if items.len() < 2 {
        return;
    }
    let (left, right) = items.split_at_mut(items.len() / 2);
    merge_sort(left, compare);
    merge_sort(right, compare);
    // They are overwritten while they are merged.
    let (left, right): (Vec<T>, Vec<T>) = (left.to_vec(), right.to_vec());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    for place in items {
        let from_right = match (left.peek(), right.peek()) {
            (Some(left), Some(right)) => compare(right, left).is_lt(),
            (None, _) => true,
            (_, None) => false,
        };
        if let Some(next) = if from_right { right.next() } else { left.next() } {
            *place = next;
        }
    }
}
