use lariat::api::{Kind, Metadata, Object, ObjectMeta, Resource};
use serde::{Deserialize, Serialize};

use super::{NodeAddress, nullable};

/// A node, with what the loops look at. It is never written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// What all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "nullable")]
    pub spec: NodeSpec,
    /// What there is.
    #[serde(deserialize_with = "nullable")]
    pub status: NodeStatus,
}

/// What a node is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Whether it takes no further pods.
    pub unschedulable: bool,
    /// What keeps pods away that do not tolerate it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    pub taints: Vec<Taint>,
}

/// What keeps pods from a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// Its name.
    pub key: String,
}

/// What a node is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Its addresses.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<NodeAddress>,
}

impl Node {
    /// Whether it is for the programs of the system, and not for game servers.
    pub fn is_of_system(&self) -> bool {
        self.spec.taints.iter().any(|taint| taint.key.starts_with("agones.dev/"))
    }

    /// Whether it is going away.
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.is_being_deleted()
    }
}

impl Object for Node {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for Node {
    const KIND: Kind = Kind::cluster("", "v1", "Node", "nodes");
}
