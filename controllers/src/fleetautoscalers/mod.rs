//! The loop that gives fleets the size that their autoscalers ask for.
//!
//! Each autoscaler has a timer, which puts its key into the queue. A worker takes the key, reads autoscaler and fleet
//! from the caches, asks the policy for a size ([`Situation::verdict`]), and writes the fleet's `spec.replicas` and the autoscaler's `status`
//! where they differ. A key enters the queue through the rate limiter, 200 ms late or more: so a burst of changes is
//! answered once, on what the caches hold after it.

mod capacity;
mod evaluate;
mod policy;
mod sync;
mod timers;
mod webhook;

use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lariat::api::{Clock, Randomness, SystemClock};
use lariat::prelude::*;
use lariat::reflector::Stopped;
use lariat::workqueue::Metrics;

use self::sync::{Synced, Syncer};
use self::timers::Timers;
use crate::events::Recorder;
use crate::gameservers::{PerNodeCounter, Writes};
use crate::gates::FeatureGates;
use crate::keys::{LateMetrics, queue, work};
use crate::types::{Fleet, FleetAutoscaler, GameServer};

pub use self::capacity::{Counted, capacity};
pub use self::evaluate::{Situation, Verdict};
pub use self::policy::{PolicyError, Target, buffer};
pub use self::sync::{Decision, DecisionObserver, SyncError};
pub(crate) use self::webhook::webhook_url_parses;
pub use self::webhook::{Hooks, WebhookError, answered, request_body, url};

/// The fleet autoscaler loop.
///
/// # Example
///
/// ```no_run
/// use lariat::prelude::*;
/// use lariat_controllers::fleetautoscalers::FleetAutoscalers;
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let fleets = Informer::builder(Api::all(client.clone())).build();
/// let autoscalers = Informer::builder(Api::all(client.clone())).build();
/// let controller = FleetAutoscalers::new(client, fleets.clone(), autoscalers.clone())?;
/// tokio::spawn(async move { fleets.run(std::future::pending()).await });
/// tokio::spawn(async move { autoscalers.run(std::future::pending()).await });
/// controller.run(shutdown).await;
/// # Ok(())
/// # }
/// ```
pub struct FleetAutoscalers {
    client: Client,
    fleets: Informer<Fleet>,
    autoscalers: Informer<FleetAutoscaler>,
    queue: Queue<ObjectKey>,
    metrics: Arc<LateMetrics>,
    timers: Arc<Timers>,
    workers: usize,
    servers: Option<Informer<GameServer>>,
    counts: PerNodeCounter,
    gates: FeatureGates,
    events: Recorder,
    fleet_writes: Option<Arc<Writes<Fleet>>>,
    hooks: Arc<Hooks>,
    randomness: Randomness,
    clock: Arc<dyn Clock>,
    observer: Option<DecisionObserver>,
}

/// How long after each of the first failures an autoscaler is tried again, and how long after all later ones.
const FAST: Duration = Duration::from_millis(200);
const SLOW: Duration = Duration::from_secs(3);

/// How many autoscalers are looked at at once, unless told otherwise.
const DEFAULT_WORKERS: usize = 4;

impl FleetAutoscalers {
    /// A loop on two informers, which are run by somebody else.
    ///
    /// # Errors
    ///
    /// If the informer of autoscalers has stopped.
    pub fn new(
        client: Client,
        fleets: Informer<Fleet>,
        autoscalers: Informer<FleetAutoscaler>,
    ) -> Result<Self, Stopped> {
        let metrics = Arc::default();
        let queue = queue("fleetautoscaler", FAST, SLOW, &metrics);
        let timers = Arc::new(Timers::new(queue.clone()));
        let hooks = Arc::new(Hooks::default());
        autoscalers.add_handler(StartTimers { timers: timers.clone(), hooks: hooks.clone() })?;
        Ok(Self {
            client,
            fleets,
            autoscalers,
            queue,
            metrics,
            timers,
            workers: DEFAULT_WORKERS,
            servers: None,
            counts: PerNodeCounter::default(),
            gates: FeatureGates::default(),
            events: Recorder::new("fleetautoscaler-controller", |record| {
                tracing::info!(
                    reason = record.reason,
                    autoscaler = record.regarding.name,
                    message = record.message
                );
            }),
            fleet_writes: None,
            hooks,
            randomness: Randomness::from_os(),
            clock: Arc::new(SystemClock),
            observer: None,
        })
    }

    /// Looks at this many autoscalers at once; 4 if nothing is given.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Looks at the servers of fleets, for policies on counters and lists; without them such a policy sees none. `counts` says how
    /// many servers each node has.
    #[must_use]
    pub fn servers(mut self, servers: Informer<GameServer>, counts: PerNodeCounter) -> Self {
        self.servers = Some(servers);
        self.counts = counts;
        self
    }

