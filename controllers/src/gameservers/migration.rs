//! Servers whose pods were moved to another node, or whose nodes got another address (reference 2.6).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lariat::prelude::*;
use tokio::time::Instant;

use super::address::{apply_address, has_address};
use super::context::{Context, SyncError};
use crate::types::{GameServer, GameServerState};

/// For how long a node must go without a server's address before the server is taken for moved. Nodes lose some of their
/// addresses for a moment when a cloud's controller writes them anew (issue 4699, 3115).
pub const GRACE: Duration = Duration::from_secs(60);

/// Servers whose address is not among those of their node, and since when.
#[derive(Debug, Default)]
pub struct Doubts(Mutex<BTreeMap<String, Instant>>);

/// How a look at a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrated {
    /// There is nothing to do until something changes.
    Done,
    /// It is to be looked at again after this time.
    Doubtful(Duration),
}

impl Context {
    /// Moves a server to Unhealthy if players cannot find it any more where they were sent to; before it is ready, gives it its
    /// new address.
    ///
    /// # Errors
    ///
    /// If the write fails, or the new node has no address.
    pub async fn sync_migration(&self, key: &ObjectKey, doubts: &Doubts) -> Result<Migrated, SyncError> {
        let Some(server) = self.servers.get(key) else { return Ok(Migrated::Done) };
        if server.is_being_deleted()
            || server.status.node_name.is_empty()
            || server.status.state == GameServerState::Unhealthy
        {
            doubts.settle(server.uid());
            return Ok(Migrated::Done);
        }
        let Some(pod) = self.pod_of(&server).filter(|pod| pod.is_game_server_pod()) else {
            return Ok(Migrated::Done);
        };
        if pod.spec.node_name.is_empty() {
            return Ok(Migrated::Done);
        }
        let Some(node) = self.node(&pod.spec.node_name).filter(|node| !node.is_being_deleted()) else {
            return Ok(Migrated::Done);
        };
        let is_same_node = pod.spec.node_name == server.status.node_name;
        if is_same_node && has_address(&node, &server.status.address) {
            doubts.settle(server.uid());
            return Ok(Migrated::Done);
        }
        if server.is_before_ready() {
            let mut moved = GameServer::clone(&server);
            apply_address(&mut moved, &node, &pod, self.gates)?;
            let written = self.servers.update(&moved).await?;
            let state = written.status.state.as_str();
            self.events.warning(&*written, state, "Address updated due to Node migration");
            return Ok(Migrated::Done);
        }
        if is_same_node && let Some(left) = doubts.left(server.uid()) {
            return Ok(Migrated::Doubtful(left));
        }
        doubts.settle(server.uid());
        self.move_to(&server, GameServerState::Unhealthy, "Node migration occurred").await?;
        Ok(Migrated::Done)
    }
}

impl Doubts {
    /// How long a server has until doubt becomes certainty; `None` if it has.
    fn left(&self, uid: &str) -> Option<Duration> {
        let now = Instant::now();
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *since.entry(uid.to_owned()).or_insert(now);
        let left = GRACE.saturating_sub(now.duration_since(since));
        (!left.is_zero()).then_some(left)
    }

    /// Forgets a server.
    pub fn settle(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}
