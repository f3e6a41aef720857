//! Tables, as `kubectl get` shows them: columns and rows.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::value::{at, entries, flag, int, items, text, text_at};
use super::{Strategy, event, meta, pod};
use crate::schema::shared;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// What stands at its head.
    pub name: &'static str,
    /// The type of its cells.
    pub column_type: &'static str,
    /// `name` for the column that holds the objects' names.
    pub format: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// 0, or 1 for columns that are shown with `-o wide` only.
    pub priority: i32,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its cells, one for each column.
    pub cells: Vec<Value>,
    /// That the object is done, for pods that are.
    pub conditions: Vec<Value>,
}

const NAME: Column = Column {
    name: "Name",
    column_type: "string",
    format: "name",
    description: "The object's name, which no other of its kind in the namespace has.",
    priority: 0,
};
const AGE: Column = column("Age", "How long ago the object was created.");
const CONFIG_DATA: Column = column("Data", "How many entries the config map has.");

const fn column(name: &'static str, description: &'static str) -> Column {
    Column { name, column_type: "string", format: "", description, priority: 0 }
}

const fn typed(name: &'static str, column_type: &'static str, description: &'static str) -> Column {
    Column { name, column_type, format: "", description, priority: 0 }
}

const fn wide(name: &'static str, description: &'static str) -> Column {
    Column { name, column_type: "string", format: "", description, priority: 1 }
}

const CONFIG_MAPS: &[Column] = &[NAME, CONFIG_DATA, AGE];
const DEFINITIONS: &[Column] = &[NAME, typed("Created At", "date", "When the definition was created.")];
const EVENTS: &[Column] = &[
    column("Last Seen", "When this happened last."),
    column("Type", "How serious it is."),
    column("Reason", "What happened, in one word."),
    column("Object", "What it happened to."),
    wide("Subobject", "The part of the object that it happened to."),
    wide("Source", "Who reports it."),
    column("Message", "What happened, in words."),
    wide("First Seen", "When this happened first."),
    wide("Count", "How often this happened."),
    Column { priority: 1, ..NAME },
];
const LEASES: &[Column] = &[NAME, column("Holder", "Who holds the lease."), AGE];
const NAMESPACES: &[Column] = &[NAME, column("Status", "The namespace's phase."), AGE];
const NODES: &[Column] = &[
    NAME,
    column("Status", "Whether the node is ready, and whether pods are scheduled to it."),
    column("Roles", "What the node's labels say that it is for."),
    AGE,
    column("Version", "The version of the node's kubelet."),
    wide("Internal-IP", "The node's address within the cluster."),
    wide("External-IP", "The node's address for the world."),
    wide("OS-Image", "The node's operating system."),
    wide("Kernel-Version", "The version of the node's kernel."),
    wide("Container-Runtime", "What runs the node's containers."),
];
const PODS: &[Column] = &[
    NAME,
    column("Ready", "How many of the pod's containers are ready."),
    column("Status", "The state of the pod's containers."),
    column("Restarts", "How often the pod's containers were restarted, and when last."),
    AGE,
    wide("IP", "The pod's address."),
    wide("Node", "The node that the pod is bound to."),
    wide("Nominated Node", "The node that other pods are leaving for this one."),
    wide("Readiness Gates", "How many of the pod's further conditions are met."),
];
const PRIORITY_CLASSES: &[Column] = &[
    NAME,
    typed("Value", "integer", "The priority of the pods of this class."),
    typed("Global-Default", "boolean", "Whether pods without a class are of this one."),
    AGE,
    column("PreemptionPolicy", "Whether pods of this class make others leave."),
];
pub(crate) const SCALES: &[Column] = &[
    NAME,
    typed("Desired", "integer", "How many are wanted."),
    typed("Available", "integer", "How many there are."),
    Column { column_type: "date", ..AGE },
];
const SECRETS: &[Column] = &[
    NAME,
    column("Type", "What the secret is for."),
    column("Data", "How many entries the secret has."),
    AGE,
];
const SERVICES: &[Column] = &[
    NAME,
    column("Type", "How the service can be reached."),
    column("Cluster-IP", "The service's address within the cluster."),
    column("External-IP", "The service's addresses for the world."),
    column("Port(s)", "The service's ports."),
    AGE,
    wide("Selector", "The labels of the pods behind the service."),
];

