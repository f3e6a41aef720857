use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat::api::IntOrString;
use lariat::prelude::{Lister, Metadata as _, Object as _};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::servers::{OfState, fleet_of};
use super::{AgonesMetrics, Caches, NONE};
use crate::fleets::children;
use crate::types::{
    AggregatedStatus, BufferPolicy, Fleet, FleetAutoscaler, FleetAutoscalerPolicy, GameServerState,
};

/// What the caches hold, counted when somebody asks.
pub(super) struct Gauges(pub(super) Arc<AgonesMetrics>);

#[derive(Clone, Debug, EncodeLabelSet)]
struct OfFleet {
    name: String,
    r#type: &'static str,
    namespace: String,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct OfCounter {
    name: String,
    r#type: &'static str,
    namespace: String,
    counter: String,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct OfList {
    name: String,
    r#type: &'static str,
    namespace: String,
    list: String,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct OfAutoscaler {
    name: String,
    fleet_name: String,
    namespace: String,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct OfBuffer {
    name: String,
    fleet_name: String,
    r#type: &'static str,
    namespace: String,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct OfNodes {
    empty: &'static str,
}

/// All states that servers have, so that one that no server is in is seen as 0.
const STATES: [GameServerState; 11] = [
    GameServerState::PortAllocation,
    GameServerState::Creating,
    GameServerState::Starting,
    GameServerState::Scheduled,
    GameServerState::RequestReady,
    GameServerState::Ready,
    GameServerState::Shutdown,
    GameServerState::Error,
    GameServerState::Unhealthy,
    GameServerState::Reserved,
    GameServerState::Allocated,
];

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(caches) = self.0.caches().filter(|_| self.0.leads()) else { return Ok(()) };
        let mut tell = Teller(&mut encoder);
        caches.servers(&mut tell)?;
        caches.nodes(&mut tell)?;
        caches.fleets(&mut tell)?;
        caches.autoscalers(&mut tell)
    }
}

impl Debug for Gauges {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Gauges")
    }
}

/// Writes gauges.
struct Teller<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Teller<'_, '_> {
    fn gauge<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, i64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (label, value) in values {
            ConstGauge::new(value).encode(family.encode_family(&label)?)?;
        }
        Ok(())
    }
}

impl Caches {
    /// The number of servers on each node that is not one of the system's.
    pub(super) fn servers_on_nodes(&self) -> Option<BTreeMap<String, usize>> {
        let (nodes, servers) = (self.nodes.as_ref()?, self.servers.as_ref()?);
        let mut count: BTreeMap<String, usize> = nodes
            .store()
            .list()
            .iter()
            .filter(|node| !node.is_of_system())
            .map(|node| (node.name().to_owned(), 0))
            .collect();
        for server in servers.store().list() {
            if let Some(servers) = count.get_mut(&server.status.node_name) {
                *servers += 1;
            }
        }
        Some(count)
    }

    fn servers(&self, tell: &mut Teller<'_, '_>) -> fmt::Result {
        let Some(servers) = &self.servers else { return Ok(()) };
        let mut count: BTreeMap<OfState, i64> = BTreeMap::new();
        let mut of_fleet = |namespace: &str, fleet: &str| {
            for state in STATES {
                let label = OfState {
                    namespace: namespace.to_owned(),
                    fleet_name: fleet.to_owned(),
                    r#type: state.to_string(),
                };
                count.entry(label).or_default();
            }
        };
        let fleets = self.fleets.as_ref().map(|fleets| fleets.store().list()).unwrap_or_default();
        fleets.iter().for_each(|fleet| of_fleet(fleet.namespace(), fleet.name()));
        let servers = servers.store().list();
        for server in servers.iter().filter(|server| fleet_of(server) == NONE) {
            of_fleet(server.namespace(), NONE);
        }
        for server in &servers {
            *count.entry(OfState::new(server, &server.status.state)).or_default() += 1;
        }
        tell.gauge("gameservers_count", "The number of gameservers", count)
    }

    fn nodes(&self, tell: &mut Teller<'_, '_>) -> fmt::Result {
        let Some(count) = self.servers_on_nodes() else { return Ok(()) };
        let empty = count.values().filter(|servers| **servers == 0).count();
        let values = [("true", empty), ("false", count.len() - empty)];
        let values = values.map(|(empty, nodes)| (OfNodes { empty }, number(nodes)));
        tell.gauge("nodes_count", "The count of nodes in the cluster", values)
    }

