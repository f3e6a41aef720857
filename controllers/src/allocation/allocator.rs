use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat::api::{Clock, Randomness};
use lariat::client::Error;
use lariat::prelude::*;

use super::{apply, convert, defaults, find, sort};
use crate::events::Recorder;
use crate::gameservers::{PerNodeCounter, Writes};
use crate::gates::FeatureGates;
use crate::time::rfc3339;
use crate::types::{AllocationStatus, GameServer, GameServerAllocation, GameServerState, MetaPatch};
use crate::validation::{FieldError, allocation};

/// Gives servers to players, from a cache.
///
/// A server that is being given is not given to anybody else; who finds that its choice was changed meanwhile tries another one,
/// some times, and then says that there is contention (AL-7).
pub struct Allocator {
    servers: Arc<Writes<GameServer>>,
    counts: PerNodeCounter,
    gates: FeatureGates,
    events: Recorder,
    randomness: Randomness,
    clock: Arc<dyn Clock>,
    /// The servers that are being given, by uid.
    busy: Mutex<BTreeSet<String>>,
}

/// Why nothing could be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// The allocation makes no sense.
    #[error("the allocation is invalid: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Invalid(Vec<FieldError>),
    /// A request failed.
    #[error("{0}")]
    Request(#[from] Error),
}

/// How often another server is tried, and after which pause.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

impl Allocator {
    /// Gives servers of a cache. Those who write servers elsewhere in this program share `servers`.
    pub fn new(
        servers: Arc<Writes<GameServer>>,
        counts: PerNodeCounter,
        gates: FeatureGates,
        events: &Recorder,
        randomness: Randomness,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let events = events.of("gameserver-allocator");
        Self { servers, counts, gates, events, randomness, clock, busy: Mutex::default() }
    }

    /// Answers an allocation: with a server, or with why there is none.
    ///
    /// # Errors
    ///
    /// If the allocation is invalid, or the API server refuses for another reason than that somebody else was quicker.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a server that was given: nobody is told, and it counts as having players.
    pub async fn allocate(
        &self,
        mut request: GameServerAllocation,
    ) -> Result<GameServerAllocation, AllocateError> {
        defaults(&mut request.spec, self.gates);
        let errors = allocation(&request, self.gates);
        if !errors.is_empty() {
            return Err(AllocateError::Invalid(errors));
        }
        convert(&mut request.spec);
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(self.randomness.jitter(PAUSE, 0.1)).await;
            }
            let Some(chosen) = self.choose(&request) else {
                "UnAllocated".clone_into(&mut request.status.state);
                return Ok(request);
            };
            let _chosen = Chosen { busy: &self.busy, uid: chosen.uid().to_owned() };
            let now = rfc3339(self.clock.wall());
            let (given, failed) = apply(&chosen, &request.spec, &now, self.gates);
            match self.servers.update(&given).await {
                Ok(written) => {
                    for (_, error) in &failed.counters {
                        self.events.warning(&*written, "CounterActionError", error.to_string());
                    }
                    for (_, error) in &failed.lists {
                        self.events.warning(&*written, "ListActionError", error.to_string());
                    }
                    self.events.normal(&*written, "Allocated", "Allocated");
                    answer(&mut request, &written);
                    return Ok(request);
                }
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        "Contention".clone_into(&mut request.status.state);
        Ok(request)
    }

    /// The best server that nobody is being given.
    fn choose(&self, request: &GameServerAllocation) -> Option<Arc<GameServer>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |server: &Arc<GameServer>| {
            let state = &server.status.state;
            matches!(state, GameServerState::Ready | GameServerState::Allocated)
                && !server.is_being_deleted()
                && !busy.contains(server.uid())
        };
        let mut servers: Vec<_> = self.servers.list().into_iter().filter(is_free).collect();
        sort(&mut servers, &request.spec, &self.counts.counts(), self.gates);
        let chosen =
            find(&servers, &request.spec, &request.metadata.namespace, self.gates, &self.randomness)?.clone();
        busy.insert(chosen.uid().to_owned());
        Some(chosen)
    }
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocator").finish_non_exhaustive()
    }
}

/// A server that is being given, until it was.
struct Chosen<'a> {
    busy: &'a Mutex<BTreeSet<String>>,
    uid: String,
}

impl Drop for Chosen<'_> {
    fn drop(&mut self) {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.uid);
    }
}

/// AL-10.
fn answer(request: &mut GameServerAllocation, server: &GameServer) {
    request.metadata.name = server.metadata.name.clone();
    let annotations = server.metadata.annotations.iter();
    request.status = AllocationStatus {
        state: "Allocated".to_owned(),
        game_server_name: server.name().to_owned(),
        ports: server.status.ports.clone(),
        address: server.status.address.clone(),
        addresses: server.status.addresses.clone(),
        node_name: server.status.node_name.clone(),
        source: "local".to_owned(),
        metadata: Some(MetaPatch {
            labels: (*server.metadata.labels).clone(),
            annotations: annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        }),
        counters: server.status.counters.clone(),
        lists: server.status.lists.clone(),
    };
}