impl Strategy {
    /// The columns of a table of objects.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::ConfigMap => CONFIG_MAPS,
            Self::CustomResourceDefinition => DEFINITIONS,
            Self::Event | Self::EventsEvent => EVENTS,
            Self::Lease => LEASES,
            Self::Namespace => NAMESPACES,
            Self::Node => NODES,
            Self::Pod => PODS,
            Self::PriorityClass => PRIORITY_CLASSES,
            Self::Secret => SECRETS,
            Self::Service => SERVICES,
            Self::Binding
            | Self::Eviction
            | Self::SelfSubjectAccessReview
            | Self::SelfSubjectReview
            | Self::SelfSubjectRulesReview
            | Self::ServiceAccount => &[NAME, AGE],
        }
    }

    /// The row of an object in a table.
    pub fn row(self, object: &Value, now: SystemTime) -> Row {
        let name = meta::name(object);
        let created = text_at(object, &["metadata", "creationTimestamp"]);
        let since = age(created, now);
        let mut conditions = Vec::new();
        let cells = match self {
            Self::ConfigMap => {
                let count = entries(object, &["data"]).count() + entries(object, &["binaryData"]).count();
                vec![json!(name), json!(count), json!(since)]
            }
            Self::CustomResourceDefinition => vec![json!(name), json!(created)],
            Self::Event => event_cells(object, now),
            Self::EventsEvent => event_cells(&event::to_core(object), now),
            Self::Lease => {
                vec![json!(name), json!(text_at(object, &["spec", "holderIdentity"])), json!(since)]
            }
            Self::Namespace => vec![json!(name), json!(text_at(object, &["status", "phase"])), json!(since)],
            Self::Node => node_cells(object, &since),
            Self::Pod => {
                conditions = done(text_at(object, &["status", "phase"]));
                pod_cells(object, &since, now)
            }
            Self::PriorityClass => vec![
                json!(name),
                json!(int(object, &["value"]).unwrap_or_default()),
                json!(flag(object, &["globalDefault"])),
                json!(since),
                json!(text(object, "preemptionPolicy")),
            ],
            Self::Secret => {
                let count = entries(object, &["data"]).count();
                vec![json!(name), json!(text(object, "type")), json!(count), json!(since)]
            }
            Self::Service => service_cells(object, &since),
            Self::Binding
            | Self::Eviction
            | Self::SelfSubjectAccessReview
            | Self::SelfSubjectReview
            | Self::SelfSubjectRulesReview
            | Self::ServiceAccount => vec![json!(name), json!(since)],
        };
        Row { cells, conditions }
    }
}

/// The cells of a scale's row.
pub(crate) fn scale_cells(scale: &Value, now: SystemTime) -> Vec<Value> {
    let replicas = |part: &str| json!(int(scale, &[part, "replicas"]).unwrap_or_default());
    let since = age(text_at(scale, &["metadata", "creationTimestamp"]), now);
    vec![json!(meta::name(scale)), replicas("spec"), replicas("status"), json!(since)]
}

/// How long ago a time is; `<unknown>` if there is none.
pub(crate) fn age(text: &str, now: SystemTime) -> String {
    if text.is_empty() { "<unknown>".into() } else { shared::age(text, now) }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// The first address of a kind that a node has.
fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let addresses = items(node, &["status", "addresses"]).iter();
    let address =
        addresses.filter(|address| text(address, "type") == kind).map(|found| text(found, "address"));
    or(address.into_iter().next().unwrap_or_default(), "<none>")
}

fn node_cells(node: &Value, since: &str) -> Vec<Value> {
    let conditions = items(node, &["status", "conditions"]);
    let ready = conditions.iter().rev().find(|condition| text(condition, "type") == "Ready");
    let mut status = match ready.map(|condition| text(condition, "status")) {
        None => "Unknown".to_owned(),
        Some("True") => "Ready".into(),
        Some(_) => "NotReady".into(),
    };
    if flag(node, &["spec", "unschedulable"]) {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles: Vec<_> = entries(node, &["metadata", "labels"])
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some("") => None,
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str().filter(|role| !role.is_empty()),
            None => None,
        })
        .collect();
    roles.sort_unstable();
    roles.dedup();
    let info = |field: &str| json!(or(text_at(node, &["status", "nodeInfo", field]), "<unknown>"));
    let kernel = match text_at(node, &["status", "nodeInfo", "architecture"]) {
        "" => info("kernelVersion"),
        architecture => {
            json!(format!("{} ({architecture})", info("kernelVersion").as_str().unwrap_or_default()))
        }
    };
    vec![
        json!(meta::name(node)),
        json!(status),
        json!(or(&roles.join(","), "<none>")),
        json!(since),
        json!(text_at(node, &["status", "nodeInfo", "kubeletVersion"])),
        json!(address(node, "InternalIP")),
        json!(address(node, "ExternalIP")),
        info("osImage"),
        kernel,
        info("containerRuntimeVersion"),
    ]
}

