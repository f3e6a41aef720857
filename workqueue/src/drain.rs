//! Why a drain ended too early.

use std::error::Error;
use std::fmt;

/// The time was over before everything was processed: what [`Queue::shut_down_with_drain_within`] says then.
///
/// [`Queue::shut_down_with_drain_within`]: crate::Queue::shut_down_with_drain_within
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{NotDrained, Queue};
///
/// let queue = Queue::new();
/// queue.add(1);
/// let left = queue.shut_down_with_drain_within_blocking(Duration::ZERO);
/// assert_eq!(left, Err(NotDrained { queued: 1, processing: 0 }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotDrained {
    /// How many items were still queued.
    pub queued: usize,
    /// How many items were with a worker.
    pub processing: usize,
}

impl fmt::Display for NotDrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queued, processing } = self;
        write!(f, "the queue was not drained in time: {queued} items were queued, {processing} processing")
    }
}

impl Error for NotDrained {}
