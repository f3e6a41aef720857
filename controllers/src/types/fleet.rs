use std::collections::BTreeMap;

use lariat::api::{IntOrString, Interned, Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AggregatedPlayerStatus, AggregatedStatus, AllocationOverflow, GameServerTemplate, Priority, Verbatim,
    is_default, nullable,
};

/// A set of game servers that are replaced together: `agones.dev/v1 Fleet`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fleet {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "nullable")]
    pub spec: FleetSpec,
    /// What there is.
    #[serde(deserialize_with = "nullable")]
    pub status: FleetStatus,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a fleet is to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetSpec {
    /// How many game servers.
    pub replicas: i32,
    /// What allocated servers are marked with that are more than `replicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_overflow: Option<AllocationOverflow>,
    /// How servers of an old template are replaced.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub strategy: FleetStrategy,
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

/// How servers of an old template are replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetStrategy {
    /// `RollingUpdate` or `Recreate`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// How many at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How many servers are replaced at a time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// How many of them may be missing, as a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many there may be too many, as a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a fleet is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetStatus {
    /// Game servers there are.
    pub replicas: i32,
    /// Those that wait for players.
    pub ready_replicas: i32,
    /// Those that are held for players.
    pub reserved_replicas: i32,
    /// Those that have players.
    pub allocated_replicas: i32,
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

impl Object for Fleet {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for Fleet {
    const KIND: Kind = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
}
