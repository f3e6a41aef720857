use std::fmt::{self, Display, Formatter};

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// The state of a game server.
///
/// # Example
///
/// ```
/// use lariat_controllers::types::GameServerState;
///
/// let state: GameServerState = serde_json::from_str("\"Ready\"")?;
/// assert!(state.is_active() && !state.is_before_ready());
/// assert_eq!(GameServerState::from("Sleeping").as_str(), "Sleeping");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum GameServerState {
    /// It was not given one yet.
    #[default]
    None,
    /// It waits for its host ports.
    PortAllocation,
    /// It waits for its pod to be created.
    Creating,
    /// It waits for its pod to get a node and an address.
    Starting,
    /// Its pod has a node; the game has not said yet that it is ready.
    Scheduled,
    /// The game said that it is ready.
    RequestReady,
    /// It waits for players.
    Ready,
    /// It is to be deleted.
    Shutdown,
    /// It cannot be made to run.
    Error,
    /// It ran and does not any more.
    Unhealthy,
    /// It is held for players.
    Reserved,
    /// It has players.
    Allocated,
    /// A state that this program does not know.
    Other(Box<str>),
}

impl GameServerState {
    /// The name, `""` for none.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "",
            Self::PortAllocation => "PortAllocation",
            Self::Creating => "Creating",
            Self::Starting => "Starting",
            Self::Scheduled => "Scheduled",
            Self::RequestReady => "RequestReady",
            Self::Ready => "Ready",
            Self::Shutdown => "Shutdown",
            Self::Error => "Error",
            Self::Unhealthy => "Unhealthy",
            Self::Reserved => "Reserved",
            Self::Allocated => "Allocated",
            Self::Other(name) => name,
        }
    }

    /// Whether the server is on its way to Ready.
    pub fn is_before_ready(&self) -> bool {
        matches!(
            self,
            Self::PortAllocation | Self::Creating | Self::Starting | Self::Scheduled | Self::RequestReady
        )
    }

    /// Whether players are there, may come, or are about to.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Ready | Self::Reserved | Self::Allocated)
    }

    /// Whether the server will never serve players again.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Shutdown | Self::Error | Self::Unhealthy)
    }
}

impl From<&str> for GameServerState {
    fn from(name: &str) -> Self {
        match name {
            "" => Self::None,
            "PortAllocation" => Self::PortAllocation,
            "Creating" => Self::Creating,
            "Starting" => Self::Starting,
            "Scheduled" => Self::Scheduled,
            "RequestReady" => Self::RequestReady,
            "Ready" => Self::Ready,
            "Shutdown" => Self::Shutdown,
            "Error" => Self::Error,
            "Unhealthy" => Self::Unhealthy,
            "Reserved" => Self::Reserved,
            "Allocated" => Self::Allocated,
            other => Self::Other(other.into()),
        }
    }
}

impl Display for GameServerState {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for GameServerState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for GameServerState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::from(&*name))
    }
}
