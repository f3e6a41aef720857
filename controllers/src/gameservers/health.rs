//! Servers whose pods are not well (reference 2.6).

use lariat::prelude::*;

use super::context::{Context, Outcome, SyncError};
use super::predicates::is_unhealthy;
use crate::gates::Gate;
use crate::types::{GameServer, GameServerState, Pod, names};

/// What is told of a server that cannot go on.
const MESSAGE: &str = "Issue with Gameserver pod";

impl Context {
    /// Moves a server to Unhealthy if its pod has failed or is gone.
    ///
    /// The pod is looked at again here: what was wrong when the key was queued may be right by now.
    ///
    /// # Errors
    ///
    /// If the write fails.
    pub async fn sync_health(&self, key: &ObjectKey) -> Result<Outcome, SyncError> {
        let Some(server) = self.servers.get(key) else { return Ok(Outcome::Done) };
        let is_over = matches!(server.status.state, GameServerState::Unhealthy | GameServerState::Error);
        if server.is_being_deleted() || is_over {
            return Ok(Outcome::Done);
        }
        if let Ok(pod) = self.pods.get(key) {
            if !self.gates.has(Gate::SidecarContainers) && pod.belongs_to(&server) {
                let id = |annotation: Option<&str>| annotation.unwrap_or_default().to_owned();
                let ready = id(server.metadata.annotation(names::READY_CONTAINER_ID));
                if id(pod.metadata.annotation(names::READY_CONTAINER_ID)) != ready {
                    return Ok(Outcome::Waiting("pod and server do not name the same container yet"));
                }
                if may_restart(&server, &pod, &ready) {
                    return Ok(Outcome::Done);
                }
            }
            if !is_unhealthy(&pod, self.gates) {
                return Ok(Outcome::Done);
            }
        }
        self.move_to(&server, GameServerState::Unhealthy, MESSAGE).await
    }
}

/// Without sidecar containers a game may end and start again until it is ready, and what ended before that does not count.
fn may_restart(server: &GameServer, pod: &Pod, ready: &str) -> bool {
    if server.is_before_ready() {
        return true;
    }
    let game = pod.status.container_statuses.iter().find(|status| status.name == server.spec.container);
    game.is_some_and(|status| status.state.running.is_some() && status.container_id == ready)
}
