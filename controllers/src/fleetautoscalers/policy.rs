use lariat::api::NotAPercentage;

use crate::schedule::InvalidSchedule;
use crate::types::{BufferPolicy, Fleet, Undecodable};

/// The size that a policy asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// How many servers.
    pub replicas: i32,
    /// Whether a limit of the policy kept the number from what it would have been.
    pub limited: bool,
}

/// Why a policy gives no size.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
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
    #[error("wrong policy type {0:?}, should be one of: Buffer, Webhook, Counter, List, Schedule, Chain")]
    UnknownType(String),
    /// Its type needs a feature that is off.
    #[error("cannot apply {kind}Policy unless feature flag {gate} is enabled")]
    GateOff {
        /// The type.
        kind: &'static str,
        /// The feature.
        gate: &'static str,
    },
    /// There is nothing in this program that could run it.
    #[error("policies of type \"Wasm\" are not supported: use a Webhook")]
    NoWasm,
    /// The buffer is no number and no percentage.
    #[error("bufferSize: {0}")]
    NotAPercentage(NotAPercentage),
    /// No fleet can have so large a part of its servers free.
    #[error("bufferSize of {0} % leaves no server for players: want 1 % to 99 %")]
    WholeFleet(i64),
    /// The counter or list is not in the fleet's template, or not in its status.
    #[error("{kind} {key:?} is not in the fleet's {place}")]
    NoKey {
        /// `Counter` or `List`.
        kind: &'static str,
        /// Its name.
        key: String,
        /// `spec` or `status`.
        place: &'static str,
    },
    /// Further servers would add no free capacity.
    #[error("{kind} {key:?}: servers begin full, so that no number of them has capacity free")]
    NoCapacity {
        /// `Counter` or `List`.
        kind: &'static str,
        /// Its name.
        key: String,
    },
    /// The fleet's template is not one.
    #[error("fleet's spec.template {0}")]
    Template(#[from] Undecodable),
    /// The schedule cannot be understood.
    #[error("schedule: {0}")]
    Schedule(#[from] InvalidSchedule),
    /// Nobody answered sensibly.
    #[error("webhook: {0}")]
    Webhook(#[from] super::WebhookError),
    /// No policy of a chain applies.
    #[error("no policy of the chain applies; the last one that failed: {0}")]
    Chain(Box<PolicyError>),
    /// The chain has no policy.
    #[error("the chain is empty")]
    EmptyChain,
    /// Policies are within policies within policies.
    #[error("policies are nested too deeply: a chain may hold schedules, and a schedule neither")]
    Nested,
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
