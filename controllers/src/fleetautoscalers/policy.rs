use lariat::api::NotAPercentage;

use crate::types::{BufferPolicy, Fleet, FleetAutoscalerPolicy};

/// The size that a policy asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// How many servers.
    pub replicas: i32,
    /// Whether a limit of the policy kept the number from what it would have been.
    pub limited: bool,
}

/// Why a policy gives no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The settings that belong to its type are missing.
    #[error("policy of type {kind:?} has no settings: set spec.policy.{field}")]
    NoSettings {
        /// The type.
        kind: &'static str,
        /// The field that is missing.
        field: &'static str,
    },
    /// Its type is not one that this program knows.
    #[error("policy of type {0:?} is not supported: use Buffer")]
    UnknownType(String),
    /// The buffer is no number and no percentage.
    #[error("bufferSize: {0}")]
    NotAPercentage(NotAPercentage),
    /// No fleet can have so large a part of its servers free.
    #[error("bufferSize of {0} % leaves no server for players: want 1 % to 99 %")]
    WholeFleet(i64),
}

/// What a policy asks for, given the state of the fleet.
///
/// # Errors
///
/// See [`PolicyError`].
pub fn target(policy: &FleetAutoscalerPolicy, fleet: &Fleet) -> Result<Target, PolicyError> {
    match policy.kind.as_str() {
        "Buffer" => {
            let settings = policy.buffer.as_ref();
            let settings = settings.ok_or(PolicyError::NoSettings { kind: "Buffer", field: "buffer" })?;
            buffer(settings, fleet)
        }
        unknown => Err(PolicyError::UnknownType(unknown.to_owned())),
    }
}

/// What a buffer policy asks for: the allocated servers and so many free ones, within its limits.
///
/// A percentage is of all servers, free ones included, so `p` percent free is `allocated * 100 / (100 - p)`, rounded up.
/// Reserved servers count for nothing. Sums beyond what a fleet can have end at the upper limit.
///
/// # Errors
///
/// If the buffer is no number and no percentage, or 100 % and more.
pub fn buffer(policy: &BufferPolicy, fleet: &Fleet) -> Result<Target, PolicyError> {
    use lariat::api::IntOrString::{Int, String};

    let allocated = i64::from(fleet.status.allocated_replicas);
    let wanted = match &policy.buffer_size {
        Int(free) => allocated.saturating_add(*free),
        String(_) => {
            let percent = policy.buffer_size.without_percent_signs().map_err(PolicyError::NotAPercentage)?;
            let taken = 100_i64.saturating_sub(percent);
            if taken <= 0 {
                return Err(PolicyError::WholeFleet(percent));
            }
            let exact = allocated * 100;
            exact.div_euclid(taken) + i64::from(exact.rem_euclid(taken) != 0)
        }
    };
    let within = wanted.max(policy.min_replicas.into()).min(policy.max_replicas.into());
    // Between two numbers of 32 bits, or below a maximum of 32 bits and above a minimum of such.
    let replicas = i32::try_from(within).unwrap_or(policy.max_replicas);
    Ok(Target { replicas, limited: i64::from(replicas) != wanted })
}
