use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::config::ElectorConfig;
use crate::observer::Observer;
use crate::time::Time;

/// What others can know of an elector while it runs. A clone is the same.
///
/// What it tells is for people and probes. Whoever writes asks the [`Leading`](crate::Leading) token.
#[derive(Clone)]
pub struct ElectorHandle(Arc<Shared>);

/// What is known of the Lease, for those beside the elector.
pub(crate) struct Shared {
    lease: String,
    identity: String,
    lease_duration: Duration,
    time: Arc<dyn Time>,
    observer: Arc<dyn Observer>,
    /// When the Lease was last written by us, or seen to have changed.
    observed_at: Mutex<Duration>,
    /// Who holds the Lease; none before it was first seen.
    leader: watch::Sender<Option<String>>,
    /// Whom the observer was told of.
    reported: Mutex<Option<String>>,
}

/// Why an elector is not healthy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{identity} holds Lease {lease:?} and has not renewed it for {since:?}")]
pub struct Unhealthy {
    /// The Lease's name.
    pub lease: String,
    /// Who holds it.
    pub identity: String,
    /// For how long nothing was renewed.
    pub since: Duration,
}

impl ElectorHandle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Who holds the Lease: `""` for nobody, none before it was first read.
    #[doc(alias = "GetLeader")]
    pub fn leader(&self) -> Option<String> {
        self.0.leader.borrow().clone()
    }

    /// Whether this candidate holds the Lease.
    #[doc(alias = "IsLeader")]
    pub fn is_leader(&self) -> bool {
        self.0.leader.borrow().as_deref() == Some(&self.0.identity)
    }

    /// Who holds the Lease, from now on. Changes that follow each other quickly may be seen as one.
    pub fn leaders(&self) -> watch::Receiver<Option<String>> {
        self.0.leader.subscribe()
    }

    /// Whether this candidate holds the Lease and has not renewed it for longer than the lease duration and `tolerance`: then its
    /// program hangs and is better started again. client-go's health check `leaderElection`.
    ///
    /// # Errors
    ///
    /// If it is so.
    #[doc(alias = "HealthzAdaptor")]
    pub fn check(&self, tolerance: Duration) -> Result<(), Unhealthy> {
        let Shared { lease, identity, lease_duration, time, observed_at, .. } = &*self.0;
        if !self.is_leader() {
            return Ok(());
        }
        let observed_at = *observed_at.lock().unwrap_or_else(PoisonError::into_inner);
        let since = time.now().saturating_sub(observed_at);
        if since <= lease_duration.saturating_add(tolerance) {
            return Ok(());
        }
        Err(Unhealthy { lease: lease.clone(), identity: identity.clone(), since })
    }
}

impl Shared {
    pub(crate) fn new(config: &ElectorConfig, lease: &str) -> Self {
        let ElectorConfig { identity, lease_duration, time, observer, .. } = config;
        Self {
            lease: lease.to_owned(),
            identity: identity.clone(),
            lease_duration: *lease_duration,
            time: time.clone(),
            observer: observer.clone(),
            observed_at: Mutex::new(Duration::ZERO),
            leader: watch::Sender::new(None),
            reported: Mutex::default(),
        }
    }

    /// Takes note of who holds the Lease. One that nobody has read has no holder yet.
    pub(crate) fn observe(&self, holder: &str, at: Duration) {
        *self.observed_at.lock().unwrap_or_else(PoisonError::into_inner) = at;
        self.leader.send_if_modified(|leader| {
            let changed = match leader {
                Some(known) => known != holder,
                None => !holder.is_empty(),
            };
            if changed {
                *leader = Some(holder.to_owned());
            }
            changed
        });
    }

    /// Tells of who holds the Lease, if it is another one than was told of.
    pub(crate) fn report(&self) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let leader = self.leader.borrow().clone();
        if let Some(holder) = &leader
            && leader != *reported
        {
            tracing::info!(lease = self.lease, leader = holder, "Lease has a new holder");
            self.observer.new_leader(&self.lease, holder);
        }
        *reported = leader;
    }
}
