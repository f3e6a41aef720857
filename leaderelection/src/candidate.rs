//! One attempt to get or keep the Lease, and how it is given back: what client-go does, request by request.
//!
//! What a candidate knows beside: whether another one may still lead when it has got the Lease.

use std::sync::Arc;
use std::time::Duration;

use lariat_client::Error;

use crate::config::{ElectorConfig, MissingLease};
use crate::coordination::{ANNOUNCE_AGAIN, Coordination, LeaseCandidate};
use crate::lease::{Lease, LeaseSpec, micro_time};
use crate::lock::Lock;
use crate::status::Shared;

pub(crate) struct Candidate<L> {
    pub(crate) lock: L,
    pub(crate) config: ElectorConfig,
    pub(crate) status: Arc<Shared>,
    /// What the Lease said when it was last written by us, or was last seen to have changed.
    observed: LeaseSpec,
    observed_at: Duration,
    /// What was read last. What others do to the rest of the object is no sign of life of the holder.
    read: Option<LeaseSpec>,
    /// The object as it was last sent by the server, which the next update is made from.
    lease: Option<Lease>,
    /// The time of day when the attempt began.
    wall: String,
    /// When the server was last told that this candidate is there.
    announced_at: Option<Duration>,
    /// The last write that took the Lease, whether or not it was answered.
    claim: Option<Claim>,
}

struct Claim {
    acquire_time: Option<String>,
    /// From when on nobody else can have a valid token; none if that counts from when the claim is granted.
    alone_from: Option<Duration>,
}

impl Claim {
    fn of(spec: &LeaseSpec, alone_from: Option<Duration>) -> Self {
        Self { acquire_time: spec.acquire_time.clone(), alone_from }
    }
}

/// What came of an attempt.
#[derive(Debug)]
pub(crate) enum Attempt {
    Held(Held),
    /// Another one holds the Lease, up to this time at least if nothing changes.
    HeldByOther {
        until: Duration,
    },
    Failed(AttemptError),
}

/// A successful write of the Lease.
#[derive(Debug)]
pub(crate) struct Held {
    /// When it was sent.
    pub(crate) sent: Duration,
    /// From when on nobody else can have a valid token.
    pub(crate) alone_from: Duration,
    pub(crate) version: String,
    pub(crate) transitions: i32,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptError {
    #[error("the server has not chosen a leader")]
    NotChosen,
    #[error("the Lease is to go to {0:?}")]
    Preferred(String),
    #[error("{0}")]
    Client(Error),
    #[error("no answer in {0:?}")]
    TimedOut(Duration),
}

impl<L: Lock> Candidate<L> {
    pub(crate) fn new(lock: L, config: ElectorConfig) -> Self {
        let status = Arc::new(Shared::new(&config, lock.name()));
        Self {
            lock,
            config,
            status,
            observed: LeaseSpec::default(),
            observed_at: Duration::ZERO,
            read: None,
            lease: None,
            wall: String::new(),
            announced_at: None,
            claim: None,
        }
    }

    /// Whether the Lease was ours when it was last written or read.
    pub(crate) fn is_holder(&self) -> bool {
        self.observed.holder() == self.config.identity
    }

    /// Who held the Lease then.
    pub(crate) fn holder(&self) -> &str {
        self.observed.holder()
    }

    /// Whether the Lease still is what we made it, as far as is known.
    pub(crate) fn is_own_claim(&self) -> bool {
        self.is_holder()
            && self.claim.as_ref().is_some_and(|claim| claim.acquire_time == self.observed.acquire_time)
    }

    /// The Lease as the server last sent it.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Tries once to get the Lease, or to renew it (LE-12 to LE-16).
    ///
    /// # Cancel safety
    ///
    /// A write that was sent may be carried out nonetheless.
    pub(crate) async fn attempt(&mut self) -> Attempt {
        let attempt = match self.config.coordination.clone() {
            Some(coordination) => self.try_coordinated(&coordination).await,
            None => self.try_once().await,
        };
        self.status.observe(self.holder(), self.observed_at);
        self.status.report();
        attempt
    }

