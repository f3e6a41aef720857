use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use crate::candidate::{Attempt, AttemptError, Candidate, Held};
use crate::config::{ConfigError, ElectorConfig};
use crate::leading::{Leading, Reign};
use crate::lock::Lock;
use crate::observer::EndReason;
use crate::status::ElectorHandle;
use crate::time::Time;

/// A candidate for a Lease. It campaigns, leads, and campaigns again, until it is told to end.
///
/// # Example
///
/// ```
/// use lariat_client::Client;
/// use lariat_leaderelection::{Elector, ElectorConfig, LeaseLock, Leading};
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let lock = LeaseLock::new(&client, "agones-system", "agones-controller-lock")?;
/// let mut elector = Elector::new(lock, ElectorConfig::new("pod-7f9c"))?;
/// let handle = elector.handle();
/// elector
///     .run(shutdown, async |leading: Leading| {
///         println!("{} leads", leading.identity());
///         leading.stopping().await;
///     })
///     .await;
/// assert!(!handle.is_leader());
/// # Ok(())
/// # }
/// ```
#[doc(alias = "LeaderElector")]
pub struct Elector<L> {
    candidate: Candidate<L>,
}

/// How a campaign or a term ended otherwise than by what it was there for.
enum Interrupt {
    Shutdown,
    Lost(EndReason),
}

/// Campaigns for a Lease, runs `work` whenever this candidate leads, and ends when the work does, or `shutdown`.
///
/// This is [`Elector::run`] for those who need no handle. The result is that of the work, or none if it was told to end.
///
/// # Errors
///
/// If the configuration cannot be used.
///
/// # Cancel safety
///
/// If it is dropped, the token is invalid and the work is dropped; the Lease is not given back, and others wait for the lease
/// duration.
pub async fn run_as_leader<L: Lock, W: Future>(
    lock: L,
    config: ElectorConfig,
    shutdown: impl Future<Output = ()>,
    work: impl FnMut(Leading) -> W,
) -> Result<Option<W::Output>, ConfigError> {
    Ok(Elector::new(lock, config)?.run(shutdown, work).await)
}

