use std::fmt::{self, Debug, Formatter};
use std::future::Future;

use super::{BoxError, Stop};
use crate::boxed::Boxed;

/// Something beside controllers that a [`Manager`](crate::Manager) runs: it starts when a controller would, and stops when it is
/// told to.
///
/// # Example
///
/// ```
/// use lariat::{Manager, Runnable};
///
/// # fn add(manager: &Manager) -> Result<(), lariat::AddError> {
/// let webhooks = Runnable::new("webhooks", |stop| async move {
///     stop.stopped().await; // or serve something until then
///     Ok(())
/// });
/// manager.add_runnable(webhooks.needs_leadership(false))?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a runnable does nothing until it is added to a manager"]
pub struct Runnable {
    pub(super) name: String,
    pub(super) needs_leadership: bool,
    pub(super) run: Run,
}

type Run = Box<dyn FnOnce(Stop) -> Boxed<'static, Result<(), BoxError>> + Send>;

impl Runnable {
    /// A closure that runs until it is to stop. It may end before; if it ends with an error, or panics, so does the manager.
    pub fn new<F>(name: impl Into<String>, run: impl FnOnce(Stop) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self { name: name.into(), needs_leadership: true, run: Box::new(move |stop| Box::pin(run(stop))) }
    }

    /// Whether it runs only while this process leads; it does if nothing is said. Of no effect in a manager without an elector.
    pub fn needs_leadership(mut self, needs: bool) -> Self {
        self.needs_leadership = needs;
        self
    }
}

impl Debug for Runnable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable")
            .field("name", &self.name)
            .field("needs_leadership", &self.needs_leadership)
            .finish_non_exhaustive()
    }
}
