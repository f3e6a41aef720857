//! All loops of one program, on one set of caches.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lariat::api::{Clock, Randomness, SystemClock};
use lariat::prelude::*;
use lariat::reflector::Stopped;
use lariat::workqueue::Metrics;
use lariat::{AddError, Runnable};
use tokio::sync::watch;

use crate::events::EventWriter;
use crate::fleetautoscalers::FleetAutoscalers;
use crate::fleets::{Fleets, FleetsError};
use crate::gameservers::ports::{InvalidRange, PortAllocator, PortRange};
use crate::gameservers::{GameServers, PerNodeCounter, PodSettings, Writes};
use crate::gameserversets::reconcile::Limits;
use crate::gameserversets::{GameServerSets, SetsError};
use crate::gates::FeatureGates;
use crate::types::{Fleet, FleetAutoscaler, GameServer, GameServerSet, Node, Pod};

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

type BoxedLoop = Pin<Box<dyn Future<Output = ()> + Send>>;

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
        Self { client, settings, randomness: Randomness::from_os(), clock: Arc::new(SystemClock) }
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
        let factory =
            InformerFactory::builder(self.client.clone()).resync_period(self.settings.resync).build();
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

    /// Gives the loops to a manager, which runs each under its name, while it leads if it has an elector, on its own client and
    /// caches. These are filled before it leads, and shown, as the queues are, by `/readyz`, `/metrics` and `/debug/state`. `/healthz`
    /// asks whether each queue has its workers.
    ///
    /// The client that the loops were made with is not used. The caches resync as the manager's informers were made to.
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
    /// let builder = Manager::builder(client.clone()).listen("127.0.0.1:8080".parse()?);
    /// let manager = builder.informers(|informers| informers.resync_period(Duration::from_secs(30))).build();
    /// Controllers::new(client, Settings::default()).add_to(&manager)?;
    /// manager.run(signals()?).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_to(mut self, manager: &Manager) -> Result<(), ControllersError> {
        self.client = manager.client().clone();
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

    /// Makes the loops on the informers of a factory.
    fn assemble(
        self,
        factory: &InformerFactory,
        queue_metrics: Option<Arc<dyn Metrics>>,
    ) -> Result<Assembled, ControllersError> {
        let Self { client, settings, randomness, clock } = self;
        let Settings { loops, gates, pods: pod_settings, ports, workers, limits, parallel, .. } = settings;
        let runs = |one: Loop| loops.contains(&one);
        let (writer, events) = EventWriter::new(client.clone(), "lariat", clock.clone());

        let needs_servers =
            runs(Loop::GameServers) || runs(Loop::GameServerSets) || runs(Loop::FleetAutoscalers);
        let servers = needs_servers.then(|| factory.informer::<GameServer>());
        let server_writes = servers.as_ref().map(|servers| Arc::new(Writes::new(client.clone(), servers)));
        let counts = PerNodeCounter::default();
        if let Some(servers) = &servers {
            servers.add_handler(counts.clone())?;
        }
        let needs_sets = runs(Loop::GameServerSets) || runs(Loop::Fleets);
        let sets = needs_sets.then(|| factory.informer::<GameServerSet>());
        let set_writes = sets.as_ref().map(|sets| Arc::new(Writes::new(client.clone(), sets)));
        let needs_fleets = runs(Loop::Fleets) || runs(Loop::FleetAutoscalers);
        let fleets = needs_fleets.then(|| factory.informer::<Fleet>());
        let fleet_writes = fleets.as_ref().map(|fleets| Arc::new(Writes::new(client.clone(), fleets)));
        let mut shown = Shown {
            servers: servers.clone(),
            sets: sets.clone(),
            fleets: fleets.clone(),
            ..Shown::default()
        };

        let mut waiting = Vec::new();
        if let (true, Some(servers), Some(writes)) = (runs(Loop::GameServers), &servers, &server_writes) {
            let pods = factory.informer::<Pod>();
            let nodes = factory.informer::<Node>();
            (shown.pods, shown.nodes) = (Some(pods.clone()), Some(nodes.clone()));
            nodes.add_handler(counts.clone())?;
            let allocator = PortAllocator::new(ports, randomness.clone())?;
            let allocator = if gates.has(crate::gates::Gate::PortRanges) {
                allocator
            } else {
                allocator.ignoring_names()
            };
            let loops = GameServers::new(
                client.clone(),
                servers.clone(),
                pods,
                nodes,
                writes.clone(),
                allocator,
                pod_settings,
                &events,
            )?;
            let loops = loops.gates(gates).workers(workers).clock(clock.clone());
            let loops = match &queue_metrics {
                Some(metrics) => loops.queue_metrics(metrics.clone()),
                None => loops,
            };
            waiting.push(Assembly::new(Loop::GameServers, loops.queues(), |until| loops.run(until)));
        }
        if let (true, Some(sets), Some(set_writes), Some(servers), Some(server_writes)) =
            (runs(Loop::GameServerSets), &sets, &set_writes, &servers, &server_writes)
        {
            let (set_writes, server_writes) = (set_writes.clone(), server_writes.clone());
            let loops = GameServerSets::new(
                sets.clone(),
                servers.clone(),
                set_writes,
                server_writes,
                counts.clone(),
                &events,
            )?;
            let loops = loops.gates(gates).limits(limits).parallel(parallel.0, parallel.1);
            let loops = loops.workers(workers).clock(clock.clone());
            let loops = match &queue_metrics {
                Some(metrics) => loops.queue_metrics(metrics.clone()),
                None => loops,
            };
            waiting.push(Assembly::new(Loop::GameServerSets, loops.queues(), |until| loops.run(until)));
        }
        if let (true, Some(fleets), Some(fleet_writes), Some(sets), Some(set_writes)) =
            (runs(Loop::Fleets), &fleets, &fleet_writes, &sets, &set_writes)
        {
            let (fleet_writes, set_writes) = (fleet_writes.clone(), set_writes.clone());
            let loops = Fleets::new(fleets.clone(), sets.clone(), fleet_writes, set_writes, &events)?;
            let loops = loops.gates(gates).workers(workers);
            let loops = match &queue_metrics {
                Some(metrics) => loops.queue_metrics(metrics.clone()),
                None => loops,
            };
            waiting.push(Assembly::new(Loop::Fleets, loops.queues(), |until| loops.run(until)));
        }
        if let (true, Some(fleets), Some(fleet_writes), Some(servers)) =
            (runs(Loop::FleetAutoscalers), &fleets, &fleet_writes, &servers)
        {
            let autoscalers = factory.informer::<FleetAutoscaler>();
            shown.autoscalers = Some(autoscalers.clone());
            let loops = FleetAutoscalers::new(client, fleets.clone(), autoscalers)?;
            let loops = loops
                .gates(gates)
                .servers(servers.clone(), counts)
                .fleet_writes(fleet_writes.clone())
                .events(&events)
                .randomness(randomness)
                .clock_shared(clock)
                .workers(workers);
            let loops = match &queue_metrics {
                Some(metrics) => loops.queue_metrics(metrics.clone()),
                None => loops,
            };
            waiting.push(Assembly::new(Loop::FleetAutoscalers, loops.queues(), |until| loops.run(until)));
        }
        Ok(Assembled { loops: waiting, writer, shown })
    }
}

