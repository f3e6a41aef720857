use std::cmp::Ordering;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};
use std::time::Duration;

use lariat_api::ResourceVersion;
use lariat_client::{Fence, Fenced};
use tokio::sync::watch;

use crate::observer::EndReason;
use crate::time::Time;

/// The token of a leader. Its work carries it, and asks it before each write.
///
/// It is valid while the Lease is known to be held, and becomes invalid by itself when no renewal has succeeded for as long as the
/// renew deadline, even if the program was stopped meanwhile. Once it is invalid it stays so.
///
/// Tokens of one Lease are ordered, and a later leader's is greater: it compares by the resourceVersion with which the Lease was
/// taken. Whoever keeps the greatest token seen can refuse what comes with a smaller one.
///
/// As a [`Fence`] it keeps a client from sending what it should not: `client.fenced(Arc::new(leading.clone()))`.
///
/// # Example
///
/// ```
/// use lariat_leaderelection::Leading;
///
/// async fn work(leading: Leading) {
///     while leading.check().is_ok() {
///         // Write something.
///         tokio::select! {
///             () = leading.stopping() => break,
///             () = tokio::task::yield_now() => {}
///         }
///     }
/// }
/// # let _ = work;
/// ```
#[derive(Clone)]
pub struct Leading(Arc<Term>);

/// The time for which one candidate leads.
pub(crate) struct Term {
    identity: String,
    transitions: i32,
    version: String,
    time: Arc<dyn Time>,
    /// Up to when the token is valid, in nanoseconds of the clock. 0 once the term has ended.
    valid_until: AtomicU64,
    stage: watch::Sender<Stage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    Leads,
    /// The work is to end.
    Stopping,
    Ended(EndReason),
}

/// Why a token is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{identity} does not lead any more")]
pub struct NotLeading {
    /// Who led.
    pub identity: String,
}

/// Ends a term when it is dropped.
pub(crate) struct Reign(Leading);

impl Leading {
    /// Whether a write may be sent now.
    ///
    /// # Errors
    ///
    /// If the term has ended, or the last renewal is too long ago.
    pub fn check(&self) -> Result<(), NotLeading> {
        // The clock is read last, so that what was read before is not outdated.
        let valid_until = Duration::from_nanos(self.0.valid_until.load(Atomic::Acquire));
        if self.0.time.now() < valid_until {
            return Ok(());
        }
        Err(NotLeading { identity: self.0.identity.clone() })
    }

    /// For how long the token is valid if no renewal succeeds. Zero if it is not.
    pub fn remaining(&self) -> Duration {
        let valid_until = Duration::from_nanos(self.0.valid_until.load(Atomic::Acquire));
        valid_until.saturating_sub(self.0.time.now())
    }

    /// Waits until the work is to end: the program ends, or the Lease was lost. In the first case the token remains valid until the work
    /// has ended, in the second it is not valid any more.
    ///
    /// # Cancel safety
    ///
    /// Waiting has no effect.
    pub async fn stopping(&self) {
        let mut stage = self.0.stage.subscribe();
        // The sender lives as long as this token.
        let _ = stage.wait_for(|stage| *stage != Stage::Leads).await;
    }

    /// Waits until this candidate leads no more, and says why.
    ///
    /// # Cancel safety
    ///
    /// Waiting has no effect.
    pub async fn ended(&self) -> EndReason {
        let mut stage = self.0.stage.subscribe();
        let ended = stage.wait_for(|stage| matches!(stage, Stage::Ended(_))).await;
        match ended.as_deref() {
            Ok(Stage::Ended(reason)) => reason.clone(),
            _ => EndReason::Shutdown,
        }
    }

    /// Who leads.
    pub fn identity(&self) -> &str {
        &self.0.identity
    }

    /// How often the Lease had changed hands when it was taken. It grows from leader to leader, unless the Lease is deleted or edited.
    pub fn transitions(&self) -> i32 {
        self.0.transitions
    }

    /// The resourceVersion that the Lease had when it was taken. It always grows from leader to leader.
    pub fn resource_version(&self) -> &str {
        &self.0.version
    }
}

impl Reign {
    pub(crate) fn begin(
        identity: String,
        transitions: i32,
        version: String,
        time: Arc<dyn Time>,
        valid_until: Duration,
    ) -> Self {
        let term = Term {
            identity,
            transitions,
            version,
            time,
            valid_until: AtomicU64::new(nanos(valid_until)),
            stage: watch::Sender::new(Stage::Leads),
        };
        Self(Leading(Arc::new(term)))
    }

    pub(crate) fn token(&self) -> &Leading {
        &self.0
    }

    pub(crate) fn extend(&self, valid_until: Duration) {
        self.0.0.valid_until.store(nanos(valid_until), Atomic::Release);
    }

    /// Asks the work to end.
    pub(crate) fn stop(&self) {
        self.0.0.stage.send_if_modified(|stage| {
            let leads = *stage == Stage::Leads;
            if leads {
                *stage = Stage::Stopping;
            }
            leads
        });
    }

    /// The token is not valid any more. The first reason counts.
    pub(crate) fn end(&self, reason: EndReason) {
        self.0.0.valid_until.store(0, Atomic::Release);
        self.0.0.stage.send_if_modified(|stage| {
            let is_first = !matches!(stage, Stage::Ended(_));
            if is_first {
                *stage = Stage::Ended(reason);
            }
            is_first
        });
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

impl Drop for Reign {
    fn drop(&mut self) {
        self.end(EndReason::Shutdown);
    }
}

impl Fence for Leading {
    fn check(&self) -> Result<(), Fenced> {
        Leading::check(self).map_err(|error| Fenced::new(error.to_string()))
    }
}

/// By the resourceVersions, which a server gives out in ascending order.
impl Ord for Leading {
    fn cmp(&self, other: &Self) -> Ordering {
        ResourceVersion::compare(self.resource_version(), other.resource_version())
            .unwrap_or_else(|_| self.resource_version().cmp(other.resource_version()))
    }
}

impl PartialOrd for Leading {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Leading {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Leading {}

impl Debug for Leading {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leading")
            .field("identity", &self.0.identity)
            .field("transitions", &self.0.transitions)
            .field("resource_version", &self.0.version)
            .field("remaining", &self.remaining())
            .finish()
    }
}