    fn fleets(&self, tell: &mut Teller<'_, '_>) -> fmt::Result {
        let Some(fleets) = &self.fleets else { return Ok(()) };
        let fleets = living(fleets);
        let of = |fleet: &Fleet, kind: &'static str| OfFleet {
            name: fleet.name().to_owned(),
            r#type: kind,
            namespace: fleet.namespace().to_owned(),
        };
        let replicas = fleets.iter().flat_map(|fleet| {
            let counts = [
                ("total", fleet.status.replicas),
                ("allocated", fleet.status.allocated_replicas),
                ("ready", fleet.status.ready_replicas),
                ("desired", fleet.spec.replicas),
                ("reserved", fleet.status.reserved_replicas),
            ];
            counts.map(|(kind, count)| (of(fleet, kind), count.into()))
        });
        tell.gauge("fleets_replicas_count", "The number of replicas per fleet", replicas)?;
        if let Some(sets) = &self.sets {
            let sets = sets.store().list();
            let rollouts = fleets.iter().flat_map(|fleet| {
                let active = children(fleet, &sets).active;
                let current = active.map_or(0, |set| set.status.replicas);
                [("current_replicas", current), ("desired_replicas", fleet.spec.replicas)]
                    .map(|(kind, count)| (of(fleet, kind), count.into()))
            });
            tell.gauge("fleet_rollout_percent", "The current fleet rollout percentage", rollouts)?;
        }
        let counters = fleets.iter().flat_map(|fleet| {
            each(&fleet.status.counters).map(|(counter, kind, count)| {
                let OfFleet { name, r#type, namespace } = of(fleet, kind);
                (OfCounter { name, r#type, namespace, counter }, count)
            })
        });
        let help = "Aggregated Counters counts and capacity across GameServers in the Fleet";
        tell.gauge("fleet_counters", help, counters)?;
        let lists = fleets.iter().flat_map(|fleet| {
            each(&fleet.status.lists).map(|(list, kind, count)| {
                let OfFleet { name, r#type, namespace } = of(fleet, kind);
                (OfList { name, r#type, namespace, list }, count)
            })
        });
        let help = "Aggregated Lists counts and capacity across GameServers in the Fleet";
        tell.gauge("fleet_lists", help, lists)
    }

    fn autoscalers(&self, tell: &mut Teller<'_, '_>) -> fmt::Result {
        let Some(autoscalers) = &self.autoscalers else { return Ok(()) };
        let autoscalers = living(autoscalers);
        let of = |autoscaler: &FleetAutoscaler| OfAutoscaler {
            name: autoscaler.name().to_owned(),
            fleet_name: autoscaler.spec.fleet_name.clone(),
            namespace: autoscaler.namespace().to_owned(),
        };
        let of_buffer = |autoscaler: &FleetAutoscaler, kind: &'static str| {
            let OfAutoscaler { name, fleet_name, namespace } = of(autoscaler);
            OfBuffer { name, fleet_name, r#type: kind, namespace }
        };
        let buffers: Vec<_> =
            autoscalers.iter().filter_map(|one| Some((one, applied_buffer(one)?))).collect();
        let limits = buffers.iter().flat_map(|(autoscaler, buffer)| {
            [("max", buffer.max_replicas), ("min", buffer.min_replicas)]
                .map(|(kind, limit)| (of_buffer(autoscaler, kind), limit.into()))
        });
        let help = "The limits of buffer based fleet autoscalers";
        tell.gauge("fleet_autoscalers_buffer_limits", help, limits)?;
        let sizes = buffers.iter().filter_map(|(autoscaler, buffer)| {
            let (kind, size) = match &buffer.buffer_size {
                IntOrString::Int(size) => ("count", *size),
                IntOrString::String(percent) => ("percentage", percent.strip_suffix('%')?.parse().ok()?),
            };
            Some((of_buffer(autoscaler, kind), size))
        });
        tell.gauge("fleet_autoscalers_buffer_size", "The buffer size of fleet autoscalers", sizes)?;
        let mut each = |name: &str, help: &str, value: fn(&FleetAutoscaler) -> i64| {
            tell.gauge(name, help, autoscalers.iter().map(|autoscaler| (of(autoscaler), value(autoscaler))))
        };
        let help = "The current replicas count as seen by autoscalers";
        each("fleet_autoscalers_current_replicas_count", help, |one| one.status.current_replicas.into())?;
        let help = "The desired replicas count as seen by autoscalers";
        each("fleet_autoscalers_desired_replicas_count", help, |one| one.status.desired_replicas.into())?;
        let help = "The fleet autoscaler can access the fleet to scale";
        each("fleet_autoscalers_able_to_scale", help, |one| one.status.able_to_scale.into())?;
        let help = "The fleet autoscaler is capped";
        each("fleet_autoscalers_limited", help, |one| one.status.scaling_limited.into())
    }
}

/// What is not on its way out, of a kind that there are few of.
fn living<K: lariat::prelude::Object>(lister: &Lister<K>) -> Vec<Arc<K>> {
    lister.store().list_where(|object| !object.meta().is_being_deleted())
}

/// The buffer policy that decides: that of the chain or schedule which was applied last (issue 4356).
fn applied_buffer(autoscaler: &FleetAutoscaler) -> Option<&BufferPolicy> {
    let mut policy: &FleetAutoscalerPolicy = &autoscaler.spec.policy;
    if policy.kind == "Chain" {
        let applied = autoscaler.status.last_applied_policy.strip_prefix("Chain:")?;
        let (id, _) = applied.rsplit_once(':')?;
        policy = &policy.chain.iter().find(|entry| entry.id == id)?.policy;
    }
    if let (Some(schedule), "Schedule") = (&policy.schedule, policy.kind.as_str()) {
        policy = &schedule.policy;
    }
    policy.buffer.as_ref().filter(|_| policy.kind == "Buffer")
}

/// The sums of counters or lists, by what they are sums of.
fn each(sums: &BTreeMap<String, AggregatedStatus>) -> impl Iterator<Item = (String, &'static str, i64)> {
    sums.iter().flat_map(|(name, sum)| {
        let values = [
            ("allocated_count", sum.allocated_count),
            ("allocated_capacity", sum.allocated_capacity),
            ("total_count", sum.count),
            ("total_capacity", sum.capacity),
        ];
        values.map(|(kind, value)| (name.clone(), kind, value))
    })
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
