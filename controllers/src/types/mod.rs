//! The Agones API objects, with the fields that the loops read and write; all others are kept as they are.
//!
//! What a user may leave out has the value that Go gives it: `""`, 0, nothing. Defaults are applied by functions of
//! [`defaults`](crate::defaults), not while decoding, since a write must not add what nobody wrote.

mod allocation;
mod fleet;
mod fleet_autoscaler;
mod game_server;
mod game_server_set;
mod game_server_spec;
mod node;
mod pod;
mod state;
mod verbatim;

use serde::de::{Deserialize, Deserializer};

pub use allocation::{
    AllocationSpec, AllocationStatus, CounterAction, CounterSelector, GameServerAllocation,
    GameServerSelector, ListAction, ListSelector, MetaPatch, PlayerSelector,
};
pub use fleet::{Fleet, FleetSpec, FleetStatus, FleetStrategy, RollingUpdate};
pub use fleet_autoscaler::{
    ActivePeriod, Between, BufferPolicy, CapacityPolicy, ChainEntry, FixedInterval, FleetAutoscaler,
    FleetAutoscalerPolicy, FleetAutoscalerSpec, FleetAutoscalerStatus, FleetAutoscalerSync, SchedulePolicy,
    ServiceReference, WasmFrom, WasmPolicy, WebhookPolicy,
};
pub use game_server::{GameServer, GameServerStatus, GameServerStatusPort, NodeAddress, PlayerStatus};
pub use game_server_set::{
    AggregatedPlayerStatus, AggregatedStatus, AllocationOverflow, GameServerSet, GameServerSetSpec,
    GameServerSetStatus, Priority,
};
pub use game_server_spec::{
    CounterStatus, Eviction, GameServerPort, GameServerSpec, GameServerTemplate, Health, ListStatus,
    PlayersSpec, PodTemplate, SdkServer,
};
pub use node::{Node, NodeSpec, NodeStatus, Taint};
pub use pod::{
    ContainerState, ContainerStatus, Pod, PodCondition, PodIp, PodSpec, PodStatus, TerminatedState,
};
pub use state::GameServerState;
pub use verbatim::{Undecodable, Verbatim};

/// The names of labels, annotations and the like (reference 1.6).
pub mod names {
    /// On pods: [`ROLE_GAME_SERVER`].
    pub const ROLE: &str = "agones.dev/role";
    /// What [`ROLE`] is on the pods of game servers.
    pub const ROLE_GAME_SERVER: &str = "gameserver";
    /// On pods: the name of the game server.
    pub const GAME_SERVER: &str = "agones.dev/gameserver";
    /// On game servers: the name of the set.
    pub const GAME_SERVER_SET: &str = "agones.dev/gameserverset";
    /// On game servers and sets: the name of the fleet.
    pub const FLEET: &str = "agones.dev/fleet";
    /// On pods: whether a disruption budget covers the pod.
    pub const SAFE_TO_EVICT_LABEL: &str = "agones.dev/safe-to-evict";
    /// On pods: whether the cluster autoscaler may move the pod.
    pub const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
    /// On pods: the container of the game.
    pub const CONTAINER: &str = "agones.dev/container";
    /// On game servers: the address of a server outside of the cluster, for development.
    pub const DEV_ADDRESS: &str = "agones.dev/dev-address";
    /// On game servers and pods: the container that ran when the server became ready.
    pub const READY_CONTAINER_ID: &str = "agones.dev/ready-container-id";
    /// On game servers: when the server went into the state Error.
    pub const ERRORED_AT: &str = "agones.dev/errored-at";
    /// On all: the version of Agones that the object was made with.
    pub const SDK_VERSION: &str = "agones.dev/sdk-version";
    /// On pods: which ports of which containers are passed through.
    pub const PASSTHROUGH_PORTS: &str = "agones.dev/container-passthrough-port-assignment";
    /// On game servers: when the server was allocated last.
    pub const LAST_ALLOCATED: &str = "agones.dev/last-allocated";
    /// The finalizer of game servers.
    pub const FINALIZER: &str = "agones.dev/controller";
    /// The finalizer of game servers in older versions.
    pub const LEGACY_FINALIZER: &str = "agones.dev";
    /// The sidecar's container.
    pub const SIDECAR: &str = "agones-gameserver-sidecar";
}

/// Go writes null for what is empty, and reads it as if the field were not there.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

pub(crate) use game_server::controller_of as game_server_owner;

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
