//! What the dashboards of the original show, under its names (reference 7.9).
//!
//! Gauges are taken from the caches when somebody asks, so what belongs to a fleet or autoscaler that is gone is gone with it (issue
//! 2478). Only the process that leads tells them: a sum over all processes is right. Counters and histograms of servers are dropped
//! when neither the fleet nor a server of it is left.

mod client;
mod gauges;
mod servers;

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lariat::prelude::*;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::{MissedTickBehavior, interval};

use self::client::ClientFamilies;
use self::gauges::Gauges;
pub(crate) use self::servers::OnServers;
use self::servers::ServerFamilies;
use crate::types::{Fleet, FleetAutoscaler, GameServer, GameServerSet, Node};

/// What the dashboards of the original show.
///
/// As an observer of a manager it counts requests, caches and queues; [`Controllers::metrics`] has it count the rest.
///
/// [`Controllers::metrics`]: crate::controllers::Controllers::metrics
///
/// # Example
///
/// ```no_run
/// use lariat::prelude::*;
/// use lariat_controllers::controllers::{Controllers, Settings};
/// use lariat_controllers::metrics::AgonesMetrics;
///
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let metrics = Arc::new(AgonesMetrics::default());
/// let manager = Manager::builder(client).observer(metrics.clone()).build();
/// manager.register_metrics(|registry| metrics.register(registry));
/// Controllers::new(manager.client().clone(), Settings::default()).metrics(metrics).add_to(&manager)?;
/// # Ok(())
/// # }
/// ```
pub struct AgonesMetrics {
    client: ClientFamilies,
    servers: ServerFamilies,
    on_nodes: Histogram,
    caches: OnceLock<Caches>,
    leads: AtomicBool,
}

/// The caches that are looked at; those of loops that do not run are missing.
#[derive(Default)]
pub(crate) struct Caches {
    pub(crate) servers: Option<Lister<GameServer>>,
    pub(crate) sets: Option<Lister<GameServerSet>>,
    pub(crate) fleets: Option<Lister<Fleet>>,
    pub(crate) autoscalers: Option<Lister<FleetAutoscaler>>,
    pub(crate) nodes: Option<Lister<Node>>,
}

/// How often nodes are counted, and what is left of fleets that are gone is looked for.
const PERIOD: Duration = Duration::from_secs(15);

/// What the name of a fleet is for servers that have none.
const NONE: &str = "none";

impl AgonesMetrics {
    /// Has a registry show them, with the prefix `agones`.
    pub fn register(self: &Arc<Self>, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("agones");
        self.servers.register(registry);
        let help = "The count of gameservers per node in the cluster";
        registry.register("gameservers_node_count", help, self.on_nodes.clone());
        self.client.register(registry);
        registry.register_collector(Box::new(Gauges(self.clone())));
    }

    /// Looks at these caches, once and for all.
    pub(crate) fn follow(&self, caches: Caches) {
        let _ = self.caches.set(caches);
    }

    /// How many servers were made in one turn of a set, and how long that took.
    pub(crate) fn created(&self, number: usize, is_well: bool, took: Duration) {
        self.servers.created(number, is_well, took);
    }

    /// Tells gauges until `until` is ready.
    pub(crate) async fn run(self: Arc<Self>, until: impl Future<Output = ()>) {
        self.leads.store(true, Ordering::Relaxed);
        let _leads_no_more = LeadsNoMore(self.clone());
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut until = std::pin::pin!(until);
        loop {
            tokio::select! {
                biased;
                () = &mut until => return,
                _ = ticks.tick() => {
                    self.count_on_nodes();
                    self.servers.prune(|namespace, fleet| self.has_fleet(namespace, fleet));
                }
            }
        }
    }

    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn caches(&self) -> Option<&Caches> {
        self.caches.get()
    }

    fn count_on_nodes(&self) {
        let Some(caches) = self.caches() else { return };
        let Some(count) = caches.servers_on_nodes() else { return };
        count.values().for_each(|servers| self.on_nodes.observe(*servers as f64));
    }

    fn has_fleet(&self, namespace: &str, fleet: &str) -> bool {
        let Some(caches) = self.caches() else { return true };
        let is_there = |fleets: &Lister<Fleet>| fleets.get(&ObjectKey::new(namespace, fleet)).is_ok();
        let has_servers = |servers: &Lister<GameServer>| {
            let of_fleet = servers
                .store()
                .list_where(|server| server.namespace() == namespace && servers::fleet_of(server) == fleet);
            !of_fleet.is_empty()
        };
        // Who does not know the fleets cannot say that one is gone.
        caches.fleets.as_ref().is_none_or(is_there) || caches.servers.as_ref().is_some_and(has_servers)
    }
}

impl Default for AgonesMetrics {
    fn default() -> Self {
        // The original counts up to and with the whole number.
        let buckets = (0..=16).chain([32, 40, 50, 60, 70, 80, 90, 100, 110, 120]);
        Self {
            client: ClientFamilies::default(),
            servers: ServerFamilies::default(),
            on_nodes: Histogram::new(buckets.map(|servers| f64::from(servers) + 0.000_01)),
            caches: OnceLock::new(),
            leads: AtomicBool::new(false),
        }
    }
}

impl std::fmt::Debug for AgonesMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgonesMetrics").field("leads", &self.leads()).finish_non_exhaustive()
    }
}

/// Says that this process leads no more when it is dropped.
struct LeadsNoMore(Arc<AgonesMetrics>);

impl Drop for LeadsNoMore {
    fn drop(&mut self) {
        self.0.leads.store(false, Ordering::Relaxed);
    }
}
