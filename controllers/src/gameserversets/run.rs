use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat::api::{Clock, Metadata, SystemClock};
use lariat::client::Error;
use lariat::prelude::*;
use lariat::reflector::{AddIndexersError, Stopped};
use lariat::workqueue::Metrics;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::expectations::Expectations;
use super::overflow::overflowing;
use super::reconcile::{Action, Limits, hold_ends, reconcile};
use super::{new_game_server, status};
use crate::events::Recorder;
use crate::gameservers::{PerNodeCounter, Writes};
use crate::gates::{FeatureGates, Gate};
use crate::keys::{Failure, LateMetrics, add, queue, work};
use crate::metrics::AgonesMetrics;
use crate::time::timestamp;
use crate::types::{GameServer, GameServerSet, GameServerState, Priority, Undecodable, names};

/// The loop of game server sets.
///
/// # Example
///
/// ```no_run
/// use std::sync::Arc;
/// use lariat::prelude::*;
/// use lariat_controllers::events::Recorder;
/// use lariat_controllers::gameservers::{PerNodeCounter, Writes};
/// use lariat_controllers::gameserversets::GameServerSets;
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let factory = InformerFactory::new(client.clone());
/// let (sets, servers) = (factory.informer(), factory.informer());
/// let set_writes = Arc::new(Writes::new(client.clone(), &sets));
/// let server_writes = Arc::new(Writes::new(client, &servers));
/// let events = Recorder::new("gameserverset-controller", |record| println!("{}", record.message));
/// let counts = PerNodeCounter::default();
/// let sets = GameServerSets::new(sets, servers, set_writes, server_writes, counts, &events)?;
/// factory.start();
/// sets.run(shutdown).await;
/// # Ok(())
/// # }
/// ```
pub struct GameServerSets {
    context: SetContext,
    sets: Informer<GameServerSet>,
    servers: Informer<GameServer>,
    queue: Queue<ObjectKey>,
    metrics: Arc<LateMetrics>,
    workers: usize,
}

/// What a look at a set needs.
#[derive(Clone)]
pub struct SetContext {
    /// Which features are on.
    pub gates: FeatureGates,
    /// How much is done at once.
    pub limits: Limits,
    /// How many servers are created at once, and how many are told to shut down.
    pub parallel: (usize, usize),
    /// The sets, and the way to write them.
    pub sets: Arc<Writes<GameServerSet>>,
    /// The servers, and the way to write them. Their informer has the index of [`index_by_set`].
    pub servers: Arc<Writes<GameServer>>,
    /// The servers on each node.
    pub counts: PerNodeCounter,
    /// Tells users.
    pub events: Recorder,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    expected: Arc<Mutex<BTreeMap<String, Arc<Expectations>>>>,
    metrics: Option<Arc<AgonesMetrics>>,
}

/// Why a look at a set failed. It is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// A request failed.
    #[error("{0}")]
    Request(#[from] Error),
    /// The set's template is not one.
    #[error("spec.template {0}")]
    Template(#[from] Undecodable),
}

impl Failure for SetError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }
}

/// Why the loop of sets cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetsError {
    /// An informer has stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// The index cannot be made.
    #[error("{0}")]
    Index(#[from] AddIndexersError),
}

/// Whether a look left something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// It did not.
    Whole,
    /// As much was done as is done at once, and more is left.
    Partly,
    /// It did, and what is held for a while is to be looked at again after this time.
    Held(Duration),
}

/// The index of servers by the set that they are labelled with.
const BY_SET: &str = "gameserverset";

/// How long changes of servers are gathered before their set is looked at: so its status is written some times a second, not
/// for each server.
const GATHER: Duration = Duration::from_millis(150);

const FAST: Duration = Duration::from_millis(200);
const SLOW: Duration = Duration::from_secs(3);

const DEFAULT_WORKERS: usize = 64;
const PARALLEL: (usize, usize) = (16, 64);

