//! What the pod of a server looks like (reference 2.5).

use std::collections::BTreeMap;
use std::time::Duration;

use lariat::api::{Metadata, Object, Resource};
use serde_json::{Map, Value, json};

use super::settings::PodSettings;
use crate::gates::{FeatureGates, Gate};
use crate::quantity::Quantity;
use crate::types::{GameServer, GameServerPort, Undecodable, names};

/// Why a server can have no pod.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PodError {
    /// The container of the game is not in the template.
    #[error("failed to find container named {0} in pod spec")]
    NoGameContainer(String),
    /// The container of a port is not in the template.
    #[error("failed to find container named {0} in pod spec")]
    NoContainer(String),
    /// Nothing says when the pod may be moved: no default was applied.
    #[error("No eviction value set. Should be the default value")]
    NoEviction,
    /// It is not known when the pod may be moved.
    #[error("unknown eviction.safe value {0:?}")]
    UnknownEviction(String),
    /// The template is not one.
    #[error("spec.template {0}")]
    Template(#[from] Undecodable),
}

impl PodError {
    /// Whether another try could help, since the fault is not one of the template alone.
    pub(super) fn is_retried(&self) -> bool {
        matches!(self, Self::NoGameContainer(_))
    }
}

/// Where the service account's token is, which games have no business with.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

const GRPC_PORT: &str = "AGONES_SDK_GRPC_PORT";
const HTTP_PORT: &str = "AGONES_SDK_HTTP_PORT";

/// The pod of a server that has its defaults and its host ports.
///
/// # Errors
///
/// If its template does not make one; see [`PodError`].
pub fn pod(server: &GameServer, settings: &PodSettings, gates: FeatureGates) -> Result<Value, PodError> {
    let template = server.spec.template.get()?;
    let mut metadata = object(&template["metadata"]);
    let mut spec = object(&template["spec"]);
    for field in ["generateName", "uid", "resourceVersion", "creationTimestamp", "namespace", "managedFields"]
    {
        metadata.remove(field);
    }
    metadata.insert("name".to_owned(), server.name().into());
    metadata.insert("namespace".to_owned(), server.namespace().into());
    label_and_annotate(&mut metadata, server);
    evict(&mut metadata, server)?;
    if spec.get("hostname").and_then(Value::as_str).is_none_or(str::is_empty) {
        spec.insert("hostname".to_owned(), server.name().replace('.', "-").into());
    }

    let passed_through = add_ports(&mut spec, server, gates)?;
    if !passed_through.is_empty() {
        let assignment = json!(passed_through).to_string();
        field(&mut metadata, "annotations").insert(names::PASSTHROUGH_PORTS.to_owned(), assignment.into());
    }
    let game = &server.spec.container;
    let Some(container) = container_mut(&mut spec, "containers", game) else {
        return Err(PodError::NoGameContainer(game.clone()));
    };
    probe(container, server);
    if spec.get("serviceAccountName").and_then(Value::as_str).is_none_or(str::is_empty) {
        hide_token(&mut spec, game);
        spec.insert("serviceAccountName".to_owned(), settings.sdk_service_account.as_str().into());
    }
    tell_sdk_ports(&mut spec, server);
    add_sidecar(&mut spec, server, settings, gates);
    if server.spec.scheduling == "Packed" {
        prefer_company(&mut spec);
    }
    Ok(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}

fn label_and_annotate(metadata: &mut Map<String, Value>, server: &GameServer) {
    let labels = field(metadata, "labels");
    labels.insert(names::ROLE.to_owned(), names::ROLE_GAME_SERVER.into());
    labels.insert(names::GAME_SERVER.to_owned(), server.name().into());
    let annotations = field(metadata, "annotations");
    annotations.insert(names::CONTAINER.to_owned(), server.spec.container.as_str().into());
    let version = server.metadata.annotation(names::SDK_VERSION).unwrap_or_default();
    annotations.insert(names::SDK_VERSION.to_owned(), version.into());
    let kind = GameServer::KIND;
    let owner = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind(), "name": server.name(), "uid": server.uid(),
        "controller": true, "blockOwnerDeletion": true,
    });
    let owners = metadata.entry("ownerReferences").or_insert(Value::Null);
    match owners.as_array_mut() {
        Some(owners) => owners.push(owner),
        None => *owners = json!([owner]),
    }
}

