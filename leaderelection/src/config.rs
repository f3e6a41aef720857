use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use lariat_api::Randomness;

use crate::coordination::Coordination;
use crate::observer::Observer;
use crate::time::{Time, TokioTime};

/// How an [`Elector`](crate::Elector) campaigns. The durations of all candidates should be the same.
///
/// Unless something else is given: 15 s, 10 s and 2 s as with client-go's components, a Lease that is given back at the end, and the
/// time of tokio.
///
/// ```
/// use std::time::Duration;
/// use lariat_leaderelection::ElectorConfig;
///
/// let config = ElectorConfig { retry_period: Duration::from_secs(1), ..ElectorConfig::new("pod-7f9c") };
/// config.check()?;
/// # Ok::<(), lariat_leaderelection::ConfigError>(())
/// ```
#[derive(Clone)]
#[doc(alias = "LeaderElectionConfig")]
pub struct ElectorConfig {
    /// What this candidate is called in the Lease. No two candidates may have the same: a pod's name and a UUID, for instance.
    pub identity: String,
    /// For how long others may not take the Lease after it was last renewed: 15 s. At least 1 s. What is written is whole seconds,
    /// the rest is left out.
    pub lease_duration: Duration,
    /// For how long a leader leads without a renewal that succeeded, counted from before the last one was sent: 10 s. Less than the
    /// lease duration by what the clocks of two machines may differ in speed, and by what a write may take that was sent before.
    pub renew_deadline: Duration,
    /// How long to wait between renewals, and between attempts to get the Lease: 2 s. The latter wait up to 1.2 times as long.
    pub retry_period: Duration,
    /// Labels that the Lease gets, beside those that it has.
    pub labels: BTreeMap<String, String>,
    /// Whether to give the Lease back when the work has ended, so that another candidate need not wait: true.
    #[doc(alias = "ReleaseOnCancel")]
    pub release: bool,
    /// For how long the work may go on after it was asked to stop, before it is dropped: 5 s. When the Lease was lost it is never longer
    /// than the rest of the lease duration.
    pub stop_grace: Duration,
    /// What a Lease means that does not exist: [`MissingLease::MayBeHeld`].
    pub missing_lease: MissingLease,
    /// Lets the server choose among the candidates, where it does so (coordinated leader election): none, so that they choose by
    /// themselves.
    pub coordination: Option<Coordination>,
    /// Is told what happens: nobody.
    pub observer: Arc<dyn Observer>,
    /// The clocks.
    pub time: Arc<dyn Time>,
    /// Where the differences between waits come from.
    pub randomness: Randomness,
}

/// What a candidate does where it cannot know whether there is a leader: the Lease does not exist, or somebody else than its holder
/// changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingLease {
    /// It takes the Lease, and leads when the lease duration has passed since it last saw a change, or found that there is none. Somebody
    /// may have deleted it under a leader, whose token is valid for some time.
    #[default]
    MayBeHeld,
    /// It leads at once, as client-go does. Two may lead at one time, if Leases are deleted or changed by hand.
    NeverHeld,
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Others could take the Lease before a leader has given up.
    #[error("lease_duration > renew_deadline does not hold: {lease_duration:?} > {renew_deadline:?}")]
    LeaseDuration {
        /// What was given.
        lease_duration: Duration,
        /// What was given.
        renew_deadline: Duration,
    },
    /// A leader would give up before it has tried twice.
    #[error("renew_deadline > 1.2 * retry_period does not hold: {renew_deadline:?} > 1.2 * {retry_period:?}")]
    RenewDeadline {
        /// What was given.
        renew_deadline: Duration,
        /// What was given.
        retry_period: Duration,
    },
    /// A Lease says in whole seconds for how long it holds, and others go by that.
    #[error(
        "lease_duration in whole seconds > renew_deadline does not hold: {lease_duration:?}, which is written as {written}s, > {renew_deadline:?}"
    )]
    WholeSeconds {
        /// What was given.
        lease_duration: Duration,
        /// Its whole seconds.
        written: i32,
        /// What was given.
        renew_deadline: Duration,
    },
    /// A duration is zero.
    #[error("{0} > 0 does not hold: 0s > 0")]
    Zero(&'static str),
    /// There is no identity.
    #[error("identity is empty: give each candidate a name of its own")]
    NoIdentity,
}

impl ElectorConfig {
    /// A candidate of this name, with what is usual.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            labels: BTreeMap::new(),
            release: true,
            stop_grace: Duration::from_secs(5),
            missing_lease: MissingLease::default(),
            coordination: None,
            observer: Arc::new(()),
            time: Arc::new(TokioTime::default()),
            randomness: Randomness::from_os(),
        }
    }

    /// Whether it can be used.
    ///
    /// # Errors
    ///
    /// The first inequality that does not hold, with its values.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Self { lease_duration, renew_deadline, retry_period, .. } = *self;
        if lease_duration <= renew_deadline {
            return Err(ConfigError::LeaseDuration { lease_duration, renew_deadline });
        }
        if renew_deadline.saturating_mul(5) <= retry_period.saturating_mul(6) {
            return Err(ConfigError::RenewDeadline { renew_deadline, retry_period });
        }
        if retry_period.is_zero() {
            return Err(ConfigError::Zero("retry_period"));
        }
        let written = self.published_seconds();
        if Duration::from_secs(written.unsigned_abs().into()) <= renew_deadline {
            return Err(ConfigError::WholeSeconds { lease_duration, written, renew_deadline });
        }
        if self.identity.is_empty() {
            return Err(ConfigError::NoIdentity);
        }
        Ok(())
    }

    /// What the Lease says for how long it holds.
    pub(crate) fn published_seconds(&self) -> i32 {
        self.lease_duration.as_secs().try_into().unwrap_or(i32::MAX)
    }

    /// How long one request may take: a third of the renew deadline, and at least a second where that leaves room for another.
    pub(crate) fn request_timeout(&self) -> Duration {
        let third = self.renew_deadline / 3;
        third.max(Duration::from_secs(1).min(self.renew_deadline / 2))
    }
}

impl Debug for ElectorConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { identity, lease_duration, renew_deadline, retry_period, release, missing_lease, .. } =
            self;
        f.debug_struct("ElectorConfig")
            .field("identity", identity)
            .field("lease_duration", lease_duration)
            .field("renew_deadline", renew_deadline)
            .field("retry_period", retry_period)
            .field("release", release)
            .field("missing_lease", missing_lease)
            .finish_non_exhaustive()
    }
}
