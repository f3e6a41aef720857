//! What befalls pods and players: pods fail, are evicted and vanish by chance, and sessions come to their end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat::client::DeleteParams;
use lariat::prelude::*;
use tokio::time::Instant;

use super::nodes::{NodesError, Seen, TICK};
use crate::types::{GameServer, GameServerState, Pod};

/// What can befall a pod.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Fails,
    IsEvicted,
    Vanishes,
}

/// Since when players are on servers, by their uids.
#[derive(Debug)]
pub(super) struct Sessions {
    length: Option<Duration>,
    began: Mutex<BTreeMap<String, Instant>>,
}

impl Seen {
    /// Now and then something befalls a pod.
    pub(super) async fn misfortune(&self) {
        let settings = &self.settings;
        let rates = [
            (Fate::Fails, settings.failures_per_million),
            (Fate::IsEvicted, settings.evictions_per_million),
            (Fate::Vanishes, settings.vanishing_per_million),
        ];
        if rates.iter().all(|(_, rate)| *rate == 0) {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(TICK).await;
            for pod in self.pods.store().list_where(|pod| pod.status.phase == "Running") {
                let mut chance = self.randomness.below(1_000_000);
                for (fate, rate) in rates {
                    if chance < rate {
                        if let Err(error) = self.befall(&pod, fate).await {
                            tracing::debug!(%error, pod = pod.name(), ?fate, "nothing befell a pod");
                        }
                        break;
                    }
                    chance -= rate;
                }
            }
        }
    }

    async fn befall(&self, pod: &Pod, fate: Fate) -> Result<(), NodesError> {
        let reason = match fate {
            Fate::Fails => "",
            Fate::IsEvicted => "Evicted",
            Fate::Vanishes => return self.vanish(pod).await,
        };
        let mut failed = pod.clone();
        "Failed".clone_into(&mut failed.status.phase);
        reason.clone_into(&mut failed.status.reason);
        self.write_status(&failed).await
    }

    async fn vanish(&self, pod: &Pod) -> Result<(), NodesError> {
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            uid: pod.uid().to_owned(),
            ..DeleteParams::default()
        };
        let Ok(key) = pod.key() else { return Ok(()) };
        match self.pod_api.delete(&key, &params).await {
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
            other => other.map(drop).map_err(NodesError::Request),
        }
    }

    /// What the SDK does when a game says that its players have left.
    pub(super) async fn leave(&self, server: &GameServer) -> Result<(), NodesError> {
        let mut over = server.clone();
        over.status.state = GameServerState::Shutdown;
        self.write_server(&over).await
    }
}

impl Sessions {
    pub(super) fn of(length: Option<Duration>) -> Self {
        Self { length, began: Mutex::default() }
    }

    /// Takes note of a server. Says how long its players will go on playing, if it has any.
    pub(super) fn note(&self, server: &GameServer) -> Option<Duration> {
        let length = self.length?;
        if server.status.state != GameServerState::Allocated || server.metadata.is_being_deleted() {
            self.end(server);
            return None;
        }
        let began = *self.began().entry(server.uid().to_owned()).or_insert_with(Instant::now);
        Some(length.saturating_sub(began.elapsed()))
    }

    /// There are no players on a server any more.
    pub(super) fn end(&self, server: &GameServer) {
        if self.length.is_some() {
            self.began().remove(server.uid());
        }
    }

    fn began(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.began.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
