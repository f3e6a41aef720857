//! `spec` and `status` of a GameServer, as one declares them for kube-rs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerSpec {
    pub container: String,
    pub ports: Vec<GameServerPort>,
    pub health: Health,
    pub scheduling: String,
    pub sdk_server: SdkServer,
    pub template: PodTemplateSpec,
    pub players: Option<PlayersSpec>,
    pub counters: BTreeMap<String, CounterStatus>,
    pub lists: BTreeMap<String, ListStatus>,
    pub eviction: Option<Eviction>,
    pub immutable_replicas: i32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerPort {
    pub name: String,
    pub range: String,
    pub port_policy: String,
    pub container: Option<String>,
    pub container_port: i32,
    pub host_port: i32,
    pub protocol: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Health {
    pub disabled: bool,
    pub period_seconds: i32,
    pub failure_threshold: i32,
    pub initial_delay_seconds: i32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SdkServer {
    pub log_level: String,
    pub grpc_port: i32,
    pub http_port: i32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlayersSpec {
    pub initial_capacity: i64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Eviction {
    pub safe: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerStatus {
    pub state: String,
    pub ports: Option<Vec<GameServerStatusPort>>,
    pub address: String,
    pub addresses: Option<Vec<NodeAddress>>,
    pub node_name: String,
    pub reserved_until: Option<String>,
    pub players: Option<PlayerStatus>,
    pub counters: BTreeMap<String, CounterStatus>,
    pub lists: BTreeMap<String, ListStatus>,
    pub eviction: Option<Eviction>,
    pub immutable_replicas: i32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GameServerStatusPort {
    pub name: String,
    pub port: i32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    pub address: String,
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayerStatus {
    pub count: i64,
    pub capacity: i64,
    pub ids: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterStatus {
    pub count: i64,
    pub capacity: i64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListStatus {
    pub capacity: i64,
    pub values: Option<Vec<String>>,
}
