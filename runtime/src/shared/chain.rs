use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_api::{Object, ObjectKey};
use tokio::time::Instant;

use super::finalized::{Finalized, LOOK_AGAIN};
use crate::boxed::Boxed;
use crate::controller::worker::catch_panic;
use crate::controller::{Context, Failure, Outcome};
use crate::metrics::LassoFamilies;

/// The handlers of one controller.
pub(super) struct Chain<K> {
    name: Arc<str>,
    handlers: Mutex<Handlers<K>>,
    finalized: Finalized,
    metrics: Arc<LassoFamilies>,
}

struct Handlers<K> {
    next: u64,
    list: Vec<Handler<K>>,
}

struct Handler<K> {
    id: u64,
    name: Arc<str>,
    call: Call<K>,
}

pub(super) type Call<K> = Arc<
    dyn Fn(ObjectKey, Option<Arc<K>>, Context) -> Boxed<'static, Result<Option<Arc<K>>, Failure>>
        + Send
        + Sync,
>;

/// What went wrong in some handlers.
#[derive(Debug)]
struct Failures(Vec<(Arc<str>, Failure)>);

impl<K: Object> Chain<K> {
    pub(super) fn new(name: Arc<str>, metrics: Arc<LassoFamilies>) -> Self {
        let handlers = Mutex::new(Handlers { next: 0, list: Vec::new() });
        Self { name, handlers, finalized: Finalized::default(), metrics }
    }

    /// Adds a handler after the others; returns its number.
    pub(super) fn add(&self, name: &str, call: Call<K>) -> u64 {
        let mut handlers = self.handlers();
        let id = handlers.next;
        handlers.next += 1;
        handlers.list.push(Handler { id, name: name.into(), call });
        id
    }

    pub(super) fn remove(&self, id: u64) {
        self.handlers().list.retain(|handler| handler.id != id);
    }

    /// Calls all handlers, one after another.
    pub(super) async fn run(
        &self,
        key: ObjectKey,
        object: Option<Arc<K>>,
        context: Context,
    ) -> Result<Outcome, Failure> {
        if object.as_ref().is_some_and(|object| self.finalized.has(&**object)) {
            // The cache is behind: this is gone.
            return Ok(Outcome::RequeueAfter(LOOK_AGAIN));
        }
        let handlers: Vec<_> =
            self.handlers().list.iter().map(|handler| (handler.name.clone(), handler.call.clone())).collect();
        let (mut current, mut failures) = (object, Vec::new());
        for (name, call) in handlers {
            let began = Instant::now();
            let (key, object, context) = (key.clone(), current.clone(), context.clone());
            let outcome = catch_panic(move || call(key, object, context)).await;
            let failure = match outcome {
                Ok(Ok(Some(new))) if !new.uid().is_empty() => {
                    current = Some(new);
                    None
                }
                Ok(Ok(_)) => None,
                Ok(Err(failure)) if failure.is_ignored() => {
                    tracing::debug!(controller = &*self.name, handler = &*name, error = %failure, "an error is ignored");
                    None
                }
                Ok(Err(failure)) => Some(failure),
                Err(panic) => Some(Failure::retry(format!("panicked: {panic}"))),
            };
            self.count(&name, failure.is_some(), began.elapsed());
            failures.extend(failure.map(|failure| (name, failure)));
        }
        if let Some(current) = &current {
            self.finalized.note(&**current);
        }
        if failures.is_empty() { Ok(Outcome::Done) } else { Err(Failures(failures).into()) }
    }

    fn count(&self, handler: &str, has_error: bool, took: Duration) {
        self.metrics.executed(&self.name, handler, has_error, took);
    }

    fn handlers(&self) -> MutexGuard<'_, Handlers<K>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Display for Failures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, (handler, failure)) in self.0.iter().enumerate() {
            write!(f, "{}handler {handler}: {failure}", if at > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// What is wrong in one handler is tried again unless it is for good in all, and is quiet if all are conflicts.
impl From<Failures> for Failure {
    fn from(failures: Failures) -> Self {
        let all = |is: fn(&Failure) -> bool| failures.0.iter().all(|(_, failure)| is(failure));
        let (terminal, conflict) = (all(Failure::is_terminal), all(Failure::is_conflict));
        Failure::combined(failures.to_string(), terminal, conflict)
    }
}
