//! What becomes of an item after its handler, whether that was a future or ran on a thread.

use std::any::Any;
use std::fmt::Display;
use std::hash::Hash;

use tracing::{error, warn};

use crate::sync::{Arc, AtomicU64, Ordering};
use crate::{AddOptions, Processing, Queue};

/// How an item is written in logs.
pub(crate) type LogKey<T> = Arc<dyn Fn(&T) -> String + Send + Sync>;

/// Where one worker works.
pub(crate) struct Desk<T: Hash + Eq + Clone> {
    queue: Queue<T>,
    log_key: LogKey<T>,
    counters: Arc<Counters>,
}

/// How often something went wrong in a pool.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) failures: AtomicU64,
    pub(crate) panics: AtomicU64,
}

/// An item with a handler. If it is dropped unfinished, because its worker was aborted, the item is added again.
pub(crate) struct Job<'a, T: Hash + Eq + Clone + Send + 'static> {
    desk: &'a Desk<T>,
    item: Processing<T>,
    finished: bool,
}

impl<T: Hash + Eq + Clone + Send + 'static> Desk<T> {
    pub(crate) fn new(queue: Queue<T>, log_key: LogKey<T>, counters: Arc<Counters>) -> Self {
        Self { queue, log_key, counters }
    }

    pub(crate) fn queue(&self) -> &Queue<T> {
        &self.queue
    }

    pub(crate) fn take(&self, item: Processing<T>) -> Job<'_, T> {
        Job { desk: self, item, finished: false }
    }
}

impl<T: Hash + Eq + Clone + Send + 'static> Job<'_, T> {
    /// The item is charged and delayed before the guard is dropped. The other way round, an `add` in between would hand
    /// it to another worker, which might forget the item just before it is charged with this older failure.
    pub(crate) fn finish<E: Display>(mut self, outcome: Result<Result<(), E>, String>) {
        let Desk { queue, log_key, counters } = self.desk;
        let item = &*self.item;
        let again =
            AddOptions { priority: self.item.priority(), rate_limited: true, ..AddOptions::default() };
        match outcome {
            Ok(Ok(())) => queue.forget(item),
            Ok(Err(failure)) => {
                counters.failures.fetch_add(1, Ordering::Relaxed);
                warn!(queue = queue.name(), key = log_key(item), error = %failure, "an item failed");
                queue.add_with(item.clone(), again);
            }
            Err(cause) => {
                counters.panics.fetch_add(1, Ordering::Relaxed);
                error!(queue = queue.name(), key = log_key(item), panic = cause, "a handler panicked");
                queue.add_with(item.clone(), again);
            }
        }
        self.finished = true;
    }
}

impl<T: Hash + Eq + Clone + Send + 'static> Drop for Job<'_, T> {
    fn drop(&mut self) {
        if !self.finished {
            let again = AddOptions { priority: self.item.priority(), ..AddOptions::default() };
            self.desk.queue.add_with(self.item.clone(), again);
        }
    }
}

/// What a panic said.
pub(crate) fn panic_text(cause: &(dyn Any + Send)) -> String {
    match (cause.downcast_ref::<&str>(), cause.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "of an unknown kind".to_owned(),
    }
}