/// The index of servers that a [`SetContext`] needs, for an informer of servers.
pub fn index_by_set() -> Indexers<GameServer> {
    Indexers::new().with(BY_SET, |server: &GameServer, is_at| {
        if let Some(set) = server.metadata.labels.get(names::GAME_SERVER_SET) {
            is_at(&format!("{}/{set}", server.namespace()));
        }
    })
}

impl SetContext {
    /// What a look needs, with the limits of the original.
    pub fn new(
        sets: Arc<Writes<GameServerSet>>,
        servers: Arc<Writes<GameServer>>,
        counts: PerNodeCounter,
        events: &Recorder,
    ) -> Self {
        Self {
            gates: FeatureGates::default(),
            limits: Limits::default(),
            parallel: PARALLEL,
            sets,
            servers,
            counts,
            events: events.of("gameserverset-controller"),
            clock: Arc::new(SystemClock),
            expected: Arc::default(),
            metrics: None,
        }
    }

    /// Makes servers of a set and takes some away, writes its status, and marks those with players that are too many.
    ///
    /// # Errors
    ///
    /// If a request fails; what was done counts, and the rest is done at the next look.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the requests that are under way. What they did is seen by the caches.
    pub async fn sync(&self, key: &ObjectKey) -> Result<Looked, SetError> {
        let Some(set) = self.sets.get(key) else { return Ok(Looked::Whole) };
        let expected = self.expected(set.uid());
        // Before the list is taken.
        expected.reached(&self.servers.reached());
        let of_set = self.servers.by_index(BY_SET, key.as_str());
        let ours = |server: &Arc<GameServer>| {
            let mut owners = server.metadata.owner_references.iter();
            owners.any(|owner| owner.controller == Some(true) && owner.uid == set.uid())
        };
        let servers = expected.over(of_set.into_iter().filter(ours).collect());
        let counts = self.counts.counts();
        let priorities: &[Priority] =
            if self.gates.has(Gate::CountsAndLists) { &set.spec.priorities } else { &[] };
        let target = usize::try_from(set.spec.replicas).unwrap_or_default();
        let now = timestamp(self.clock.wall());
        let mut action =
            reconcile(&set.spec.scheduling, &servers, &counts, target, self.limits, priorities, now);
        if set.metadata.is_being_deleted() {
            // What goes away grows no more (issue 2524).
            action.add = 0;
        }
        let partial = action.partial;
        let done = self.carry_out(&set, action, &expected).await;
        let written = self.write_status(key, &set, &servers).await;
        done?;
        written?;
        for server in overflowing(&set, &servers, &counts) {
            self.servers.update(&server).await?;
        }
        let is_over = set.metadata.is_being_deleted();
        Ok(match hold_ends(&servers, now) {
            _ if partial && !is_over => Looked::Partly,
            Some(left) if !is_over => Looked::Held(left),
            _ => Looked::Whole,
        })
    }

    /// Forgets what was done to a set that is gone.
    pub fn forget(&self, uid: &str) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    fn expected(&self, uid: &str) -> Arc<Expectations> {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.entry(uid.to_owned()).or_default().clone()
    }

    async fn carry_out(
        &self,
        set: &Arc<GameServerSet>,
        action: Action,
        expected: &Arc<Expectations>,
    ) -> Result<(), SetError> {
        let removed = self.remove(set, action.delete, expected).await;
        if action.add > 0 {
            let began = Instant::now();
            let created = self.create(set, action.add, expected).await;
            if let Some(metrics) = &self.metrics {
                metrics.created(action.add, created.is_ok(), began.elapsed());
            }
            created?;
        }
        removed
    }