    /// Has these features on; the default ones if nothing is given.
    #[must_use]
    pub fn gates(mut self, gates: FeatureGates) -> Self {
        self.gates = gates;
        self
    }

    /// Tells users through `events`; the log if nothing is given.
    #[must_use]
    pub fn events(mut self, events: &Recorder) -> Self {
        self.events = events.of("fleetautoscaler-controller");
        self
    }

    /// Writes fleets through `writes`, which other loops of this program share, so that none writes over the other.
    #[must_use]
    pub fn fleet_writes(mut self, writes: Arc<Writes<Fleet>>) -> Self {
        self.fleet_writes = Some(writes);
        self
    }

    /// Takes the uids of requests to webhooks from `randomness`; the operating system's if nothing is given.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.randomness = randomness;
        self
    }

    /// Takes the time of day from `clock`.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Takes the time of day from a clock that others have, too.
    #[must_use]
    pub fn clock_shared(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Tells `observer` of every decision, before it is carried out.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&Decision) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Counts what happens in the queue with `metrics`; nobody does if nothing is given.
    #[must_use]
    pub fn queue_metrics(self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics.tell(metrics);
        self
    }

    /// The queue, for those who want to know how it is.
    pub fn queues(&self) -> Vec<Queue<ObjectKey>> {
        vec![self.queue.clone()]
    }

    /// Works until `shutdown` is ready, then returns when what was begun is finished.
    ///
    /// Nothing is done before both caches hold their first list.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { client, fleets, autoscalers, queue, timers, workers, clock, observer, .. } = self;
        let _stop_timers = StopTimers(timers.clone());
        let mut shutdown = std::pin::pin!(shutdown);
        let synced = async {
            fleets.wait_for_sync().await;
            autoscalers.wait_for_sync().await;
            if let Some(servers) = &self.servers {
                servers.wait_for_sync().await;
            }
        };
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = synced => {}
        }

        let syncer = Arc::new(Syncer {
            fleets: self.fleet_writes.unwrap_or_else(|| Arc::new(Writes::new(client.clone(), &fleets))),
            autoscalers: Arc::new(Writes::new(client, &autoscalers)),
            servers: self.servers.as_ref().map(Informer::lister),
            counts: self.counts,
            hooks: self.hooks,
            gates: self.gates,
            events: self.events,
            randomness: self.randomness,
            clock,
            observer,
        });
        let timers_of_workers = timers.clone();
        let workers = work(&queue, workers, move |key: ObjectKey| {
            let (syncer, timers) = (syncer.clone(), timers_of_workers.clone());
            async move {
                if syncer.sync(&key).await? == Synced::Gone {
                    let left = syncer.autoscalers.list();
                    timers
                        .retain(key.namespace(), |uid| left.iter().any(|autoscaler| autoscaler.uid() == uid));
                }
                Ok::<_, SyncError>(())
            }
        });
        shutdown.await;
        timers.stop_all();
        queue.shut_down();
        workers.await;
    }
}

impl Debug for FleetAutoscalers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetAutoscalers").field("workers", &self.workers).finish_non_exhaustive()
    }
}

/// Keeps one timer for each autoscaler that is in the cache.
struct StartTimers {
    timers: Arc<Timers>,
    hooks: Arc<Hooks>,
}

impl StartTimers {
    fn start(&self, autoscaler: &FleetAutoscaler) {
        if let Ok(key) = autoscaler.key() {
            let generation = autoscaler.metadata.generation;
            self.timers.start(autoscaler.uid(), generation, &key, autoscaler.spec.sync_period());
        }
    }
}

impl EventHandler<FleetAutoscaler> for StartTimers {
    fn on_add(&self, autoscaler: &Arc<FleetAutoscaler>, _is_in_initial_list: bool) {
        self.start(autoscaler);
    }

    fn on_update(&self, old: &Arc<FleetAutoscaler>, new: &Arc<FleetAutoscaler>) {
        if old.uid() != new.uid() || old.metadata.generation != new.metadata.generation {
            self.hooks.forget(old.uid());
        }
        self.start(new);
    }

    fn on_delete(&self, deleted: &Deleted<FleetAutoscaler>) {
        self.timers.stop(deleted.object().uid());
        self.hooks.forget(deleted.object().uid());
    }
}

/// Stops all timers when the loop ends in whatever way.
struct StopTimers(Arc<Timers>);

impl Drop for StopTimers {
    fn drop(&mut self) {
        self.0.stop_all();
    }
}
