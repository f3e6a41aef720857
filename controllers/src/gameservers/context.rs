use std::sync::Arc;

use lariat::api::{Clock, DynamicObject, ObjectMeta, Resource};
use lariat::client::Error;
use lariat::prelude::*;

use super::address::NoAddress;
use super::cache::Writes;
use super::pod::PodError;
use super::ports::PortAllocator;
use super::settings::PodSettings;
use crate::events::Recorder;
use crate::gates::FeatureGates;
use crate::keys::Failure;
use crate::types::{GameServer, GameServerState, Node, Pod};

/// What the loops of game servers share.
#[derive(Clone)]
pub struct Context {
    /// Which features are on.
    pub gates: FeatureGates,
    /// How pods are made.
    pub settings: Arc<PodSettings>,
    /// The servers, and the way to write them.
    pub servers: Arc<Writes<GameServer>>,
    /// The pods of game servers.
    pub pods: Lister<Pod>,
    /// The nodes.
    pub nodes: Lister<Node>,
    /// The way to make and delete pods.
    pub pod_api: Api<DynamicObject>,
    /// The host ports.
    pub ports: Arc<PortAllocator>,
    /// Tells users.
    pub events: Recorder,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// How a look at a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing to do until something changes.
    Done,
    /// Something that it needs is not there yet. The loop is told when it comes.
    Waiting(&'static str),
}

/// Why a look at a server failed. It is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// A request failed.
    #[error("{0}")]
    Request(#[from] Error),
    /// The server can have no pod.
    #[error("{0}")]
    Pod(#[from] PodError),
    /// The node has no address.
    #[error("{0}")]
    Address(#[from] NoAddress),
    /// A pod is not an object as the API has them.
    #[error("the pod cannot be written: {0}")]
    Encode(#[from] serde_json::Error),
}

impl SyncError {
    /// Whether somebody else wrote in the meantime: no fault, and not worth a line in the log.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }
}

impl Failure for SyncError {
    fn is_conflict(&self) -> bool {
        self.is_conflict()
    }
}

impl Context {
    /// The pod of a server: one of its name that it controls.
    pub(super) fn pod_of(&self, server: &GameServer) -> Option<Arc<Pod>> {
        let key = server.key().ok()?;
        self.pods.get(&key).ok().filter(|pod| pod.belongs_to(server))
    }

    pub(super) fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.nodes.get(&ObjectKey::new("", name)).ok()
    }

    /// Writes a server in another state, and tells of it.
    pub(super) async fn move_to(
        &self,
        server: &GameServer,
        state: GameServerState,
        message: &str,
    ) -> Result<Outcome, SyncError> {
        let mut moved = server.clone();
        moved.status.state = state;
        let written = self.servers.update(&moved).await?;
        let state = written.status.state.as_str();
        match &written.status.state {
            GameServerState::Unhealthy => self.events.warning(&*written, state, message),
            _ => self.events.normal(&*written, state, message),
        }
        Ok(Outcome::Done)
    }
}

/// The key of a pod's or server's object, if it has a name.
pub(super) fn key_of<K: Resource<Meta = ObjectMeta>>(object: &K) -> Option<ObjectKey> {
    object.key().ok()
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("gates", &self.gates).finish_non_exhaustive()
    }
}