    /// Creates servers, some at once; the first failure ends it, since the others would fail too.
    async fn create(
        &self,
        set: &Arc<GameServerSet>,
        number: usize,
        expected: &Arc<Expectations>,
    ) -> Result<(), SetError> {
        let template = Arc::new(new_game_server(set)?);
        let permits = Arc::new(Semaphore::new(self.parallel.0.max(1)));
        let mut tasks = JoinSet::new();
        for _ in 0..number {
            let (permits, template) = (permits.clone(), template.clone());
            let (context, set, expected) = (self.clone(), set.clone(), expected.clone());
            tasks.spawn(async move {
                let Ok(_permit) = permits.acquire().await else { return Ok(()) };
                match context.servers.create(&template).await {
                    Ok(server) => {
                        let message = format!("Created gameserver: {}", server.name());
                        expected.created(server);
                        context.events.normal(&*set, "SuccessfulCreate", message);
                        Ok(())
                    }
                    Err(error) => {
                        permits.close();
                        Err(error)
                    }
                }
            });
        }
        first_failure(tasks).await
    }

    /// Tells servers to shut down, over the versions that were looked at: one that got players meanwhile stays.
    async fn remove(
        &self,
        set: &Arc<GameServerSet>,
        servers: Vec<Arc<GameServer>>,
        expected: &Arc<Expectations>,
    ) -> Result<(), SetError> {
        let permits = Arc::new(Semaphore::new(self.parallel.1.max(1)));
        let mut tasks = JoinSet::new();
        for server in servers {
            let permits = permits.clone();
            let (context, set, expected) = (self.clone(), set.clone(), expected.clone());
            tasks.spawn(async move {
                let Ok(_permit) = permits.acquire().await else { return Ok(()) };
                let mut going = GameServer::clone(&server);
                let was = going.status.state.clone();
                going.status.state = GameServerState::Shutdown;
                match context.servers.update(&going).await {
                    Ok(written) => {
                        let message = format!("Deleted gameserver in state {was}: {}", written.name());
                        expected.shut_down(written);
                        context.events.normal(&*set, "SuccessfulDelete", message);
                        Ok(())
                    }
                    Err(error) if error.is_not_found() => Ok(()),
                    Err(error) => Err(error),
                }
            });
        }
        first_failure(tasks).await
    }

    async fn write_status(
        &self,
        key: &ObjectKey,
        looked_at: &GameServerSet,
        servers: &[Arc<GameServer>],
    ) -> Result<(), SetError> {
        // Somebody else of this program may have written it while servers were made.
        let Some(set) = self.sets.get(key).filter(|set| set.uid() == looked_at.uid()) else { return Ok(()) };
        let status = status(&set, servers, self.gates)?;
        if status == set.status {
            return Ok(());
        }
        let written = GameServerSet { status, ..GameServerSet::clone(&set) };
        match self.sets.update_status(&written).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

async fn first_failure(mut tasks: JoinSet<Result<(), Error>>) -> Result<(), SetError> {
    let mut failure = None;
    while let Some(ended) = tasks.join_next().await {
        if let Ok(Err(error)) = ended {
            failure.get_or_insert(error);
        }
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

impl std::fmt::Debug for SetContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetContext").field("limits", &self.limits).finish_non_exhaustive()
    }
}

// === impl GameServerSets ===

impl GameServerSets {
    /// A loop on two informers, which are run by somebody else and have not started yet.
    ///
    /// # Errors
    ///
    /// If an informer has stopped, or has another index of the same name.
    pub fn new(
        sets: Informer<GameServerSet>,
        servers: Informer<GameServer>,
        set_writes: Arc<Writes<GameServerSet>>,
        server_writes: Arc<Writes<GameServer>>,
        counts: PerNodeCounter,
        events: &Recorder,
    ) -> Result<Self, SetsError> {
        servers.add_indexers(index_by_set())?;
        let metrics = Arc::default();
        let queue = queue("gameserverset", FAST, SLOW, &metrics);
        let context = SetContext::new(set_writes, server_writes, counts, events);
        sets.add_handler(OnSets { queue: queue.clone(), context: context.clone() })?;
        servers.add_handler(OnServers { queue: queue.clone() })?;
        Ok(Self { context, sets, servers, queue, metrics, workers: DEFAULT_WORKERS })
    }

    /// Has these features on; the default ones if nothing is given.
    #[must_use]
    pub fn gates(mut self, gates: FeatureGates) -> Self {
        self.context.gates = gates;
        self
    }

    /// Does so much at once; as [`Limits::default`] if nothing is given.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.context.limits = limits;
        self
    }

    /// Creates and shuts down so many servers of a set at once; 16 and 64 if nothing is given.
    #[must_use]
    pub fn parallel(mut self, creations: usize, deletions: usize) -> Self {
        self.context.parallel = (creations, deletions);
        self
    }

    /// Looks at this many sets at once; 64 if nothing is given.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Takes the time of day from `clock`; the system's if nothing is given.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.context.clock = clock;
        self
    }

