use std::sync::Arc;

/// Says whether writes may be sent. [`Client::fenced`](crate::Client::fenced) asks it before each.
///
/// The token of a leader is one: a leader that has lost its lease, or has not heard for too long that it still has it, must not
/// write any more.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use lariat_client::{Fence, Fenced};
///
/// struct Switch(AtomicBool);
///
/// impl Fence for Switch {
///     fn check(&self) -> Result<(), Fenced> {
///         if self.0.load(Ordering::SeqCst) { Ok(()) } else { Err(Fenced::new("writes are switched off")) }
///     }
/// }
/// assert!(Switch(AtomicBool::new(false)).check().is_err());
/// ```
pub trait Fence: Send + Sync + 'static {
    /// Whether a write may be sent now.
    ///
    /// # Errors
    ///
    /// Why it may not.
    fn check(&self) -> Result<(), Fenced>;
}

/// Why a write was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Fenced {
    reason: Arc<str>,
}

impl Fenced {
    /// For the given reason.
    pub fn new(reason: impl Into<Arc<str>>) -> Self {
        Self { reason: reason.into() }
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