    async fn try_once(&mut self) -> Attempt {
        let now = self.config.time.now();
        self.wall = micro_time(self.config.time.wall());
        let may_renew = self.is_holder() && self.expires() > now && self.lease.is_some();
        if may_renew {
            // The resourceVersion tells whether it changed meanwhile, so it need not be read.
            match self.update(self.kept(), now).await {
                Ok(held) => return Attempt::Held(held),
                Err(error) => {
                    tracing::debug!(lease = self.lock.name(), %error, "Lease was not renewed, so it is read");
                    self.config.observer.slow_path(self.lock.name());
                }
            }
        }
        let found = match self.request(self.lock.get()).await {
            Ok(lease) => lease,
            Err(AttemptError::Client(error)) if error.is_not_found() => {
                // If it was deleted under us, it goes on where it was.
                let spec = if may_renew {
                    self.kept()
                } else {
                    LeaseSpec { lease_transitions: Some(0), ..self.wanted() }
                };
                return self.create(spec).await;
            }
            Err(error) => return Attempt::Failed(error),
        };
        self.note(found);

        let is_free = self.holder().is_empty();
        // What was seen for the first time just now is looked at from after that.
        if !is_free && !self.is_holder() && self.expires() > now {
            return Attempt::HeldByOther { until: self.expires() };
        }
        // Whoever led renewed the Lease before it was last seen to change.
        let unchanged = self.observed_at.saturating_add(self.config.lease_duration);
        let wanted = if self.is_holder() {
            let kept = self.kept();
            if !self.is_own_claim() {
                // Somebody else wrote our name, maybe an earlier process of the same name.
                self.claim = Some(Claim::of(&kept, Some(unchanged)));
            }
            kept
        } else {
            let transitions = self.observed.transitions().saturating_add(1);
            let wanted = LeaseSpec { lease_transitions: Some(transitions), ..self.wanted() };
            let released = self.observed.is_released();
            self.claim = Some(Claim::of(&wanted, Some(if released { Duration::ZERO } else { unchanged })));
            wanted
        };
        self.write(wanted).await
    }

    /// Tries once to renew the Lease that the server has given to this candidate, and lets the server know that it is there.
    ///
    /// It never creates or takes the Lease, and does not renew one that has ended or is to go to another one.
    async fn try_coordinated(&mut self, coordination: &Coordination) -> Attempt {
        let now = self.config.time.now();
        self.wall = micro_time(self.config.time.wall());
        if let Err(error) = self.announce(coordination, now).await {
            tracing::warn!(lease = self.lock.name(), %error, "the server is not told of this candidate");
        }
        let found = match self.request(self.lock.get()).await {
            Ok(lease) => lease,
            Err(AttemptError::Client(error)) if error.is_not_found() => {
                return Attempt::Failed(AttemptError::NotChosen);
            }
            Err(error) => return Attempt::Failed(error),
        };
        let preferred = found.spec.preferred_holder.clone().unwrap_or_default();
        self.note(found);
        if !self.is_holder() || self.expires() <= now {
            return if self.holder().is_empty() || self.expires() <= now {
                Attempt::Failed(AttemptError::NotChosen)
            } else {
                Attempt::HeldByOther { until: self.expires() }
            };
        }
        if !preferred.is_empty() {
            return Attempt::Failed(AttemptError::Preferred(preferred));
        }
        if !self.is_own_claim() {
            // The server chose when the Lease of the last holder had ended.
            self.claim = Some(Claim::of(&self.observed, Some(Duration::ZERO)));
        }
        self.write(self.kept()).await
    }

    /// Creates or renews this candidate's LeaseCandidate: at first, when the server asks whether it is still there, and every five minutes.
    async fn announce(&mut self, coordination: &Coordination, now: Duration) -> Result<(), AttemptError> {
        let found = match self.request(self.lock.candidate(&self.config.identity)).await {
            Ok(candidate) => candidate,
            Err(AttemptError::Client(error)) if error.is_not_found() => LeaseCandidate::default(),
            Err(error) => return Err(error),
        };
        let is_new = found.metadata.resource_version.is_empty();
        let is_old = self.announced_at.is_none_or(|at| now.saturating_sub(at) >= ANNOUNCE_AGAIN);
        if !is_new && !is_old && !found.spec.is_pinged() {
            return Ok(());
        }
        let mut candidate = found;
        candidate.metadata.name = self.config.identity.as_str().into();
        coordination.fill(&mut candidate.spec, self.lock.name(), &self.wall);
        self.request(self.lock.announce(&candidate)).await?;
        self.announced_at = Some(now);
        Ok(())
    }

