//! Makes the loops, on what they share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lariat::prelude::*;
use lariat::workqueue::Metrics;

use super::{Controllers, ControllersError, Loop, Settings};
use crate::events::EventWriter;
use crate::fleetautoscalers::FleetAutoscalers;
use crate::fleets::Fleets;
use crate::gameservers::ports::PortAllocator;
use crate::gameservers::{GameServers, PerNodeCounter, Writes};
use crate::gameserversets::GameServerSets;
use crate::metrics::{Caches, OnServers};
use crate::types::{Fleet, FleetAutoscaler, GameServer, GameServerSet, Node, Pod};

/// A loop that runs, or what it waits for.
pub(super) type BoxedLoop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Loops that are made and do not run yet.
pub(super) struct Assembled {
    pub(super) loops: Vec<Assembly>,
    pub(super) writer: EventWriter,
    pub(super) shown: Shown,
}

pub(super) struct Assembly {
    pub(super) name: &'static str,
    pub(super) queues: Vec<Queue<ObjectKey>>,
    pub(super) run: Box<dyn FnOnce(BoxedLoop) -> BoxedLoop + Send>,
}

/// The informers of the loops.
#[derive(Default)]
pub(super) struct Shown {
    servers: Option<Informer<GameServer>>,
    sets: Option<Informer<GameServerSet>>,
    fleets: Option<Informer<Fleet>>,
    autoscalers: Option<Informer<FleetAutoscaler>>,
    pods: Option<Informer<Pod>>,
    nodes: Option<Informer<Node>>,
}

impl Controllers {
    /// Makes the loops on the informers of a factory.
    pub(super) fn assemble(
        self,
        factory: &InformerFactory,
        queue_metrics: Option<Arc<dyn Metrics>>,
    ) -> Result<Assembled, ControllersError> {
        let Self { client, settings, randomness, clock, metrics } = self;
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
            waiting.push(Assembly::new(Loop::GameServers.name(), loops.queues(), |until| loops.run(until)));
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
            let loops = loops.workers(workers).clock(clock.clone()).metrics(metrics.clone());
            let loops = match &queue_metrics {
                Some(metrics) => loops.queue_metrics(metrics.clone()),
                None => loops,
            };
            waiting
                .push(Assembly::new(Loop::GameServerSets.name(), loops.queues(), |until| loops.run(until)));
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
            waiting.push(Assembly::new(Loop::Fleets.name(), loops.queues(), |until| loops.run(until)));
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
            waiting
                .push(Assembly::new(Loop::FleetAutoscalers.name(), loops.queues(), |until| loops.run(until)));
        }
        if let Some(metrics) = metrics {
            if let Some(servers) = &servers {
                servers.add_handler(OnServers(metrics.clone()))?;
            }
            metrics.follow(shown.caches());
            waiting.push(Assembly::new("metrics", Vec::new(), |until| metrics.run(until)));
        }
        Ok(Assembled { loops: waiting, writer, shown })
    }
}

impl Assembly {
    fn new<F: Future<Output = ()> + Send + 'static>(
        name: &'static str,
        queues: Vec<Queue<ObjectKey>>,
        run: impl FnOnce(BoxedLoop) -> F + Send + 'static,
    ) -> Self {
        Self { name, queues, run: Box::new(|until| Box::pin(run(until))) }
    }
}

impl Shown {
    fn caches(&self) -> Caches {
        Caches {
            servers: self.servers.as_ref().map(Informer::lister),
            sets: self.sets.as_ref().map(Informer::lister),
            fleets: self.fleets.as_ref().map(Informer::lister),
            autoscalers: self.autoscalers.as_ref().map(Informer::lister),
            nodes: self.nodes.as_ref().map(Informer::lister),
        }
    }

    /// Lets a manager show them.
    pub(super) fn by(&self, manager: &Manager) {
        let Self { servers, sets, fleets, autoscalers, pods, nodes } = self;
        servers.iter().for_each(|informer| manager.show_informer(informer));
        sets.iter().for_each(|informer| manager.show_informer(informer));
        fleets.iter().for_each(|informer| manager.show_informer(informer));
        autoscalers.iter().for_each(|informer| manager.show_informer(informer));
        pods.iter().for_each(|informer| manager.show_informer(informer));
        nodes.iter().for_each(|informer| manager.show_informer(informer));
    }
}
