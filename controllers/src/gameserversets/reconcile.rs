//! How many servers of a set are made and which are taken away (GSS-3).

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lariat::api::Metadata;

use crate::gameservers::order::{NodeCounts, sort_for_deletion};
use crate::types::{GameServer, GameServerState, Priority, names};

/// How much is done at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most servers that are made in one turn.
    pub max_creations: usize,
    /// The most servers that are taken away in one turn.
    pub max_deletions: usize,
    /// The most servers whose pods do not run yet.
    pub max_pending: usize,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// How many servers are made.
    pub add: usize,
    /// The servers that are taken away, in this order.
    pub delete: Vec<Arc<GameServer>>,
    /// Whether more is to be done after this.
    pub partial: bool,
}

/// For how long a server in Error stays, so that one which can never run is not made again and again (issue 3384).
const ERROR_HOLD: SignedDuration = SignedDuration::from_secs(30);

impl Default for Limits {
    fn default() -> Self {
        Self { max_creations: 64, max_deletions: 64, max_pending: 5_000 }
    }
}

/// What is to be done so that a set has `target` servers. Servers with players stay, however many there are.
pub fn reconcile(
    scheduling: &str,
    servers: &[Arc<GameServer>],
    counts: &NodeCounts,
    target: usize,
    limits: Limits,
    priorities: &[Priority],
    now: Timestamp,
) -> Action {
    let (mut up, mut pending, mut surplus) = (0, 0, 0_usize);
    let (mut candidates, mut broken) = (Vec::new(), Vec::new());
    for server in servers {
        if !server.is_deletable() {
            up += 1;
        }
    }
    for server in servers {
        if server.is_being_deleted() || !server.is_deletable() {
            continue;
        }
        match server.status.state {
            GameServerState::Unhealthy => broken.push(server.clone()),
            GameServerState::Error if !is_held(server, now) => broken.push(server.clone()),
            ref state => {
                let is_pending = matches!(
                    state,
                    GameServerState::PortAllocation
                        | GameServerState::Creating
                        | GameServerState::Starting
                        | GameServerState::Scheduled
                        | GameServerState::Error
                );
                pending += usize::from(is_pending);
                if up >= target {
                    surplus += 1;
                } else {
                    up += 1;
                }
                candidates.push(server.clone());
            }
        }
    }

    let mut partial = false;
    let mut add = target.saturating_sub(up);
    if add > limits.max_creations {
        add = limits.max_creations;
        partial = true;
    }
    let room = limits.max_pending.saturating_sub(pending);
    if add > room {
        add = room;
        partial = true;
    }
    // One that goes because it is broken is one less that is too many.
    let surplus = surplus.saturating_sub(broken.len());
    let mut delete = broken;
    if surplus > 0 {
        sort_for_deletion(&mut candidates, scheduling, priorities, counts);
        delete.extend(candidates.into_iter().take(surplus));
    }
    if delete.len() > limits.max_deletions {
        delete.truncate(limits.max_deletions);
        partial = true;
    }
    Action { add, delete, partial }
}

/// After which time the first of the servers in Error is held no more, if there are such.
pub fn hold_ends(servers: &[Arc<GameServer>], now: Timestamp) -> Option<Duration> {
    let held = servers.iter().filter(|server| {
        server.status.state == GameServerState::Error && !server.is_being_deleted() && is_held(server, now)
    });
    let ends = held.filter_map(|server| {
        let left = ERROR_HOLD.saturating_sub(now.duration_since(errored_at(server)?));
        left.min(ERROR_HOLD).try_into().ok()
    });
    ends.min()
}

/// Whether a server in Error has been so for less than 30 s. One that does not say since when is not held.
fn is_held(server: &GameServer, now: Timestamp) -> bool {
    errored_at(server).is_some_and(|since| now.duration_since(since) < ERROR_HOLD)
}

fn errored_at(server: &GameServer) -> Option<Timestamp> {
    server.metadata.annotation(names::ERRORED_AT)?.parse().ok()
}
