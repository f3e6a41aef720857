use std::collections::BTreeMap;

use lariat::api::{Interned, Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{GameServerTemplate, Verbatim, is_default, nullable};

/// A number of game servers of one template: `agones.dev/v1 GameServerSet`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameServerSet {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "nullable")]
    pub spec: GameServerSetSpec,
    /// What there is.
    #[serde(deserialize_with = "nullable")]
    pub status: GameServerSetStatus,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a set is to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerSetSpec {
    /// How many game servers.
    pub replicas: i32,
    /// What allocated servers are marked with that are more than `replicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_overflow: Option<AllocationOverflow>,
    /// `Packed` or `Distributed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduling: String,
    /// What decides which server goes first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub priorities: Vec<Priority>,
    /// What each server is made from, as it was written.
    #[serde(skip_serializing_if = "Verbatim::is_absent")]
    pub template: Interned<Verbatim<GameServerTemplate>>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a set is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerSetStatus {
    /// Game servers that are not being deleted.
    pub replicas: i32,
    /// Those that wait for players.
    pub ready_replicas: i32,
    /// Those that are held for players.
    pub reserved_replicas: i32,
    /// Those that have players.
    pub allocated_replicas: i32,
    /// Those that are being deleted.
    pub shutdown_replicas: i32,
    /// The players on all of them, where they are tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub players: Option<AggregatedPlayerStatus>,
    /// The counters of all of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub counters: BTreeMap<String, AggregatedStatus>,
    /// The lists of all of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub lists: BTreeMap<String, AggregatedStatus>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The sum of a counter, or of the entries of a list, over several servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AggregatedStatus {
    /// The sum over those that have players.
    pub allocated_count: i64,
    /// Their limits.
    pub allocated_capacity: i64,
    /// The sum over all.
    pub count: i64,
    /// Their limits.
    pub capacity: i64,
}

/// The players on several servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AggregatedPlayerStatus {
    /// How many there are.
    pub count: i64,
    /// How many there may be.
    pub capacity: i64,
}

/// What decides which server goes first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Priority {
    /// `Counter` or `List`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub key: String,
    /// `Ascending` or `Descending`: which free capacity goes first.
    pub order: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What allocated servers are marked with that are more than wanted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocationOverflow {
    /// Labels.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub annotations: BTreeMap<String, String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Object for GameServerSet {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for GameServerSet {
    const KIND: Kind = Kind::namespaced("agones.dev", "v1", "GameServerSet", "gameserversets");
}