impl<L: Lock> Elector<L> {
    /// A candidate that does nothing before it [runs](Self::run).
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    #[doc(alias = "NewLeaderElector")]
    pub fn new(lock: L, config: ElectorConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { candidate: Candidate::new(lock, config) })
    }

    /// What others can know of it.
    pub fn handle(&self) -> ElectorHandle {
        ElectorHandle::new(self.candidate.status.clone())
    }

    /// Campaigns until this candidate leads, and then runs `work`, with its token.
    ///
    /// When the Lease is lost, the token is invalid at once, the work is asked to stop, and is dropped if it has not ended by the time
    /// that others may lead, or after [`stop_grace`](ElectorConfig::stop_grace). Then it campaigns again.
    ///
    /// On `shutdown` the work is asked to stop, while the Lease is kept for it, and is dropped after the grace. Then the Lease is given
    /// back. When the work ends by itself, the Lease is given back too, and its result is returned; none after a shutdown.
    ///
    /// # Cancel safety
    ///
    /// As [`run_as_leader`].
    pub async fn run<W: Future>(
        &mut self,
        shutdown: impl Future<Output = ()>,
        mut work: impl FnMut(Leading) -> W,
    ) -> Option<W::Output> {
        let mut shutdown = pin!(shutdown);
        loop {
            match self.run_once(shutdown.as_mut(), &mut work).await {
                Ok(done) => return done,
                Err(reason) => {
                    tracing::warn!(
                        lease = self.candidate.lock.name(),
                        ?reason,
                        "leads no more, campaigns again"
                    );
                }
            }
        }
    }

    /// As [`run`](Self::run), but does not campaign again when the Lease was lost. It can be called again.
    ///
    /// # Errors
    ///
    /// Why the Lease was lost.
    ///
    /// # Cancel safety
    ///
    /// As [`run_as_leader`].
    pub async fn run_once<W: Future>(
        &mut self,
        shutdown: impl Future<Output = ()>,
        mut work: impl FnMut(Leading) -> W,
    ) -> Result<Option<W::Output>, EndReason> {
        let mut shutdown = pin!(shutdown);
        let held = tokio::select! {
            biased;
            () = &mut shutdown => return Ok(None),
            held = self.candidate.campaign() => held,
        };
        self.lead(held, shutdown, &mut work).await
    }

    /// A term, from the write that got the Lease to when it is given back or lost.
    async fn lead<W: Future>(
        &mut self,
        held: Held,
        mut shutdown: Pin<&mut impl Future<Output = ()>>,
        work: &mut impl FnMut(Leading) -> W,
    ) -> Result<Option<W::Output>, EndReason> {
        let Self { candidate } = self;
        let (config, name) = (candidate.config.clone(), candidate.lock.name().to_owned());
        let mut keeper = Keeper { valid_until: held.sent + config.renew_deadline, reign: None };
        let wait = held.alone_from.saturating_sub(config.time.now());
        if !wait.is_zero() {
            tracing::info!(lease = name, ?wait, "waits until nobody else can lead");
        }
        // Also if there is nothing to wait for: the answer may have come too late.
        let alone = config.time.sleep(wait);
        if let Err(interrupt) = keeper.keep(candidate, shutdown.as_mut(), alone).await {
            candidate.give_back(&config).await;
            return match interrupt {
                Interrupt::Shutdown => Ok(None),
                Interrupt::Lost(reason) => Err(reason),
            };
        }
        if config.time.now() >= keeper.valid_until {
            candidate.give_back(&config).await;
            return Err(EndReason::NotRenewed);
        }

        let Held { version, transitions, .. } = held;
        let reign = Reign::begin(
            config.identity.clone(),
            transitions,
            version,
            config.time.clone(),
            keeper.valid_until,
        );
        let reign = Arc::new(reign);
        keeper.reign = Some(reign.clone());
        tracing::info!(lease = name, identity = config.identity, "leads");
        config.observer.started_leading(&name, reign.token());
        if let Some(lease) = candidate.lease() {
            config.observer.event(lease, &format!("{} became leader", config.identity));
        }

        let outcome = {
            let mut working = pin!(work(reign.token().clone()));
            match keeper.keep(candidate, shutdown, &mut working).await {
                Ok(done) => Ok(Some(done)),
                Err(Interrupt::Shutdown) => {
                    reign.stop();
                    let ended = within(&*config.time, config.stop_grace, &mut working);
                    // The Lease is kept for what the work has yet to write.
                    let _ = keeper.keep(candidate, pin!(std::future::pending()), ended).await;
                    Ok(None)
                }
                Err(Interrupt::Lost(reason)) => {
                    reign.end(reason.clone());
                    let others_may = keeper.valid_until + (config.lease_duration - config.renew_deadline);
                    let rest = others_may.saturating_sub(config.time.now());
                    within(&*config.time, rest.min(config.stop_grace), &mut working).await;
                    Err(reason)
                }
            }
        };
        let reason = match &outcome {
            Ok(Some(_)) => EndReason::Finished,
            Ok(None) => EndReason::Shutdown,
            Err(reason) => reason.clone(),
        };
        reign.end(reason.clone());
        candidate.give_back(&config).await;
        tracing::info!(lease = name, identity = config.identity, ?reason, "leads no more");
        config.observer.stopped_leading(&name, &reason);
        if let Some(lease) = candidate.lease() {
            config.observer.event(lease, &format!("{} stopped leading", config.identity));
        }
        outcome
    }
}

