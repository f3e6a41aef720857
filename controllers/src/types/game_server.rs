use std::collections::BTreeMap;
use std::net::IpAddr;

use lariat::api::{Kind, Metadata, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    CounterStatus, Eviction, GameServerSpec, GameServerState, ListStatus, is_default, names, nullable,
};

/// One game server: `agones.dev/v1 GameServer`. It has no status subresource: spec and status are written together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameServer {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "nullable")]
    pub spec: GameServerSpec,
    /// What there is.
    #[serde(deserialize_with = "nullable")]
    pub status: GameServerStatus,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a game server is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GameServerStatus {
    /// How far it is.
    pub state: GameServerState,
    /// Where players connect to.
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<GameServerStatusPort>,
    /// The address of its node.
    pub address: String,
    /// All addresses of its node and its pod.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<NodeAddress>,
    /// Its node.
    pub node_name: String,
    /// Until when it is reserved, in RFC 3339.
    pub reserved_until: Option<String>,
    /// Its players, where they are tracked.
    pub players: Option<PlayerStatus>,
    /// Its counters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub counters: BTreeMap<String, CounterStatus>,
    /// Its lists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "nullable")]
    pub lists: BTreeMap<String, ListStatus>,
    /// When the pod may be moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction: Option<Eviction>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Where players connect to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameServerStatusPort {
    /// The name of the port.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its number.
    pub port: i32,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// An address of a node or a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// `ExternalIP`, `InternalDNS` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// The address.
    pub address: String,
}

/// The players of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayerStatus {
    /// How many there are.
    pub count: i64,
    /// How many there may be.
    pub capacity: i64,
    /// Who they are.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "nullable")]
    pub ids: Vec<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl GameServer {
    /// Whether it is being deleted, or is to be.
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.is_being_deleted() || self.status.state == GameServerState::Shutdown
    }

    /// Whether it may be shut down by a set: it has no players, or is being deleted anyway.
    pub fn is_deletable(&self) -> bool {
        self.metadata.is_being_deleted()
            || !matches!(self.status.state, GameServerState::Allocated | GameServerState::Reserved)
    }

    /// Whether it is on its way to Ready.
    pub fn is_before_ready(&self) -> bool {
        self.status.state.is_before_ready()
    }

    /// Whether players are there, or may come.
    pub fn is_active(&self) -> bool {
        self.status.state.is_active()
    }

    /// The address of a server that runs outside of the cluster, if it is such a one.
    pub fn dev_address(&self) -> Option<&str> {
        self.metadata.annotation(names::DEV_ADDRESS)
    }

    /// Whether it runs outside of the cluster: such a server has no pod.
    pub fn is_dev(&self) -> bool {
        self.dev_address().is_some()
    }

    /// Whether the dev address is one.
    pub(crate) fn dev_address_is_ip(address: &str) -> bool {
        address.parse::<IpAddr>().is_ok()
    }

    /// The name and the uid of the object that manages it, if that is of a kind of ours.
    pub(crate) fn controller(&self, kind: &str) -> Option<(&str, &str)> {
        controller_of(&self.metadata, kind)
    }
}

/// The name and the uid of the controller of an object, if it is of this kind.
pub(crate) fn controller_of<'a>(meta: &'a ObjectMeta, kind: &str) -> Option<(&'a str, &'a str)> {
    let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    (owner.kind == kind && group == "agones.dev").then_some((owner.name.as_str(), owner.uid.as_str()))
}

/// Whether an object is controlled by the one with this uid.
pub(crate) fn is_controlled_by(meta: &ObjectMeta, uid: &str) -> bool {
    meta.owner_references.iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

impl Object for GameServer {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for GameServer {
    const KIND: Kind = Kind::namespaced("agones.dev", "v1", "GameServer", "gameservers");
}