// === impl Assembly ===

/// Loops that are made and do not run yet.
struct Assembled {
    loops: Vec<Assembly>,
    writer: EventWriter,
    shown: Shown,
}

struct Assembly {
    name: &'static str,
    queues: Vec<Queue<ObjectKey>>,
    run: Box<dyn FnOnce(BoxedLoop) -> BoxedLoop + Send>,
}

/// The informers of the loops.
#[derive(Default)]
struct Shown {
    servers: Option<Informer<GameServer>>,
    sets: Option<Informer<GameServerSet>>,
    fleets: Option<Informer<Fleet>>,
    autoscalers: Option<Informer<FleetAutoscaler>>,
    pods: Option<Informer<Pod>>,
    nodes: Option<Informer<Node>>,
}

impl Assembly {
    fn new<F: Future<Output = ()> + Send + 'static>(
        one: Loop,
        queues: Vec<Queue<ObjectKey>>,
        run: impl FnOnce(BoxedLoop) -> F + Send + 'static,
    ) -> Self {
        Self { name: one.name(), queues, run: Box::new(|until| Box::pin(run(until))) }
    }
}

impl Shown {
    fn by(&self, manager: &Manager) {
        let Self { servers, sets, fleets, autoscalers, pods, nodes } = self;
        servers.iter().for_each(|informer| manager.show_informer(informer));
        sets.iter().for_each(|informer| manager.show_informer(informer));
        fleets.iter().for_each(|informer| manager.show_informer(informer));
        autoscalers.iter().for_each(|informer| manager.show_informer(informer));
        pods.iter().for_each(|informer| manager.show_informer(informer));
        nodes.iter().for_each(|informer| manager.show_informer(informer));
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