fn evict(metadata: &mut Map<String, Value>, server: &GameServer) -> Result<(), PodError> {
    let safe = server.status.eviction.as_ref().map(|eviction| eviction.safe.as_str());
    let (annotation, label) = match safe {
        None => return Err(PodError::NoEviction),
        Some("Always") => ("true", "true"),
        Some("OnUpgrade") => ("false", "true"),
        Some("Never") => ("false", "false"),
        Some(other) => return Err(PodError::UnknownEviction(other.to_owned())),
    };
    field(metadata, "annotations").entry(names::SAFE_TO_EVICT).or_insert(annotation.into());
    field(metadata, "labels").entry(names::SAFE_TO_EVICT_LABEL).or_insert(label.into());
    Ok(())
}

/// Gives each container its ports, and returns which of them are passed through, by container and place.
fn add_ports(
    spec: &mut Map<String, Value>,
    server: &GameServer,
    gates: FeatureGates,
) -> Result<BTreeMap<String, Vec<usize>>, PodError> {
    let mut passed_through: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for port in &server.spec.ports {
        let name = port.container.as_deref().unwrap_or(&server.spec.container);
        let is_regular = container_mut(spec, "containers", name).is_some();
        let kind = if is_regular { "containers" } else { "initContainers" };
        let container = container_mut(spec, kind, name).filter(|container| {
            is_regular || container.get("restartPolicy").is_some_and(|policy| policy == "Always")
        });
        let Some(container) = container else { return Err(PodError::NoContainer(name.to_owned())) };
        let ports = container.entry("ports").or_insert(Value::Null);
        if !ports.is_array() {
            *ports = json!([]);
        }
        if let Some(ports) = ports.as_array_mut() {
            if port.port_policy == "Passthrough" {
                passed_through.entry(name.to_owned()).or_default().push(ports.len());
            }
            ports.push(container_port(port, gates));
        }
    }
    Ok(passed_through)
}

fn container_port(port: &GameServerPort, gates: FeatureGates) -> Value {
    let mut entry = json!({"containerPort": port.container_port, "protocol": port.protocol});
    let has_none = port.port_policy == "None" && gates.has(Gate::PortPolicyNone);
    if !has_none && port.host_port != 0 {
        entry["hostPort"] = port.host_port.into();
    }
    entry
}

/// The game is asked through the sidecar, unless the template says how it is asked.
fn probe(container: &mut Map<String, Value>, server: &GameServer) {
    let health = &server.spec.health;
    if health.disabled || container.get("livenessProbe").is_some_and(|probe| !probe.is_null()) {
        return;
    }
    let probe = json!({
        "httpGet": {"path": "/gshealthz", "port": 8080},
        "initialDelaySeconds": health.initial_delay_seconds,
        "periodSeconds": health.period_seconds,
        "failureThreshold": health.failure_threshold,
    });
    container.insert("livenessProbe".to_owned(), probe);
}

fn hide_token(spec: &mut Map<String, Value>, game: &str) {
    list(spec, "volumes").push(json!({"name": "empty", "emptyDir": {}}));
    if let Some(container) = container_mut(spec, "containers", game) {
        let mount = json!({"name": "empty", "readOnly": true, "mountPath": TOKEN_PATH});
        list(container, "volumeMounts").push(mount);
    }
}

fn tell_sdk_ports(spec: &mut Map<String, Value>, server: &GameServer) {
    let sdk = &server.spec.sdk_server;
    for kind in ["initContainers", "containers"] {
        for container in list_mut(spec, kind) {
            let Some(container) = container.as_object_mut() else { continue };
            if container.get("name").is_some_and(|name| name == names::SIDECAR) {
                continue;
            }
            let env = list(container, "env");
            env.retain(|entry| entry["name"] != GRPC_PORT && entry["name"] != HTTP_PORT);
            for (name, port) in [(GRPC_PORT, sdk.grpc_port), (HTTP_PORT, sdk.http_port)] {
                if port != 0 {
                    env.push(json!({"name": name, "value": port.to_string()}));
                }
            }
        }
    }
}

