use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat::prelude::{Deleted, EventHandler, Object as _};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::{AgonesMetrics, NONE};
use crate::types::{GameServer, GameServerState, names};

/// What is counted when a server changes.
pub(super) struct ServerFamilies {
    total: Family<OfState, Counter>,
    durations: Histograms<OfState>,
    creations: Histograms<OfCreation>,
    known: Mutex<Known>,
}

type Histograms<S> = Family<S, Histogram, fn() -> Histogram>;

#[derive(Default)]
struct Known {
    /// Since when each server is in its state, by uid.
    since: BTreeMap<String, Instant>,
    /// All that was told of.
    told: BTreeSet<OfState>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfState {
    pub(super) namespace: String,
    pub(super) fleet_name: String,
    pub(super) r#type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCreation {
    name: String,
    r#type: &'static str,
    fleet_name: &'static str,
    namespace: &'static str,
}

/// Counts what informers tell of servers.
pub(crate) struct OnServers(pub(crate) Arc<AgonesMetrics>);

/// The fleet of a server.
pub(super) fn fleet_of(server: &GameServer) -> &str {
    server.metadata.labels.get(names::FLEET).map_or(NONE, |fleet| fleet.as_str())
}

impl OfState {
    pub(super) fn new(server: &GameServer, state: &GameServerState) -> Self {
        Self {
            namespace: server.namespace().to_owned(),
            fleet_name: fleet_of(server).to_owned(),
            r#type: state.to_string(),
        }
    }
}

impl ServerFamilies {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("gameservers", "The total of gameservers", self.total.clone());
        let help = "The time gameserver exists in the current state in seconds";
        registry.register("gameserver_state_duration", help, self.durations.clone());
        let help = "The time gameserver takes to be created in seconds";
        registry.register("gameserver_creation_duration", help, self.creations.clone());
    }

    /// The original's labels: the number as the name, and no fleet.
    pub(super) fn created(&self, number: usize, is_well: bool, took: Duration) {
        let label = OfCreation {
            name: number.to_string(),
            r#type: if is_well { NONE } else { "error" },
            fleet_name: NONE,
            namespace: "",
        };
        self.creations.get_or_create(&label).observe(took.as_secs_f64());
    }

    fn changed(&self, old: &GameServer, new: &GameServer) {
        let (left, entered) = (OfState::new(old, &old.status.state), OfState::new(new, &new.status.state));
        let mut known = self.known();
        self.total.get_or_create(&entered).inc();
        // Of those that were there before this process, nobody knows since when; nor do those have a state that are new.
        if let Some(since) = known.since.get(new.uid())
            && old.status.state != GameServerState::None
        {
            self.durations.get_or_create(&left).observe(since.elapsed().as_secs_f64());
            known.told.insert(left);
        }
        known.told.insert(entered);
    }

    /// Drops what is of fleets that are gone.
    pub(super) fn prune(&self, has_fleet: impl Fn(&str, &str) -> bool) {
        let mut known = self.known();
        known.told.retain(|label| {
            let stays = label.fleet_name == NONE || has_fleet(&label.namespace, &label.fleet_name);
            if !stays {
                self.total.remove(label);
                self.durations.remove(label);
            }
            stays
        });
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ServerFamilies {
    fn default() -> Self {
        let states = || {
            let doubled = (0..15).map(|power| f64::from(1_u32 << power));
            Histogram::new(std::iter::once(0.0).chain(doubled))
        };
        Self {
            total: Family::default(),
            durations: Family::new_with_constructor(states),
            creations: Family::new_with_constructor(super::client::seconds),
            known: Mutex::default(),
        }
    }
}

impl EventHandler<GameServer> for OnServers {
    fn on_add(&self, server: &Arc<GameServer>, is_in_initial_list: bool) {
        if !is_in_initial_list {
            self.0.servers.known().since.insert(server.uid().to_owned(), Instant::now());
        }
    }

    fn on_update(&self, old: &Arc<GameServer>, new: &Arc<GameServer>) {
        if old.status.state == new.status.state {
            return;
        }
        if self.0.leads() {
            self.0.servers.changed(old, new);
        }
        self.0.servers.known().since.insert(new.uid().to_owned(), Instant::now());
    }

    fn on_delete(&self, deleted: &Deleted<GameServer>) {
        self.0.servers.known().since.remove(deleted.object().uid());
    }
}