impl<L: Lock> Candidate<L> {
    /// Tries until the Lease is ours: at once, and then after one to 1.2 retry periods (LE-10 has up to 2.2), but soon after the Lease of
    /// another one ends.
    ///
    /// # Cancel safety
    ///
    /// A write that was sent may be carried out nonetheless; if it is, the Lease is found to be ours later.
    async fn campaign(&mut self) -> Held {
        let mut told = String::new();
        loop {
            let begun = self.config.time.now();
            let outcome = self.attempt().await;
            let ElectorConfig { retry_period, randomness, time, .. } = &self.config;
            let pause = match outcome {
                Attempt::Held(held) => return held,
                Attempt::HeldByOther { until } => {
                    let pause = randomness.jitter(*retry_period, 0.2);
                    // Not all at the same moment, when there are many.
                    let ends = until.saturating_sub(time.now());
                    pause.min(ends + retry_period.mul_f64(0.1 * randomness.unit()))
                }
                Attempt::Failed(error) => {
                    // Whoever waits for a leader wants to know why there is none, but not every two seconds.
                    let text = error.to_string();
                    if text == told {
                        tracing::debug!(lease = self.lock.name(), %error, "Lease was not got");
                    } else {
                        tracing::warn!(lease = self.lock.name(), %error, "Lease was not got, is tried again");
                        told = text;
                    }
                    // A request that took long was a pause already.
                    (begun + *retry_period).saturating_sub(time.now()).max(*retry_period / 10)
                }
            };
            self.config.time.sleep(pause).await;
        }
    }

    async fn give_back(&mut self, config: &ElectorConfig) {
        if config.release {
            within(&*config.time, config.renew_deadline, self.release()).await;
        }
    }
}

/// Keeps the Lease.
struct Keeper {
    /// Up to when the token is valid.
    valid_until: Duration,
    reign: Option<Arc<Reign>>,
}

impl Keeper {
    /// Renews the Lease until something else has happened (LE-11): each retry period, and as long as one fails again each retry period
    /// from when it began.
    async fn keep<L: Lock, T>(
        &mut self,
        candidate: &mut Candidate<L>,
        shutdown: Pin<&mut impl Future<Output = ()>>,
        until: impl Future<Output = T>,
    ) -> Result<T, Interrupt> {
        tokio::select! {
            biased;
            done = until => Ok(done),
            () = shutdown => Err(Interrupt::Shutdown),
            reason = self.renew(candidate) => Err(Interrupt::Lost(reason)),
        }
    }

    /// Renews the Lease until it is lost.
    async fn renew<L: Lock>(&mut self, candidate: &mut Candidate<L>) -> EndReason {
        let (time, period) = (candidate.config.time.clone(), candidate.config.retry_period);
        loop {
            let mut next = time.now();
            loop {
                next += period;
                let attempt = async { Some(candidate.attempt().await) };
                let attempt = tokio::select! {
                    biased;
                    attempt = attempt => attempt,
                    () = time.sleep(self.valid_until.saturating_sub(time.now())) => None,
                };
                let now = time.now();
                match attempt {
                    // The answer came too late: nobody knows what happened meanwhile.
                    None => return EndReason::NotRenewed,
                    Some(_) if now >= self.valid_until => return EndReason::NotRenewed,
                    Some(Attempt::Held(held)) if candidate.is_own_claim() => {
                        self.extend(held.sent + candidate.config.renew_deadline);
                        break;
                    }
                    Some(Attempt::Held(_)) => return EndReason::Taken { by: candidate.holder().to_owned() },
                    Some(Attempt::HeldByOther { .. }) => {
                        return EndReason::Taken { by: candidate.holder().to_owned() };
                    }
                    Some(Attempt::Failed(AttemptError::Preferred(by))) => return EndReason::Taken { by },
                    Some(Attempt::Failed(error)) => {
                        let lease = candidate.lock.name();
                        tracing::warn!(lease, %error, "Lease was not renewed, is tried again");
                    }
                }
                let pause = next.min(self.valid_until).saturating_sub(now);
                time.sleep(pause).await;
                if time.now() >= self.valid_until {
                    return EndReason::NotRenewed;
                }
            }
            time.sleep(period).await;
        }
    }

    fn extend(&mut self, valid_until: Duration) {
        self.valid_until = valid_until;
        if let Some(reign) = &self.reign {
            reign.extend(valid_until);
        }
    }
}

/// What a future gives, if it ends in time.
async fn within<T>(time: &dyn Time, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = time.sleep(limit) => None,
    }
}
