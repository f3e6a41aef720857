//! Which features are on (reference 7.10).

use std::fmt::{self, Display, Formatter};

/// A feature that can be switched on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gate {
    /// Ports are passed through on GKE Autopilot. Always on.
    AutopilotPassthroughPort,
    /// Counters and lists, and priorities by them.
    CountsAndLists,
    /// Sidecars do not list now and then. Always on.
    DisableResyncOnSdkServer,
    /// Nothing.
    Example,
    /// Webhooks of autoscalers are told labels and annotations of the fleet.
    FleetAutoscaleRequestMetaData,
    /// Pods on GKE Autopilot run for long.
    GkeAutopilotExtendedDurationPods,
    /// Allocations may ask for free places for players.
    PlayerAllocationFilter,
    /// Players are tracked.
    PlayerTracking,
    /// Ports without a host port.
    PortPolicyNone,
    /// More ranges of ports than one.
    PortRanges,
    /// Allocations go through a processor.
    ProcessorAllocator,
    /// Rolling updates count on servers that are ready.
    RollingUpdateFix,
    /// Autoscalers with schedules and chains.
    ScheduledAutoscaler,
    /// The SDK server is a sidecar as Kubernetes knows them.
    SidecarContainers,
    /// Autoscalers in WebAssembly.
    WasmAutoscaler,
}

/// All features in the order of their names, and whether each is on if nobody says otherwise.
const GATES: [(Gate, &str, bool); 15] = [
    (Gate::AutopilotPassthroughPort, "AutopilotPassthroughPort", true),
    (Gate::CountsAndLists, "CountsAndLists", true),
    (Gate::DisableResyncOnSdkServer, "DisableResyncOnSDKServer", true),
    (Gate::Example, "Example", false),
    (Gate::FleetAutoscaleRequestMetaData, "FleetAutoscaleRequestMetaData", true),
    (Gate::GkeAutopilotExtendedDurationPods, "GKEAutopilotExtendedDurationPods", true),
    (Gate::PlayerAllocationFilter, "PlayerAllocationFilter", false),
    (Gate::PlayerTracking, "PlayerTracking", false),
    (Gate::PortPolicyNone, "PortPolicyNone", true),
    (Gate::PortRanges, "PortRanges", true),
    (Gate::ProcessorAllocator, "ProcessorAllocator", false),
    (Gate::RollingUpdateFix, "RollingUpdateFix", true),
    (Gate::ScheduledAutoscaler, "ScheduledAutoscaler", true),
    (Gate::SidecarContainers, "SidecarContainers", true),
    (Gate::WasmAutoscaler, "WasmAutoscaler", false),
];

/// Which features are on.
///
/// # Example
///
/// ```
/// use lariat_controllers::gates::{FeatureGates, Gate};
///
/// let gates: FeatureGates = "CountsAndLists=false&WasmAutoscaler=true".parse()?;
/// assert!(!gates.has(Gate::CountsAndLists) && gates.has(Gate::WasmAutoscaler));
/// assert!("NoSuchThing=true".parse::<FeatureGates>().is_err());
/// # Ok::<(), lariat_controllers::gates::InvalidGates>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureGates([bool; GATES.len()]);

/// A text that does not say which features are on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidGates {
    /// There is no such feature.
    #[error("no feature gate {0:?}: want one of {names}", names = names())]
    Unknown(String),
    /// A feature is neither on nor off.
    #[error("feature gate {gate} is {value:?}: want true or false")]
    Value {
        /// The feature.
        gate: String,
        /// What it was given.
        value: String,
    },
}

fn names() -> String {
    GATES.map(|(_, name, _)| name).join(", ")
}

impl FeatureGates {
    /// Whether a feature is on.
    pub fn has(&self, gate: Gate) -> bool {
        GATES.iter().zip(self.0).any(|((known, ..), on)| *known == gate && on)
    }
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self(GATES.map(|(_, _, on)| on))
    }
}

/// Parses a URL query, such as `A=true&B=false`. What is not named is as it is by default.
impl std::str::FromStr for FeatureGates {
    type Err = InvalidGates;

    fn from_str(query: &str) -> Result<Self, InvalidGates> {
        let mut gates = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(place) = GATES.iter().position(|(_, known, _)| *known == name) else {
                return Err(InvalidGates::Unknown(name.to_owned()));
            };
            gates.0[place] = match value {
                "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
                "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
                other => {
                    return Err(InvalidGates::Value { gate: name.to_owned(), value: other.to_owned() });
                }
            };
            // Features that are stable cannot be switched off.
            if matches!(GATES[place].0, Gate::AutopilotPassthroughPort | Gate::DisableResyncOnSdkServer) {
                gates.0[place] = true;
            }
        }
        Ok(gates)
    }
}

/// All features in the form of a URL query.
impl Display for FeatureGates {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (place, ((_, name, _), on)) in GATES.iter().zip(self.0).enumerate() {
            let and = if place == 0 { "" } else { "&" };
            write!(f, "{and}{name}={on}")?;
        }
        Ok(())
    }
}
