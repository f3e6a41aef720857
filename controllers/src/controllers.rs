//! All loops of one program, on one set of caches.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use lariat::api::{Clock, Randomness, SystemClock};
use lariat::prelude::*;
use lariat::reflector::Stopped;
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
}

impl FromStr for Loop {
    type Err = UnknownLoop;

    fn from_str(name: &str) -> Result<Self, UnknownLoop> {
        match name {
            "gameservers" => Ok(Self::GameServers),
            "gameserversets" => Ok(Self::GameServerSets),
            "fleets" => Ok(Self::Fleets),
            "fleetautoscalers" => Ok(Self::FleetAutoscalers),
            other => Err(UnknownLoop(other.to_owned())),
        }
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
        let Self { client, settings, randomness, clock } = self;
        let Settings { loops, gates, pods: pod_settings, ports, workers, limits, parallel, resync } =
            settings;
        let runs = |one: Loop| loops.contains(&one);
        let factory = InformerFactory::builder(client.clone()).resync_period(resync);
        let factory = factory.randomness(randomness.clone()).build();
        let (writer, events) = EventWriter::new(client.clone(), "lariat", clock.clone());
        let (stop, stopped) = watch::channel(false);
        let until = || {
            let mut stopped = stopped.clone();
            async move { drop(stopped.wait_for(|stopped| *stopped).await) }
        };

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

        let mut waiting: Vec<BoxedLoop> = Vec::new();
        if let (true, Some(servers), Some(writes)) = (runs(Loop::GameServers), &servers, &server_writes) {
            let pods = factory.informer::<Pod>();
            let nodes = factory.informer::<Node>();
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
            waiting.push(Box::pin(loops.gates(gates).workers(workers).clock(clock.clone()).run(until())));
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
            waiting.push(Box::pin(loops.workers(workers).clock(clock.clone()).run(until())));
        }
        if let (true, Some(fleets), Some(fleet_writes), Some(sets), Some(set_writes)) =
            (runs(Loop::Fleets), &fleets, &fleet_writes, &sets, &set_writes)
        {
            let (fleet_writes, set_writes) = (fleet_writes.clone(), set_writes.clone());
            let loops = Fleets::new(fleets.clone(), sets.clone(), fleet_writes, set_writes, &events)?;
            waiting.push(Box::pin(loops.gates(gates).workers(workers).run(until())));
        }
        if let (true, Some(fleets), Some(fleet_writes), Some(servers)) =
            (runs(Loop::FleetAutoscalers), &fleets, &fleet_writes, &servers)
        {
            let autoscalers = factory.informer::<FleetAutoscaler>();
            let loops = FleetAutoscalers::new(client.clone(), fleets.clone(), autoscalers)?;
            let loops = loops
                .gates(gates)
                .servers(servers.clone(), counts.clone())
                .fleet_writes(fleet_writes.clone())
                .events(&events)
                .randomness(randomness)
                .clock_shared(clock)
                .workers(workers);
            waiting.push(Box::pin(loops.run(until())));
        }

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
            for one in waiting {
                running.spawn(one);
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
}

impl std::fmt::Debug for Controllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controllers").field("settings", &self.settings).finish_non_exhaustive()
    }
}
