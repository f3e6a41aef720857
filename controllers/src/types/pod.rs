use lariat::api::{Kind, Metadata, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::game_server::is_controlled_by;
use super::{GameServer, is_default, names, nullable};

/// A pod, with what the loops look at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "nullable")]
    pub spec: PodSpec,
    /// What there is.
    #[serde(deserialize_with = "nullable")]
    pub status: PodStatus,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a pod is to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Its node, once it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a pod is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Why, in a word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Its addresses.
    #[serde(rename = "podIPs", skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub pod_ips: Vec<PodIp>,
    /// What holds for it and what does not.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub conditions: Vec<PodCondition>,
    /// How its containers are.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub container_statuses: Vec<ContainerStatus>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// An address of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodIp {
    /// The address.
    pub ip: String,
}

/// Something that holds for a pod or does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// What.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a container is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Its name.
    pub name: String,
    /// What it does now.
    #[serde(deserialize_with = "nullable")]
    pub state: ContainerState,
    /// What the run before came to.
    #[serde(deserialize_with = "nullable")]
    pub last_state: ContainerState,
    /// The id of this run.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    pub container_id: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a container does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Value>,
    /// It has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<TerminatedState>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a container has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminatedState {
    /// With which status.
    pub exit_code: i32,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Pod {
    /// Whether it is the pod of a game server: so labelled, and controlled by one.
    pub fn is_game_server_pod(&self) -> bool {
        self.metadata.labels.get(names::ROLE).is_some_and(|role| role == names::ROLE_GAME_SERVER)
            && super::game_server::controller_of(&self.metadata, "GameServer").is_some()
    }

    /// Whether it belongs to this server.
    pub fn belongs_to(&self, server: &GameServer) -> bool {
        is_controlled_by(&self.metadata, server.uid())
    }

    /// The status of the game's container.
    pub fn game_container(&self) -> Option<&ContainerStatus> {
        let name = self.metadata.annotation(names::CONTAINER).unwrap_or_default();
        self.status.container_statuses.iter().find(|status| status.name == name)
    }

    /// The pod without what no loop looks at, for caches of pods that are never written.
    #[must_use]
    pub fn stripped(mut self) -> Self {
        self.spec.other.clear();
        self.status.other.clear();
        for status in &mut self.status.container_statuses {
            status.other.clear();
        }
        self
    }
}

impl Object for Pod {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for Pod {
    const KIND: Kind = Kind::namespaced("", "v1", "Pod", "pods");
}