    async fn create(&mut self, spec: LeaseSpec) -> Attempt {
        self.claim = Some(Claim::of(&spec, None));
        let mut lease = Lease { spec: spec.clone(), ..Lease::default() };
        lease.metadata.labels = self.config.labels.clone().into();
        let sent = self.config.time.now();
        match self.request(self.lock.create(&lease)).await {
            Ok(lease) => Attempt::Held(self.wrote(lease, spec, sent)),
            Err(error) => Attempt::Failed(error),
        }
    }

    /// An attempt that comes down to one update, sent now.
    async fn write(&mut self, spec: LeaseSpec) -> Attempt {
        let sent = self.config.time.now();
        self.update(spec, sent).await.map_or_else(Attempt::Failed, Attempt::Held)
    }

    async fn update(&mut self, spec: LeaseSpec, sent: Duration) -> Result<Held, AttemptError> {
        let mut lease = self.lease.clone().unwrap_or_default();
        let LeaseSpec { strategy, preferred_holder, other, .. } = std::mem::take(&mut lease.spec);
        lease.spec = LeaseSpec { strategy, preferred_holder, other, ..spec.clone() };
        for (label, value) in &self.config.labels {
            if lease.metadata.labels.get(label) != Some(value) {
                lease.metadata.labels.insert(label.clone(), value.clone());
            }
        }
        let lease = self.request(self.lock.update(&lease)).await?;
        Ok(self.wrote(lease, spec, sent))
    }

    /// A write succeeded.
    fn wrote(&mut self, lease: Lease, spec: LeaseSpec, sent: Duration) -> Held {
        self.observed = spec;
        // It holds from before it was sent: the answer may have taken any time.
        self.observed_at = sent;
        let granted = self.config.time.now().saturating_add(self.config.lease_duration);
        let alone_from = self.claim.as_mut().map(|claim| *claim.alone_from.get_or_insert(granted));
        let held = Held {
            sent,
            alone_from: match self.config.missing_lease {
                MissingLease::MayBeHeld => alone_from.unwrap_or(granted),
                MissingLease::NeverHeld => Duration::ZERO,
            },
            version: lease.metadata.resource_version.to_string(),
            transitions: self.observed.transitions(),
        };
        self.lease = Some(lease);
        held
    }

    /// The Lease was read.
    fn note(&mut self, lease: Lease) {
        if self.read.as_ref() != Some(&lease.spec) {
            self.observed = lease.spec.clone();
            self.observed_at = self.config.time.now();
            self.read = Some(lease.spec.clone());
        }
        self.lease = Some(lease);
    }

    /// Up to when the Lease holds that was last written or read.
    fn expires(&self) -> Duration {
        self.observed_at.saturating_add(Duration::from_secs(self.observed.seconds()))
    }

    /// The Lease as this candidate's, from now on.
    fn wanted(&self) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            lease_duration_seconds: Some(self.config.published_seconds()),
            acquire_time: Some(self.wall.clone()),
            renew_time: Some(self.wall.clone()),
            ..LeaseSpec::default()
        }
    }

    /// The Lease as this candidate's that has it already.
    fn kept(&self) -> LeaseSpec {
        LeaseSpec {
            acquire_time: self.observed.acquire_time.clone(),
            lease_transitions: Some(self.observed.transitions()),
            ..self.wanted()
        }
    }

    /// Gives the Lease back, if it is ours (LE-17). Whether nothing is left to be done.
    pub(crate) async fn release(&mut self) -> bool {
        let released = self.try_release().await;
        self.status.observe(self.holder(), self.observed_at);
        if let Err(error) = &released {
            tracing::warn!(lease = self.lock.name(), %error, "Lease is not given back, others have to wait");
        }
        released.is_ok()
    }

    async fn try_release(&mut self) -> Result<(), AttemptError> {
        let lease = self.request(self.lock.get()).await?;
        if lease.spec.holder() != self.config.identity || !self.is_holder() {
            return Ok(());
        }
        self.lease = Some(lease);
        let mut spec = self.observed.clone();
        spec.release(self.config.time.wall());
        let sent = self.config.time.now();
        self.update(spec, sent).await.map(drop)
    }

    async fn request<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, AttemptError> {
        let limit = self.config.request_timeout();
        tokio::select! {
            biased;
            answer = request => answer.map_err(AttemptError::Client),
            () = self.config.time.sleep(limit) => Err(AttemptError::TimedOut(limit)),
        }
    }
}
