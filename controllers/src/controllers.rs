//! All loops of one program, on one set of caches.

mod assembly;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lariat::api::{Clock, Randomness, SystemClock};
use lariat::prelude::*;
use lariat::reflector::Stopped;
use lariat::{AddError, Runnable};
use tokio::sync::watch;

use self::assembly::{Assembled, Assembly};
use crate::fleets::FleetsError;
use crate::gameservers::PodSettings;
use crate::gameservers::ports::{InvalidRange, PortRange};
use crate::gameserversets::SetsError;
use crate::gameserversets::reconcile::Limits;
use crate::gates::FeatureGates;
use crate::metrics::AgonesMetrics;

/// A loop, by the name under which it is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loop {
    /// `gameservers`.
    GameServers,
    /// `gameserversets`.
    GameServerSets,
    /// `fleets`.
    Fleets,
    /// `fleetautoscalers`.
    FleetAutoscalers,
}

/// A name that is no loop's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no loop {0:?}: want gameservers, gameserversets, fleets or fleetautoscalers")]
pub struct UnknownLoop(pub String);

/// What the loops are told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which of them run; all by default.
    pub loops: BTreeSet<Loop>,
    /// Which features are on.
    pub gates: FeatureGates,
    /// How pods are made.
    pub pods: PodSettings,
    /// The ranges of host ports; `default` from 7000 to 8000 by default.
    pub ports: BTreeMap<String, PortRange>,
    /// How many objects each loop looks at at once; 64 by default.
    pub workers: usize,
    /// How much a set does at once.
    pub limits: Limits,
    /// How many servers of a set are created, and how many are shut down, at once; 16 and 64 by default.
    pub parallel: (usize, usize),
    /// How often everything is looked at, changed or not; 30 s by default.
    pub resync: Duration,
}

/// Why the loops cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllersError {
    /// The ranges of ports make no sense.
    #[error("{0}")]
    Ports(#[from] InvalidRange),
    /// The loop of sets cannot be made.
    #[error("{0}")]
    Sets(#[from] SetsError),
    /// The loop of fleets cannot be made.
    #[error("{0}")]
    Fleets(#[from] FleetsError),
    /// An informer has stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// The manager does not take a loop.
    #[error("{0}")]
    Add(#[from] AddError),
}

/// All loops of one program.
///
/// # Example
///
/// ```no_run
/// use lariat::prelude::*;
/// use lariat_controllers::controllers::{Controllers, Settings};
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// Controllers::new(client, Settings::default()).run(shutdown).await?;
/// # Ok(())
/// # }
/// ```
pub struct Controllers {
    client: Client,
    settings: Settings,
    randomness: Randomness,
    clock: Arc<dyn Clock>,
    metrics: Option<Arc<AgonesMetrics>>,
}

impl Loop {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::GameServers, Self::GameServerSets, Self::Fleets, Self::FleetAutoscalers];

    /// The name under which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::GameServers => "gameservers",
            Self::GameServerSets => "gameserversets",
            Self::Fleets => "fleets",
            Self::FleetAutoscalers => "fleetautoscalers",
        }
    }
}

impl FromStr for Loop {
    type Err = UnknownLoop;

    fn from_str(name: &str) -> Result<Self, UnknownLoop> {
        let known = Self::ALL.into_iter().find(|one| one.name() == name);
        known.ok_or_else(|| UnknownLoop(name.to_owned()))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            loops: Loop::ALL.into(),
            gates: FeatureGates::default(),
            pods: PodSettings::default(),
            ports: [("default".to_owned(), PortRange { min: 7_000, max: 8_000 })].into(),
            workers: 64,
            limits: Limits::default(),
            parallel: (16, 64),
            resync: Duration::from_secs(30),
        }
    }
}

impl Controllers {
    /// Loops against an API server.
    pub fn new(client: Client, settings: Settings) -> Self {
        Self {
            client,
            settings,
            randomness: Randomness::from_os(),
            clock: Arc::new(SystemClock),
            metrics: None,
        }
    }

