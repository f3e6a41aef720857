use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat::prelude::*;

use super::order::{NodeCount, NodeCounts};
use crate::types::{GameServer, GameServerState, Node};

/// How many servers of each node are ready and allocated, kept up to date by what informers tell (reference 2.6).
///
/// Each server counts once, where and as what it was seen last: so nothing is counted twice, and nothing ever goes below 0
/// (issue 4363).
///
/// # Example
///
/// ```
/// use lariat_controllers::gameservers::PerNodeCounter;
/// use lariat_controllers::types::{GameServer, GameServerState};
///
/// let counter = PerNodeCounter::default();
/// let mut server = GameServer::default();
/// server.metadata.uid = "u".into();
/// server.status.node_name = "node-1".into();
/// server.status.state = GameServerState::Ready;
/// counter.observe(&server);
/// counter.observe(&server);
/// assert_eq!(counter.counts()["node-1"].ready, 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PerNodeCounter(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    counts: NodeCounts,
    /// Where each server counts, and as what.
    servers: BTreeMap<String, (String, bool)>,
}

impl PerNodeCounter {
    /// Counts to begin with, which are of servers that will not be told of.
    pub fn of(counts: NodeCounts) -> Self {
        Self(Arc::new(Mutex::new(Counted { counts, servers: BTreeMap::new() })))
    }

    /// The counts of all nodes that have servers.
    pub fn counts(&self) -> NodeCounts {
        self.counted().counts.clone()
    }

    /// Counts a server as it is.
    pub fn observe(&self, server: &GameServer) {
        let is_allocated = match server.status.state {
            GameServerState::Ready => false,
            GameServerState::Allocated => true,
            _ => return self.forget(server.uid()),
        };
        let node = &server.status.node_name;
        let mut counted = self.counted();
        if counted
            .servers
            .get(server.uid())
            .is_some_and(|(at, allocated)| at == node && *allocated == is_allocated)
        {
            return;
        }
        counted.remove(server.uid());
        let count = counted.counts.entry(node.clone()).or_default();
        *count.of(is_allocated) += 1;
        counted.servers.insert(server.uid().to_owned(), (node.clone(), is_allocated));
    }

    /// Counts a server no more.
    pub fn forget(&self, uid: &str) {
        self.counted().remove(uid);
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn remove(&mut self, uid: &str) {
        let Some((node, is_allocated)) = self.servers.remove(uid) else { return };
        if let Some(count) = self.counts.get_mut(&node) {
            let number = count.of(is_allocated);
            *number = number.saturating_sub(1).max(0);
        }
    }
}

impl NodeCount {
    fn of(&mut self, is_allocated: bool) -> &mut i64 {
        if is_allocated { &mut self.allocated } else { &mut self.ready }
    }
}

impl EventHandler<GameServer> for PerNodeCounter {
    fn on_add(&self, server: &Arc<GameServer>, _is_in_initial_list: bool) {
        self.observe(server);
    }

    fn on_update(&self, _old: &Arc<GameServer>, new: &Arc<GameServer>) {
        self.observe(new);
    }

    fn on_delete(&self, deleted: &Deleted<GameServer>) {
        self.forget(deleted.object().uid());
    }
}

/// A node that is gone is unknown.
impl EventHandler<Node> for PerNodeCounter {
    fn on_add(&self, _node: &Arc<Node>, _is_in_initial_list: bool) {}

    fn on_update(&self, _old: &Arc<Node>, _new: &Arc<Node>) {}

    fn on_delete(&self, deleted: &Deleted<Node>) {
        let mut counted = self.counted();
        let name = deleted.object().name();
        counted.counts.remove(name);
        counted.servers.retain(|_, (node, _)| node != name);
    }
}
