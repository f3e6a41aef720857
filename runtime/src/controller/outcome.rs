use std::error::Error as StdError;
use std::fmt::{self, Debug, Display, Formatter};
use std::time::Duration;

/// What is to become of a key that was handled without an error. Its failures are forgotten, but for [`Requeue`](Self::Requeue).
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat::Outcome;
///
/// fn after(rest: u64) -> Outcome {
///     if rest == 0 { Outcome::Done } else { Outcome::RequeueAfter(Duration::from_secs(rest)) }
/// }
/// assert_eq!(after(0), Outcome::Done);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing, until something changes.
    Done,
    /// It is handled again after this time, or sooner if something changes.
    RequeueAfter(Duration),
    /// It is handled again when the rate limiter allows, as after an error, and nothing is logged.
    Requeue,
}

/// Why a key could not be handled, and whether it is worth another try.
///
/// `?` makes one of any error, to be retried; [`terminal`](Self::terminal) and [`ignore`](Self::ignore) make the others. Each is
/// logged once, by the controller.
///
/// # Example
///
/// ```
/// use lariat::Failure;
///
/// fn port(text: &str) -> Result<u16, Failure> {
///     Ok(text.parse()?) // retried
/// }
///
/// fn port_of_spec(text: &str) -> Result<u16, Failure> {
///     text.parse().map_err(Failure::terminal) // wrong until somebody changes it
/// }
/// assert!(!port("x").unwrap_err().is_terminal());
/// assert!(port_of_spec("x").unwrap_err().is_terminal());
/// ```
pub struct Failure {
    treatment: Treatment,
    cause: Box<dyn StdError + Send + Sync>,
    /// Whether it is one of several that were all conflicts.
    are_conflicts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    Retry,
    Terminal,
    Ignore,
}

impl Failure {
    /// A failure that is tried again, when the rate limiter allows.
    pub fn retry(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Treatment::Retry, cause.into())
    }

    /// A failure that is not tried again before something changes, since it would fail again.
    #[doc(alias = "TerminalError")]
    pub fn terminal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Treatment::Terminal, cause.into())
    }

    /// A failure that is none: as [`Outcome::Done`], and logged at the level of debugging.
    #[doc(alias = "ErrIgnore")]
    pub fn ignore(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Treatment::Ignore, cause.into())
    }

    fn new(treatment: Treatment, cause: Box<dyn StdError + Send + Sync>) -> Self {
        Self { treatment, cause, are_conflicts: false }
    }

    /// Several in one.
    pub(crate) fn combined(text: String, are_terminal: bool, are_conflicts: bool) -> Self {
        let treatment = if are_terminal { Treatment::Terminal } else { Treatment::Retry };
        Self { are_conflicts, ..Self::new(treatment, text.into()) }
    }

    /// Whether it is not tried again.
    pub fn is_terminal(&self) -> bool {
        self.treatment == Treatment::Terminal
    }

    /// Whether it counts for nothing.
    pub fn is_ignored(&self) -> bool {
        self.treatment == Treatment::Ignore
    }

    /// Whether the server refused a write because the object had changed meanwhile. That is how things go: it is tried again and
    /// logged at the level of debugging.
    pub fn is_conflict(&self) -> bool {
        let mut next: Option<&(dyn StdError + 'static)> = Some(&*self.cause);
        if self.are_conflicts {
            return true;
        }
        while let Some(error) = next {
            if error.downcast_ref::<lariat_client::Error>().is_some_and(lariat_client::Error::is_conflict) {
                return true;
            }
            next = error.source();
        }
        false
    }

    /// The error.
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.cause
    }

    pub(crate) fn treatment(&self) -> Treatment {
        self.treatment
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(cause: E) -> Self {
        Self::retry(cause)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.cause, f)
    }
}

impl Debug for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple(match self.treatment {
            Treatment::Retry => "Retry",
            Treatment::Terminal => "Terminal",
            Treatment::Ignore => "Ignore",
        })
        .field(&self.cause)
        .finish()
    }
}
