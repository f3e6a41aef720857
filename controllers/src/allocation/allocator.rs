use std::sync::Arc;
use std::time::Duration;

use lariat::api::{Clock, Randomness};
use lariat::client::Error;
use tokio::sync::{mpsc, oneshot};

use super::batch::{Asked, Batches, Outcome, Pool};
use super::{convert, defaults};
use crate::events::Recorder;
use crate::gameservers::{PerNodeCounter, Writes};
use crate::gates::FeatureGates;
use crate::types::{AllocationStatus, GameServer, GameServerAllocation, MetaPatch};
use crate::validation::{FieldError, FieldErrorKind, allocation};

/// Gives servers to players, from a cache. A clone gives the same servers.
///
/// Those who ask at about the same time are answered together: servers are listed and sorted once for them, and who may share a
/// server shares one write (AL-6). No server is given to two who want one that is Ready. Who finds that its choice was changed
/// meanwhile is given another one, some times, and is then told that there is contention (AL-7).
#[derive(Clone)]
pub struct Allocator {
    asked: mpsc::Sender<Asked>,
    gates: FeatureGates,
    randomness: Randomness,
}

/// How an [`Allocator`] works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocatorSettings {
    /// Which features are on.
    pub gates: FeatureGates,
    /// How long after those who were answered together the next ones are, so that there are more of them; 500 ms by default. Who
    /// comes after a longer pause does not wait.
    pub batch_wait: Duration,
}

/// Why nothing could be given.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// The allocation makes no sense.
    #[error("the allocation is invalid: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Invalid(Vec<FieldError>),
    /// A request failed, whatever server was tried.
    #[error("{0}")]
    Request(Arc<Error>),
    /// Nobody gives servers any more.
    #[error("the allocator has stopped: ask another one")]
    Stopped,
}

/// How often it is tried, and after which pause.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// How many may wait to be answered together with others. Those beyond wait to be let in.
const WAITING: usize = 100;

impl Allocator {
    /// Gives servers of a cache, as long as the future runs that is returned, too; see [`Batches::run`]. Those who write servers
    /// elsewhere in this program share `servers`.
    pub fn new(
        servers: Arc<Writes<GameServer>>,
        counts: PerNodeCounter,
        settings: AllocatorSettings,
        events: &Recorder,
        randomness: Randomness,
        clock: Arc<dyn Clock>,
    ) -> (Self, Batches) {
        let (asked, waiting) = mpsc::channel(WAITING);
        let events = events.of("gameserver-allocator");
        let AllocatorSettings { gates, batch_wait } = settings;
        let pool = Pool::new(servers, counts, gates, events, randomness.clone(), clock);
        (Self { asked, gates, randomness }, Batches::new(waiting, pool, batch_wait))
    }

    /// Answers an allocation: with a server, or with why there is none.
    ///
    /// # Errors
    ///
    /// If the allocation is invalid, or the API server refuses for another reason than that somebody else was quicker.
    ///
    /// # Cancel safety
    ///
    /// Nothing is given to who drops the future before it is its turn. After that a server may be lost that was given: nobody is
    /// told, and it counts as having players.
    pub async fn allocate(
        &self,
        mut request: GameServerAllocation,
    ) -> Result<GameServerAllocation, AllocateError> {
        request = self.check(request)?;
        convert(&mut request.spec);
        let mut outcome = Outcome::Nothing;
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(self.randomness.jitter(PAUSE, 0.1)).await;
            }
            outcome = self.ask(&request).await?;
            if matches!(outcome, Outcome::Given(_) | Outcome::Nothing) {
                break;
            }
        }
        match outcome {
            Outcome::Given(server) => answer(&mut request, &server),
            Outcome::Nothing => "UnAllocated".clone_into(&mut request.status.state),
            Outcome::Contention => "Contention".clone_into(&mut request.status.state),
            Outcome::Failed(error) => return Err(AllocateError::Request(error)),
        }
        Ok(request)
    }

    /// The allocation with its defaults, without giving anything.
    ///
    /// # Errors
    ///
    /// If the allocation is invalid.
    pub fn check(&self, mut request: GameServerAllocation) -> Result<GameServerAllocation, AllocateError> {
        defaults(&mut request.spec, self.gates);
        let mut errors = allocation(&request, self.gates);
        errors.extend(elsewhere(&request));
        if errors.is_empty() { Ok(request) } else { Err(AllocateError::Invalid(errors)) }
    }

    async fn ask(&self, request: &GameServerAllocation) -> Result<Outcome, AllocateError> {
        let (reply, answered) = oneshot::channel();
        let spec = request.spec.clone();
        let asked = Asked { spec, namespace: request.metadata.namespace.to_string(), reply };
        self.asked.send(asked).await.map_err(|_| AllocateError::Stopped)?;
        answered.await.map_err(|_| AllocateError::Stopped)
    }
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocator").field("gates", &self.gates).finish_non_exhaustive()
    }
}

impl Default for AllocatorSettings {
    fn default() -> Self {
        Self { gates: FeatureGates::default(), batch_wait: Duration::from_millis(500) }
    }
}

/// Who asks for servers of other clusters is told that there are none, instead of being given one of this.
fn elsewhere(request: &GameServerAllocation) -> Option<FieldError> {
    let is_wanted = request.spec.multi_cluster_setting.get("enabled") == Some(&true.into());
    is_wanted.then(|| FieldError {
        field: "spec.multiClusterSetting.enabled".to_owned(),
        kind: FieldErrorKind::Forbidden,
        detail: "servers are given in this cluster only".to_owned(),
    })
}

/// AL-10.
fn answer(request: &mut GameServerAllocation, server: &GameServer) {
    request.metadata.name = server.metadata.name.clone();
    let annotations = server.metadata.annotations.iter();
    request.status = AllocationStatus {
        state: "Allocated".to_owned(),
        game_server_name: server.metadata.name.to_string(),
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
