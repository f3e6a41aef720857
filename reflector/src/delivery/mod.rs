//! How changes get from the cache to the handlers: each has a queue of its own, and something that empties it.

mod channel;
mod event;
mod queue;
mod subscription;
mod task;

use std::sync::Arc;
use std::time::Duration;

use lariat_api::Object;
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use channel::pump;
pub use event::Event;
pub(crate) use queue::Queue;
pub use subscription::Subscription;
pub(crate) use task::{AsyncHandler, Delivery, Handler};

/// The sending end of a handler's queue.
pub(crate) struct Listener<K> {
    pub(crate) id: u64,
    pub(crate) queue: Arc<Queue<K>>,
    pub(crate) resync: Option<Resync>,
}

/// When a handler is told of everything again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resync {
    period: Duration,
    next: Instant,
}

/// What is left of a queue at its other end.
pub(crate) struct Ends<K> {
    pub(crate) queue: Arc<Queue<K>>,
    /// True once all was heard of that was there at the beginning; closed when nothing will be heard of any more.
    pub(crate) synced: watch::Sender<bool>,
    pub(crate) informer: Arc<str>,
}

impl<K: Object> Listener<K> {
    /// Returns how far behind the handler is.
    pub(crate) fn send(&self, events: impl IntoIterator<Item = Event<K>>) -> usize {
        self.queue.push(events)
    }

    /// Whether it is to be told of everything now, and then not for a period.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let Some(resync) = &mut self.resync else { return false };
        let is_due = now >= resync.next;
        if is_due {
            resync.next = now + resync.period;
        }
        is_due
    }
}

impl Resync {
    pub(crate) fn new(period: Duration, now: Instant) -> Self {
        Self { period, next: now + period }
    }
}