    /// Takes random choices from `randomness`; the operating system's if nothing is given.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.randomness = randomness;
        self
    }

    /// Takes the time of day from `clock`; the system's if nothing is given.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Has fleets, servers, nodes and autoscalers counted by `metrics`; nobody counts them if nothing is given.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<AgonesMetrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Works until `shutdown` is ready, then returns when what was begun is finished.
    ///
    /// # Errors
    ///
    /// If the settings make no sense.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ControllersError> {
        self.run_after(std::future::ready(()), shutdown).await
    }

    /// As [`run`](Self::run), but fills the caches at once and begins to work when `leads` is ready: a hot standby.
    ///
    /// # Errors
    ///
    /// If the settings make no sense.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is.
    pub async fn run_after(
        self,
        leads: impl Future<Output = ()>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ControllersError> {
        let factory = InformerFactory::builder(self.client.clone()).resync_period(self.settings.resync);
        // What an older state lacks would be made again, and what it shows as empty would be deleted with all that is in it.
        let factory = factory.consistent_start(true).randomness(self.randomness.clone()).build();
        let Assembled { loops, writer, .. } = self.assemble(&factory, None)?;
        let (stop, stopped) = watch::channel(false);
        let until = || {
            let mut stopped = stopped.clone();
            async move { drop(stopped.wait_for(|stopped| *stopped).await) }
        };

        factory.start();
        let (end_events, events_end) = watch::channel(false);
        let mut events_end = events_end;
        let writing = tokio::spawn(writer.run(async move {
            drop(events_end.wait_for(|ended| *ended).await);
        }));
        let mut shutdown = pin!(shutdown);
        let mut running = tokio::task::JoinSet::new();
        let leads = tokio::select! {
            biased;
            () = &mut shutdown => false,
            () = leads => true,
        };
        if leads {
            for one in loops {
                running.spawn((one.run)(Box::pin(until())));
            }
            shutdown.await;
        }
        stop.send_replace(true);
        while running.join_next().await.is_some() {}
        factory.shutdown().await;
        end_events.send_replace(true);
        drop(writing.await);
        Ok(())
    }

    /// Gives the loops to a manager, which runs each under its name, while it leads if it has an elector, on its own caches. These are filled before it leads, and shown, as the queues are, by `/readyz`, `/metrics` and `/debug/state`. `/healthz`
    /// asks whether each queue has its workers.
    ///
    /// Make the loops with the manager's client, fenced or not, so that it counts their requests. The caches are as the manager's
    /// informers were made to be: they should resync, and begin with what is newest. What an older state lacks would be made again,
    /// and what it shows as empty would be deleted with all that is in it.
    ///
    /// # Errors
    ///
    /// If the settings make no sense, or the manager has something of the name of a loop.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use lariat::prelude::*;
    /// use lariat_controllers::controllers::{Controllers, Settings};
    ///
    /// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = Manager::builder(client).listen("127.0.0.1:8080".parse()?);
    /// let resync = Duration::from_secs(30);
    /// let manager = builder.informers(move |all| all.resync_period(resync).consistent_start(true)).build();
    /// Controllers::new(manager.client().clone(), Settings::default()).add_to(&manager)?;
    /// manager.run(signals()?).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_to(self, manager: &Manager) -> Result<(), ControllersError> {
        let assembled = self.assemble(manager.informers(), Some(manager.queue_metrics()))?;
        assembled.shown.by(manager);
        let running = Arc::new(watch::Sender::new(0_usize));
        for Assembly { name, queues, run } in assembled.loops {
            let has_ended = Arc::new(AtomicBool::new(false));
            for queue in &queues {
                manager.show_queue(queue);
                let has_ended = has_ended.clone();
                let check = move || match has_ended.load(Ordering::Relaxed) {
                    true => Err("its workers have ended".to_owned()),
                    false => Ok(()),
                };
                manager.add_health_check(format!("{}-workerqueue", queue.name().unwrap_or(name)), check);
            }
            let running = running.clone();
            manager.add_runnable(Runnable::new(name, move |stop| async move {
                running.send_modify(|running| *running += 1);
                let _one_less = OneLess(running);
                let until = stop.clone();
                run(Box::pin(async move { until.stopped().await })).await;
                has_ended.store(!stop.is_stopped(), Ordering::Relaxed);
                Ok(())
            }))?;
        }
        let mut running = running.subscribe();
        let events = Runnable::new("events", move |stop| async move {
            let all_ended = async move {
                stop.stopped().await;
                // An error means that there is nobody to wait for.
                let _ = running.wait_for(|running| *running == 0).await;
            };
            assembled.writer.run(all_ended).await;
            Ok(())
        });
        manager.add_runnable(events.needs_leadership(false))?;
        Ok(())
    }
}

/// Counts one loop less when it is dropped.
struct OneLess(Arc<watch::Sender<usize>>);

impl Drop for OneLess {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl std::fmt::Debug for Controllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controllers").field("settings", &self.settings).finish_non_exhaustive()
    }
}
