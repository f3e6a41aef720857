use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::error::ReflectorError;

/// What went wrong last in an informer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastError {
    /// When.
    pub at: Instant,
    /// The text of the [`ReflectorError`](crate::ReflectorError).
    pub text: String,
}

/// Whether an informer gets on, and what is in its way.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    started: Option<Instant>,
    last_error: Option<LastError>,
}

impl Progress {
    pub(crate) fn start(&self) {
        self.state().started = Some(Instant::now());
    }

    pub(crate) fn fail(&self, error: &ReflectorError) {
        let text = error.to_string();
        self.state().last_error = Some(LastError { at: Instant::now(), text });
    }

    /// A list is complete, or a watch was opened.
    pub(crate) fn succeed(&self) {
        self.state().last_error = None;
    }

    pub(crate) fn started(&self) -> Option<Instant> {
        self.state().started
    }

    pub(crate) fn last_error(&self) -> Option<LastError> {
        self.state().last_error.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