fn pod_cells(pod: &Value, since: &str, now: SystemTime) -> Vec<Value> {
    let summary = pod::summary(pod, now);
    let gates = items(pod, &["spec", "readinessGates"]);
    let conditions = items(pod, &["status", "conditions"]);
    let met = |gate: &&Value| {
        let kind = text(gate, "conditionType");
        conditions.iter().any(|known| text(known, "type") == kind && text(known, "status") == "True")
    };
    let gates = match gates.len() {
        0 => "<none>".to_owned(),
        total => format!("{}/{total}", gates.iter().filter(met).count()),
    };
    let ip = items(pod, &["status", "podIPs"]).first().map(|ip| text(ip, "ip")).unwrap_or_default();
    vec![
        json!(meta::name(pod)),
        json!(summary.ready),
        json!(summary.status),
        json!(summary.restarts),
        json!(since),
        json!(or(ip, "<none>")),
        json!(or(text_at(pod, &["spec", "nodeName"]), "<none>")),
        json!(or(text_at(pod, &["status", "nominatedNodeName"]), "<none>")),
        json!(gates),
    ]
}

/// Clients can hide the rows of pods that are done.
fn done(phase: &str) -> Vec<Value> {
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return Vec::new(),
    };
    vec![json!({"type": "Completed", "status": "True", "reason": phase, "message": message})]
}

fn event_cells(event: &Value, now: SystemTime) -> Vec<Value> {
    let (first, last) = event::times(event);
    vec![
        json!(age(last, now)),
        json!(text(event, "type")),
        json!(text(event, "reason")),
        json!(event::target(event)),
        json!(text_at(event, &["involvedObject", "fieldPath"])),
        json!(event::reporter(event)),
        json!(text(event, "message").trim()),
        json!(age(first, now)),
        json!(event::count(event)),
        json!(meta::name(event)),
    ]
}

fn service_cells(service: &Value, since: &str) -> Vec<Value> {
    let kind = text_at(service, &["spec", "type"]);
    let list = |path: &[&str]| items(service, path).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let external = list(&["spec", "externalIPs"]);
    let external = match kind {
        "LoadBalancer" => {
            let ingress = items(service, &["status", "loadBalancer", "ingress"]).iter();
            let given = ingress.map(|ingress| or(text(ingress, "ip"), text(ingress, "hostname")));
            let all: Vec<_> = given.filter(|address| !address.is_empty()).chain(external).collect();
            or(&all.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text_at(service, &["spec", "externalName"]).to_owned(),
        _ => or(&external.join(","), "<none>").to_owned(),
    };
    let ports = items(service, &["spec", "ports"]).iter().map(|port| {
        let number = int(port, &["port"]).unwrap_or_default();
        let protocol = text(port, "protocol");
        match int(port, &["nodePort"]).unwrap_or_default() {
            0 => format!("{number}/{protocol}"),
            node_port => format!("{number}:{node_port}/{protocol}"),
        }
    });
    let ports: Vec<_> = ports.collect();
    let selector = entries(service, &["spec", "selector"])
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let selector: Vec<_> = selector.collect();
    let cluster_ip = at(service, &["spec", "clusterIPs"]).map_or_else(
        || text_at(service, &["spec", "clusterIP"]),
        |ips| ips.get(0).and_then(Value::as_str).unwrap_or_default(),
    );
    vec![
        json!(meta::name(service)),
        json!(kind),
        json!(or(cluster_ip, "<none>")),
        json!(external),
        json!(or(&ports.join(","), "<none>")),
        json!(since),
        json!(or(&selector.join(","), "<none>")),
    ]
}
