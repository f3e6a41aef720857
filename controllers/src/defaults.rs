//! What objects have where nobody wrote anything: the admission webhook of the original writes these.
//!
//! The loops call them too, so that objects which no webhook has seen behave the same.

use lariat::api::IntOrString;
use serde_json::Value;

use crate::gates::{FeatureGates, Gate};
use crate::types::{
    Eviction, Fleet, FleetAutoscaler, FleetAutoscalerSync, GameServer, GameServerSpec, GameServerState,
    PlayerStatus, RollingUpdate, names,
};

/// The version that objects are marked with.
pub const SDK_VERSION: &str = "dev";

/// What the period of an autoscaler is if it has none, in seconds.
const SYNC_SECONDS: i32 = 30;

/// A server as admission makes it: defaults, annotation, finalizer, first state and the status that its spec gives.
pub fn game_server(server: &mut GameServer, gates: FeatureGates) {
    server.metadata.annotations.insert(names::SDK_VERSION, SDK_VERSION);
    server.metadata.finalizers.push(names::FINALIZER.to_owned());
    game_server_spec(&mut server.spec);

    let GameServer { spec, status, .. } = server;
    if status.state == GameServerState::None {
        let needs_ports =
            spec.ports.iter().any(|port| matches!(&*port.port_policy, "Dynamic" | "Passthrough"));
        status.state = if needs_ports { GameServerState::PortAllocation } else { GameServerState::Creating };
    }
    if gates.has(Gate::PlayerTracking) && status.players.is_none() {
        let capacity = spec.players.as_ref().map_or(0, |players| players.initial_capacity);
        status.players = Some(PlayerStatus { capacity, ..PlayerStatus::default() });
    }
    if gates.has(Gate::CountsAndLists) {
        if !spec.counters.is_empty() {
            status.counters.clone_from(&spec.counters);
        }
        if !spec.lists.is_empty() {
            status.lists.clone_from(&spec.lists);
        }
    }
    status.eviction.clone_from(&spec.eviction);
    let annotation = spec
        .template
        .get()
        .ok()
        .and_then(|template| template["metadata"]["annotations"][names::SAFE_TO_EVICT].as_str());
    if annotation == Some("true") {
        status.eviction.get_or_insert_default().safe = "Always".to_owned();
    }
}

/// What a server's spec has where nothing was written.
pub fn game_server_spec(spec: &mut GameServerSpec) {
    let containers = spec.template.get().ok().map(|template| containers_of(template, "containers"));
    if let Some([only]) = containers {
        spec.container = only["name"].as_str().unwrap_or_default().to_owned();
    }
    for port in &mut spec.ports {
        or_else(&mut port.range, "default");
        or_else(&mut port.port_policy, "Dynamic");
        or_else(&mut port.protocol, "UDP");
        if port.container.as_deref().is_none_or(str::is_empty) {
            port.container = Some(spec.container.clone());
        }
    }
    if !spec.health.disabled {
        let positive = |number: &mut i32, default| *number = if *number <= 0 { default } else { *number };
        positive(&mut spec.health.period_seconds, 5);
        positive(&mut spec.health.failure_threshold, 3);
        positive(&mut spec.health.initial_delay_seconds, 5);
    }
    or_else(&mut spec.scheduling, "Packed");
    or_else(&mut spec.sdk_server.log_level, "Info");
    if spec.sdk_server.grpc_port == 0 {
        spec.sdk_server.grpc_port = 9357;
    }
    if spec.sdk_server.http_port == 0 {
        spec.sdk_server.http_port = 9358;
    }
    or_else(&mut spec.eviction.get_or_insert_with(Eviction::default).safe, "Never");
}

/// A fleet as admission makes it.
pub fn fleet(fleet: &mut Fleet) {
    let strategy = &mut fleet.spec.strategy;
    or_else(&mut strategy.kind, "RollingUpdate");
    or_else(&mut fleet.spec.scheduling, "Packed");
    if strategy.kind == "RollingUpdate" {
        rolling_update(strategy.rolling_update.get_or_insert_default());
    }
    fleet.metadata.annotations.insert(names::SDK_VERSION, SDK_VERSION);
}

/// How many servers are replaced at a time where nothing was written: a quarter.
pub fn rolling_update(update: &mut RollingUpdate) {
    let quarter = || IntOrString::from("25%");
    update.max_surge.get_or_insert_with(quarter);
    update.max_unavailable.get_or_insert_with(quarter);
}

/// An autoscaler as admission makes it.
pub fn fleet_autoscaler(autoscaler: &mut FleetAutoscaler, gates: FeatureGates) {
    let _ = gates;
    let sync = autoscaler.spec.sync.get_or_insert_with(FleetAutoscalerSync::default);
    if sync.kind.is_empty() {
        "FixedInterval".clone_into(&mut sync.kind);
    }
    if sync.fixed_interval.seconds == 0 {
        sync.fixed_interval.seconds = SYNC_SECONDS;
    }
}

/// The containers of a pod template, under `containers` or `initContainers`.
pub(crate) fn containers_of<'a>(template: &'a Value, field: &str) -> &'a [Value] {
    template["spec"][field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn or_else(text: &mut String, default: &str) {
    if text.is_empty() {
        default.clone_into(text);
    }
}
