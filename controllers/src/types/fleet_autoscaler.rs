use std::time::Duration;

use lariat::api::{IntOrString, Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::nullable;

/// How the size of a fleet follows its use: `autoscaling.agones.dev/v1 FleetAutoscaler`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetAutoscaler {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: FleetAutoscalerSpec,
    /// What was done.
    #[serde(default)]
    pub status: FleetAutoscalerStatus,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What an autoscaler is to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetAutoscalerSpec {
    /// The fleet, in the same namespace.
    pub fleet_name: String,
    /// How the size is found.
    pub policy: FleetAutoscalerPolicy,
    /// How often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<FleetAutoscalerSync>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How the size of a fleet is found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetAutoscalerPolicy {
    /// Which of the policies: `Buffer` and others.
    #[serde(rename = "type")]
    pub kind: String,
    /// The settings of a `Buffer` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferPolicy>,
    /// The settings of a `Webhook` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookPolicy>,
    /// The settings of a `Counter` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<CapacityPolicy>,
    /// The settings of a `List` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<CapacityPolicy>,
    /// The settings of a `Schedule` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Box<SchedulePolicy>>,
    /// The policies of a `Chain`, of which the first that applies is followed.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub chain: Vec<ChainEntry>,
    /// The settings of a `Wasm` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmPolicy>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Asks somebody else over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookPolicy {
    /// Where to ask, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whom to ask in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceReference>,
    /// The certificates of the authority to trust, in PEM and then in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A service in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceReference {
    /// Its namespace; `default` if none is given.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The path to ask at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its port; 8000 if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Keeps some of the capacity of a counter or a list free.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapacityPolicy {
    /// The name of the counter or list.
    #[serde(default)]
    pub key: String,
    /// The most capacity of all servers together.
    #[serde(default)]
    pub max_capacity: i64,
    /// The least capacity of all servers together.
    #[serde(default)]
    pub min_capacity: i64,
    /// How much is to be free, as a number or as a percentage of all.
    #[serde(default = "no_buffer")]
    pub buffer_size: IntOrString,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Follows a policy at certain times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulePolicy {
    /// From when to when there are such times at all.
    #[serde(deserialize_with = "nullable")]
    pub between: Between,
    /// When they are.
    #[serde(deserialize_with = "nullable")]
    pub active_period: ActivePeriod,
    /// What is followed then.
    #[serde(deserialize_with = "nullable")]
    pub policy: FleetAutoscalerPolicy,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A span of time, open where nothing is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Between {
    /// Its begin, in RFC 3339.
    pub start: Option<String>,
    /// Its end, in RFC 3339.
    pub end: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Times that recur.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ActivePeriod {
    /// The time zone by its IANA name; UTC if none is given.
    pub timezone: String,
    /// When such a time begins, as a cron expression; always if none is given.
    pub start_cron: String,
    /// How long it is, as Go writes durations; without end if none is given.
    pub duration: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One policy of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChainEntry {
    /// Its name among them.
    pub id: String,
    /// The policy.
    #[serde(flatten)]
    pub policy: FleetAutoscalerPolicy,
}

/// Asks a program in WebAssembly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WasmPolicy {
    /// The function to call; `scale` if none is given.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Where the program comes from.
    #[serde(deserialize_with = "nullable")]
    pub from: WasmFrom,
    /// Its SHA-256, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Where a program comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WasmFrom {
    /// A place to fetch it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<WebhookPolicy>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Keeps some servers free.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BufferPolicy {
    /// The most servers.
    #[serde(default)]
    pub max_replicas: i32,
    /// The least servers.
    #[serde(default)]
    pub min_replicas: i32,
    /// How many servers are to be free, as a number or as a percentage of all.
    #[serde(default = "no_buffer")]
    pub buffer_size: IntOrString,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How often an autoscaler looks at its fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetAutoscalerSync {
    /// `FixedInterval`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The interval.
    pub fixed_interval: FixedInterval,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A fixed interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedInterval {
    /// Its length in seconds.
    pub seconds: i32,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What an autoscaler did last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetAutoscalerStatus {
    /// How many servers the fleet had.
    pub current_replicas: i32,
    /// How many it was to have.
    pub desired_replicas: i32,
    /// When the size was changed last, in RFC 3339.
    pub last_scale_time: Option<String>,
    /// Whether the fleet could be scaled at all.
    pub able_to_scale: bool,
    /// Whether a limit of the policy kept the size from what it would have been.
    pub scaling_limited: bool,
    /// The policy that said so.
    pub last_applied_policy: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What an autoscaler gets that does not say how often it looks.
const DEFAULT_SYNC: Duration = Duration::from_secs(30);

impl FleetAutoscalerSpec {
    /// How often the autoscaler looks at its fleet: 30 s if it does not say, or says nothing sensible.
    pub fn sync_period(&self) -> Duration {
        let seconds = self.sync.as_ref().map_or(0, |sync| sync.fixed_interval.seconds);
        match u64::try_from(seconds) {
            Ok(seconds @ 1..) => Duration::from_secs(seconds),
            _ => DEFAULT_SYNC,
        }
    }
}

fn no_buffer() -> IntOrString {
    IntOrString::Int(0)
}

impl Object for FleetAutoscaler {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for FleetAutoscaler {
    const KIND: Kind =
        Kind::namespaced("autoscaling.agones.dev", "v1", "FleetAutoscaler", "fleetautoscalers");
}