fn add_sidecar(
    spec: &mut Map<String, Value>,
    server: &GameServer,
    settings: &PodSettings,
    gates: FeatureGates,
) {
    let sdk = &server.spec.sdk_server;
    let mut args = Vec::new();
    for (name, port) in [("grpc", sdk.grpc_port), ("http", sdk.http_port)] {
        if port != 0 {
            args.push(format!("--{name}-port={port}"));
        }
    }
    let mut sidecar = json!({
        "name": names::SIDECAR,
        "image": settings.sidecar_image,
        "args": args,
        "env": [
            {"name": "GAMESERVER_NAME", "value": server.name()},
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "FEATURE_GATES", "value": gates.to_string()},
            env("LOG_LEVEL", &sdk.log_level),
            {"name": "REQUESTS_RATE_LIMIT", "value": go_duration(settings.sidecar_requests_rate_limit)},
        ],
        "resources": resources(settings),
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8080}, "initialDelaySeconds": 3, "periodSeconds": 3,
        },
        "securityContext": {
            "runAsUser": settings.sidecar_run_as_user, "runAsNonRoot": true, "allowPrivilegeEscalation": false,
        },
    });
    if settings.always_pull_sidecar {
        sidecar["imagePullPolicy"] = "Always".into();
    }
    if gates.has(Gate::SidecarContainers) {
        sidecar["restartPolicy"] = "Always".into();
        list(spec, "initContainers").insert(0, sidecar);
        if spec.get("restartPolicy").and_then(Value::as_str).is_none_or(str::is_empty) {
            spec.insert("restartPolicy".to_owned(), "Never".into());
        }
    } else {
        list(spec, "containers").insert(0, sidecar);
    }
}

/// Go leaves an empty value out.
fn env(name: &str, value: &str) -> Value {
    if value.is_empty() { json!({"name": name}) } else { json!({"name": name, "value": value}) }
}

fn resources(settings: &PodSettings) -> Value {
    let amounts = |cpu: Option<Quantity>, memory: Option<Quantity>| {
        let known = [("cpu", cpu), ("memory", memory)];
        let known = known.into_iter().filter_map(|(name, amount)| Some((name, amount?)));
        let known = known.filter(|(_, amount)| !amount.is_zero());
        known.map(|(name, amount)| (name.to_owned(), amount.to_string().into())).collect::<Map<_, _>>()
    };
    let requests = amounts(settings.sidecar_cpu_request, settings.sidecar_memory_request);
    let limits = amounts(settings.sidecar_cpu_limit, settings.sidecar_memory_limit);
    let mut resources = Map::new();
    for (name, amounts) in [("requests", requests), ("limits", limits)] {
        if !amounts.is_empty() {
            resources.insert(name.to_owned(), amounts.into());
        }
    }
    resources.into()
}

/// Servers are to stand close together, so that nodes become empty.
fn prefer_company(spec: &mut Map<String, Value>) {
    let term = json!({
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": {names::ROLE: names::ROLE_GAME_SERVER}},
            "topologyKey": "kubernetes.io/hostname",
        },
    });
    let affinity = field(field(spec, "affinity"), "podAffinity");
    list(affinity, "preferredDuringSchedulingIgnoredDuringExecution").push(term);
}

/// As Go writes durations, down to milliseconds.
fn go_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let (seconds, rest) = (millis / 1_000, millis % 1_000);
    if millis == 0 {
        return "0s".to_owned();
    }
    if seconds == 0 {
        return format!("{rest}ms");
    }
    let fraction = format!(".{rest:03}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}{fraction}s"),
        (0, _) => format!("{minutes}m{seconds}{fraction}s"),
        _ => format!("{hours}h{minutes}m{seconds}{fraction}s"),
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// An object in a field, made if there is none.
fn field<'a>(parent: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let place = parent.entry(name).or_insert(Value::Null);
    if !place.is_object() {
        *place = Value::Object(Map::new());
    }
    match place {
        Value::Object(object) => object,
        _ => unreachable!("it was just made an object"),
    }
}

/// A list in a field, made if there is none.
fn list<'a>(parent: &'a mut Map<String, Value>, name: &str) -> &'a mut Vec<Value> {
    let place = parent.entry(name).or_insert(Value::Null);
    if !place.is_array() {
        *place = Value::Array(Vec::new());
    }
    match place {
        Value::Array(list) => list,
        _ => unreachable!("it was just made a list"),
    }
}

fn list_mut<'a>(parent: &'a mut Map<String, Value>, name: &str) -> impl Iterator<Item = &'a mut Value> {
    parent.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

fn container_mut<'a>(
    spec: &'a mut Map<String, Value>,
    kind: &str,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    list_mut(spec, kind)
        .filter_map(Value::as_object_mut)
        .find(|container| container.get("name").is_some_and(|known| known == name))
}
