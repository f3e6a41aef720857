use std::time::Duration;

use lariat::api::{IntOrString, Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// The settings of other policies.
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
