use std::any::Any;
use std::error::Error as StdError;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use crate::boxed::Boxed;
use crate::events::Recorder;

/// Decides which of several processes works.
///
/// A [`Manager`](crate::Manager) asks it before it starts what needs leadership, ends at once when the leadership is lost, and gives
/// it back when all that needed it has ended.
///
/// # Example
///
/// ```
/// use lariat::{BoxError, BoxFuture, Elector, Term};
///
/// /// Always leads.
/// struct Alone;
///
/// impl Elector for Alone {
///     fn name(&self) -> &str {
///         "alone"
///     }
///
///     fn acquire(&self) -> BoxFuture<'_, Result<Term, BoxError>> {
///         Box::pin(async { Ok(Term::new()) })
///     }
///
///     fn lost<'a>(&'a self, _term: &'a Term) -> BoxFuture<'a, String> {
///         Box::pin(std::future::pending())
///     }
///
///     fn release(&self, _term: Term) -> BoxFuture<'_, ()> {
///         Box::pin(async {})
///     }
/// }
/// # let _ = Alone;
/// ```
pub trait Elector: Send + Sync + 'static {
    /// The name of what is led, as metrics have it: that of the lease.
    fn name(&self) -> &str;

    /// Gives it what it can tell of itself with: events, and a counter of renewals that took long, client-go's
    /// `leader_election_slowpath_total`. Called once, before it is asked to lead. Nothing is told if this is not written.
    fn attach(&self, events: Recorder, slow_path: Box<dyn Fn() + Send + Sync>) {
        let _ = (events, slow_path);
    }

    /// Waits until this process leads. An error ends the program; what can be tried again is not one. The future is dropped if the
    /// program is to stop meanwhile, and must then leave no leadership behind that is not lost by itself.
    fn acquire(&self) -> Boxed<'_, Result<Term, BoxError>>;

    /// Waits until this process leads no more, or cannot be sure of it, and says why.
    fn lost<'a>(&'a self, term: &'a Term) -> Boxed<'a, String>;

    /// Gives the leadership back, so that another process need not wait for its end. It is called once all that needed it has
    /// ended.
    fn release(&self, term: Term) -> Boxed<'_, ()>;
}

/// An error of any kind.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The time in which a process leads, with what its elector has to prove it. A clone is the same.
///
/// # Example
///
/// ```
/// use lariat::Term;
///
/// let term = Term::with_token(7_u64);
/// assert_eq!(term.token::<u64>(), Some(&7));
/// assert_eq!(Term::new().token::<u64>(), None);
/// ```
#[derive(Clone, Default)]
pub struct Term(Option<Arc<dyn Any + Send + Sync>>);

impl Term {
    /// A term that proves nothing.
    pub fn new() -> Self {
        Self(None)
    }

    /// A term with a token, such as a number that grows from leader to leader.
    pub fn with_token(token: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(token)))
    }

    /// The token, if there is one of this type.
    pub fn token<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl Debug for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term").finish_non_exhaustive()
    }
}