    pub(crate) fn metrics(mut self, metrics: Option<Arc<AgonesMetrics>>) -> Self {
        self.context.metrics = metrics;
        self
    }

    /// Counts what happens in the queues with `metrics`; nobody does if nothing is given.
    #[must_use]
    pub fn queue_metrics(self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics.tell(metrics);
        self
    }

    /// The queues, for those who want to know how they are.
    pub fn queues(&self) -> Vec<Queue<ObjectKey>> {
        vec![self.queue.clone()]
    }

    /// Works until `shutdown` is ready, then returns when what was begun is finished.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { context, sets, servers, queue, workers, .. } = self;
        let mut shutdown = std::pin::pin!(shutdown);
        let synced = async {
            sets.wait_for_sync().await;
            servers.wait_for_sync().await;
        };
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = synced => {}
        }
        let again = queue.clone();
        let workers = work(&queue, workers, move |key: ObjectKey| {
            let (context, again) = (context.clone(), again.clone());
            async move {
                match context.sync(&key).await? {
                    Looked::Partly => again.add(key),
                    Looked::Held(left) => again.add_after(key, left),
                    Looked::Whole => {}
                }
                Ok::<_, SetError>(())
            }
        });
        shutdown.await;
        queue.shut_down();
        workers.await;
    }
}

impl std::fmt::Debug for GameServerSets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GameServerSets").field("workers", &self.workers).finish_non_exhaustive()
    }
}

struct OnSets {
    queue: Queue<ObjectKey>,
    context: SetContext,
}

impl EventHandler<GameServerSet> for OnSets {
    fn on_add(&self, set: &Arc<GameServerSet>, _is_in_initial_list: bool) {
        add(&self.queue, &**set);
    }

    fn on_update(&self, old: &Arc<GameServerSet>, new: &Arc<GameServerSet>) {
        // A resync brings what was not written because of an error. Which servers are too many goes by the status.
        let is_resync = old.resource_version() == new.resource_version();
        if is_resync
            || old.metadata.generation != new.metadata.generation
            || old.spec.replicas != new.spec.replicas
            || (new.spec.allocation_overflow.is_some()
                && old.status.allocated_replicas != new.status.allocated_replicas)
        {
            add(&self.queue, &**new);
        }
    }

    /// Tombstones are told like all else.
    fn on_delete(&self, deleted: &Deleted<GameServerSet>) {
        self.context.forget(deleted.object().uid());
        self.context.sets.deleted(deleted.object());
    }
}

struct OnServers {
    queue: Queue<ObjectKey>,
}

impl OnServers {
    fn changed(&self, server: &GameServer) {
        if let Some((set, _)) = server.controller("GameServerSet") {
            self.queue.add_after(ObjectKey::new(server.namespace(), set), GATHER);
        }
    }
}

impl EventHandler<GameServer> for OnServers {
    fn on_add(&self, server: &Arc<GameServer>, _is_in_initial_list: bool) {
        self.changed(server);
    }

    fn on_update(&self, old: &Arc<GameServer>, new: &Arc<GameServer>) {
        if old.resource_version() != new.resource_version() {
            self.changed(new);
        }
    }

    fn on_delete(&self, deleted: &Deleted<GameServer>) {
        self.changed(deleted.object());
    }
}
