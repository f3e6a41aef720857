//! Servers without a pod, and servers whose pod has ended well (reference 2.6).

use lariat::prelude::*;

use super::context::{Context, Outcome, SyncError};
use super::predicates::has_succeeded;
use crate::types::{GameServer, GameServerState};

impl Context {
    /// Moves a server to Unhealthy if it should have a pod and has none.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub async fn sync_missing_pod(&self, key: &ObjectKey) -> Result<Outcome, SyncError> {
        let Some(server) = self.servers.get(key) else { return Ok(Outcome::Done) };
        let is_over = matches!(server.status.state, GameServerState::Unhealthy | GameServerState::Error);
        if server.is_being_deleted() || is_over {
            return Ok(Outcome::Done);
        }
        if self.pods.get(key).is_ok_and(|pod| pod.is_game_server_pod()) {
            return Ok(Outcome::Done);
        }
        self.move_to(&server, GameServerState::Unhealthy, "Pod is missing").await
    }

    /// Moves a server to Shutdown whose game has ended.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub async fn sync_succeeded(&self, key: &ObjectKey) -> Result<Outcome, SyncError> {
        let Some(server) = self.servers.get(key) else { return Ok(Outcome::Done) };
        if server.is_being_deleted() || server.status.state.is_terminal() {
            return Ok(Outcome::Done);
        }
        let pod = self.pod_of(&server).filter(|pod| !pod.metadata.is_being_deleted());
        let Some(pod) = pod.filter(|pod| has_succeeded(pod, self.gates)) else { return Ok(Outcome::Done) };
        let message = match pod.status.phase.as_str() {
            "Succeeded" => "Pod is in Succeeded state",
            _ => "Game container has ended",
        };
        self.move_to(&server, GameServerState::Shutdown, message).await
    }
}

/// Whether a server is looked at for a missing pod at all: not before its pod is made, and not if it has none.
pub(super) fn should_have_pod(server: &GameServer) -> bool {
    let is_before_pod = matches!(
        server.status.state,
        GameServerState::None
            | GameServerState::PortAllocation
            | GameServerState::Creating
            | GameServerState::Starting
    );
    let is_over = matches!(server.status.state, GameServerState::Unhealthy | GameServerState::Error);
    !server.is_dev() && !is_before_pod && !is_over && !server.is_being_deleted()
}
