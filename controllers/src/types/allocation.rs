use std::collections::BTreeMap;

use lariat::api::labels::LabelSelector;
use lariat::api::{ObjectMeta, TypeMeta};
use lariat::prelude::{Kind, Object, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    CounterStatus, GameServerState, GameServerStatusPort, ListStatus, NodeAddress, Priority, is_default,
    nullable,
};

/// A request for a game server, and its answer: `allocation.agones.dev/v1 GameServerAllocation`. It is created and never kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameServerAllocation {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// Its namespace, and in the answer the name of the server.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "nullable")]
    pub spec: AllocationSpec,
    /// What was found.
    #[serde(deserialize_with = "nullable")]
    pub status: AllocationStatus,
}

/// Which server is wanted, and what is done to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocationSpec {
    /// Whether other clusters are asked, too.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub multi_cluster_setting: Map<String, Value>,
    /// What the server must match. Older than `selectors`.
    #[serde(deserialize_with = "nullable")]
    pub required: GameServerSelector,
    /// What is better still, the best first. Older than `selectors`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub preferred: Vec<GameServerSelector>,
    /// What decides which server goes first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub priorities: Vec<Priority>,
    /// What the server is to match, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub selectors: Vec<GameServerSelector>,
    /// `Packed` or `Distributed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduling: String,
    /// Labels and annotations that the server gets.
    #[serde(deserialize_with = "nullable")]
    pub metadata: MetaPatch,
    /// What is done to its counters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub counters: BTreeMap<String, CounterAction>,
    /// What is done to its lists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub lists: BTreeMap<String, ListAction>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a server is to match.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerSelector {
    /// Its labels.
    #[serde(flatten)]
    pub labels: LabelSelector,
    /// Its state, `Ready` or `Allocated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_server_state: Option<GameServerState>,
    /// How many places are free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub players: Option<PlayerSelector>,
    /// Its counters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub counters: BTreeMap<String, CounterSelector>,
    /// Its lists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub lists: BTreeMap<String, ListSelector>,
}

/// How many places for players are free. A maximum of 0 is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlayerSelector {
    /// At least.
    #[serde(skip_serializing_if = "is_default")]
    pub min_available: i64,
    /// At most.
    #[serde(skip_serializing_if = "is_default")]
    pub max_available: i64,
}

/// Bounds of a counter. A maximum of 0 is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CounterSelector {
    /// The least count.
    pub min_count: i64,
    /// The most.
    pub max_count: i64,
    /// The least free capacity.
    pub min_available: i64,
    /// The most.
    pub max_available: i64,
}

/// Bounds of a list. A maximum of 0 is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListSelector {
    /// An entry that it has; any if it is `""`.
    pub contains_value: String,
    /// The least free capacity.
    pub min_available: i64,
    /// The most.
    pub max_available: i64,
}

/// What is done to a counter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterAction {
    /// `Increment` or `Decrement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// By how much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// Its new capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
}

/// What is done to a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListAction {
    /// What is put in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_values: Option<Vec<String>>,
    /// What is taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_values: Option<Vec<String>>,
    /// Its new capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
}

/// Labels and annotations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetaPatch {
    /// Labels.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub annotations: BTreeMap<String, String>,
}

/// The server that was found, if one was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocationStatus {
    /// `Allocated`, `UnAllocated` or `Contention`.
    pub state: String,
    /// Its name.
    pub game_server_name: String,
    /// Where players connect to.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub ports: Vec<GameServerStatusPort>,
    /// The address of its node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// All addresses.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub addresses: Vec<NodeAddress>,
    /// Its node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// `local`, or the endpoint that gave it.
    pub source: String,
    /// Its labels and annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetaPatch>,
    /// Its counters.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub counters: BTreeMap<String, CounterStatus>,
    /// Its lists.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub lists: BTreeMap<String, ListStatus>,
}

impl Object for GameServerAllocation {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for GameServerAllocation {
    const KIND: Kind =
        Kind::namespaced("allocation.agones.dev", "v1", "GameServerAllocation", "gameserverallocations");
}
