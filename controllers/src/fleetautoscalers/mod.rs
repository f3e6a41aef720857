//! The loop that gives fleets the size that their autoscalers ask for.
//!
//! Each autoscaler has a timer, which puts its key into the queue. A worker takes the key, reads autoscaler and fleet
//! from the caches, asks the policy for a size ([`target`]), and writes the fleet's `spec.replicas` and the autoscaler's `status`
//! where they differ. A key enters the queue through the rate limiter, 200 ms late or more: so a burst of changes is
//! answered once, on what the caches hold after it.

mod policy;
mod sync;
mod timers;

use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lariat::api::{Clock, SystemClock};
use lariat::prelude::*;
use lariat::reflector::Stopped;
use lariat::workqueue::ItemFastSlow;

use self::sync::{Synced, Syncer};
use self::timers::Timers;
use crate::types::{Fleet, FleetAutoscaler};

pub use self::policy::{PolicyError, Target, buffer, target};
pub use self::sync::{Decision, DecisionObserver, SyncError};

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
    timers: Arc<Timers>,
    workers: usize,
    clock: Arc<dyn Clock>,
    observer: Option<DecisionObserver>,
}

/// How long after each of the first failures an autoscaler is tried again, and how long after all later ones.
const FAST: Duration = Duration::from_millis(200);
const SLOW: Duration = Duration::from_secs(3);
const FAST_ATTEMPTS: u32 = 5;

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
        let limiter = ItemFastSlow::new(FAST, SLOW, FAST_ATTEMPTS);
        let queue = Queue::builder().name("fleetautoscalers").rate_limiter(limiter).build();
        let timers = Arc::new(Timers::new(queue.clone()));
        autoscalers.add_handler(StartTimers(timers.clone()))?;
        Ok(Self {
            client,
            fleets,
            autoscalers,
            queue,
            timers,
            workers: DEFAULT_WORKERS,
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

    /// Takes the time of day from `clock`.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Tells `observer` of every decision, before it is carried out.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&Decision) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Works until `shutdown` is ready, then returns when what was begun is finished.
    ///
    /// Nothing is done before both caches hold their first list.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { client, fleets, autoscalers, queue, timers, workers, clock, observer } = self;
        let _stop_timers = StopTimers(timers.clone());
        let mut shutdown = std::pin::pin!(shutdown);
        let synced = async {
            fleets.wait_for_sync().await;
            autoscalers.wait_for_sync().await;
        };
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = synced => {}
        }

        let syncer = Arc::new(Syncer {
            fleets: fleets.lister(),
            autoscalers: autoscalers.lister(),
            fleet_api: Api::all(client.clone()),
            autoscaler_api: Api::all(client),
            clock,
            observer,
        });
        let timers_of_workers = timers.clone();
        let workers = Workers::new(queue.clone(), workers).run(move |key: ObjectKey| {
            let (syncer, timers) = (syncer.clone(), timers_of_workers.clone());
            async move {
                if syncer.sync(&key).await? == Synced::Gone {
                    let left = syncer.autoscalers.namespace(key.namespace());
                    let left = left.list(&lariat::api::labels::Selector::everything());
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
struct StartTimers(Arc<Timers>);

impl StartTimers {
    fn start(&self, autoscaler: &FleetAutoscaler) {
        if let Ok(key) = autoscaler.key() {
            let generation = autoscaler.metadata.generation;
            self.0.start(autoscaler.uid(), generation, &key, autoscaler.spec.sync_period());
        }
    }
}

impl EventHandler<FleetAutoscaler> for StartTimers {
    fn on_add(&self, autoscaler: &Arc<FleetAutoscaler>, _is_in_initial_list: bool) {
        self.start(autoscaler);
    }

    fn on_update(&self, _old: &Arc<FleetAutoscaler>, new: &Arc<FleetAutoscaler>) {
        self.start(new);
    }

    fn on_delete(&self, deleted: &Deleted<FleetAutoscaler>) {
        self.0.stop(deleted.object().uid());
    }
}

/// Stops all timers when the loop ends in whatever way.
struct StopTimers(Arc<Timers>);

impl Drop for StopTimers {
    fn drop(&mut self) {
        self.0.stop_all();
    }
}
