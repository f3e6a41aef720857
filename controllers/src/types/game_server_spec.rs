use std::collections::BTreeMap;

use lariat::api::{Interned, ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Verbatim, is_default, nullable};

/// A pod template: kept as it was written, and looked at as a JSON value.
pub type PodTemplate = Interned<Verbatim<Value>>;

/// What a game server is made from: metadata and spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameServerTemplate {
    /// Labels and annotations of the servers.
    #[serde(deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    /// Their spec.
    #[serde(deserialize_with = "nullable")]
    pub spec: GameServerSpec,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a game server is to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerSpec {
    /// The container that the game runs in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// The ports that players connect to.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub ports: Vec<GameServerPort>,
    /// How the game's health is watched.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub health: Health,
    /// `Packed` or `Distributed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduling: String,
    /// How the sidecar is reached.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub sdk_server: SdkServer,
    /// What the pod is made from, as it was written.
    #[serde(skip_serializing_if = "Verbatim::is_absent")]
    pub template: PodTemplate,
    /// How many players there may be at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub players: Option<PlayersSpec>,
    /// The counters at first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub counters: BTreeMap<String, CounterStatus>,
    /// The lists at first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub lists: BTreeMap<String, ListStatus>,
    /// When the pod may be moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction: Option<Eviction>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A port that players connect to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerPort {
    /// What the port is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The range that a dynamic port is taken from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub range: String,
    /// `Dynamic`, `Static`, `Passthrough` or `None`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub port_policy: String,
    /// The container that listens; that of the game if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The port in the container.
    #[serde(skip_serializing_if = "is_default")]
    pub container_port: i32,
    /// The port on the node.
    #[serde(skip_serializing_if = "is_default")]
    pub host_port: i32,
    /// `UDP`, `TCP` or `TCPUDP`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a game's health is watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Health {
    /// Whether it is not.
    #[serde(skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// The seconds within which the game has to say that it is well.
    #[serde(skip_serializing_if = "is_default")]
    pub period_seconds: i32,
    /// How often it may fail to.
    #[serde(skip_serializing_if = "is_default")]
    pub failure_threshold: i32,
    /// The seconds before the first look.
    #[serde(skip_serializing_if = "is_default")]
    pub initial_delay_seconds: i32,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How the sidecar is reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SdkServer {
    /// `Info`, `Debug`, `Error` or `Trace`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log_level: String,
    /// Its port for gRPC.
    #[serde(skip_serializing_if = "is_default")]
    pub grpc_port: i32,
    /// Its port for REST.
    #[serde(skip_serializing_if = "is_default")]
    pub http_port: i32,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How many players there may be at first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlayersSpec {
    /// How many.
    #[serde(skip_serializing_if = "is_default")]
    pub initial_capacity: i64,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A number that a game counts, and its limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterStatus {
    /// The number.
    pub count: i64,
    /// The most that it may be.
    pub capacity: i64,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A list that a game keeps, and the most entries that it may have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListStatus {
    /// The most entries.
    pub capacity: i64,
    /// The entries. That nothing was ever put in is told apart from that all were taken out.
    pub values: Option<Vec<String>>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// When a pod may be moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Eviction {
    /// `Always`, `OnUpgrade` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub safe: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl CounterStatus {
    /// A counter.
    pub fn new(count: i64, capacity: i64) -> Self {
        Self { count, capacity, other: Map::new() }
    }
}

impl ListStatus {
    /// The entries.
    pub fn values(&self) -> &[String] {
        self.values.as_deref().unwrap_or_default()
    }

    /// How many there are.
    pub fn count(&self) -> i64 {
        i64::try_from(self.values().len()).unwrap_or(i64::MAX)
    }
}
