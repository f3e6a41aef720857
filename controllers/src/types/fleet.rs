use lariat::api::{Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A set of game servers that are replaced together: `agones.dev/v1 Fleet`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Fleet {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: FleetSpec,
    /// What there is.
    #[serde(default)]
    pub status: FleetStatus,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a fleet is to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FleetSpec {
    /// How many game servers.
    #[serde(default)]
    pub replicas: i32,
    /// What each is made from, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Box<RawValue>>,
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
