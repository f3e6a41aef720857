//! How a queue is made, and the policies that it can be given.

use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use crate::Queue;
use crate::limiter::{RateLimiter, default_controller_rate_limiter};
use crate::metrics::{Metrics, Notes};
use crate::shared::Shared;
use crate::state::Policies;
use crate::sync::Arc;

/// Builds a [`Queue`]; see [`Queue::builder`].
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{ItemExponentialFailure, PendingDelay, Queue};
///
/// let queue: Queue<String> = Queue::builder()
///     .name("fleets")
///     .rate_limiter(ItemExponentialFailure::new(Duration::from_millis(5), Duration::from_secs(60)))
///     .pending_delay(PendingDelay::Consume)
///     .build();
/// assert_eq!(queue.name(), Some("fleets"));
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct QueueBuilder<T> {
    name: Option<Box<str>>,
    limiter: Option<Arc<dyn RateLimiter<T>>>,
    pending_delay: PendingDelay,
    charge_duplicates: bool,
    metrics: Option<Arc<dyn Metrics>>,
    time_limit: Option<Duration>,
}

/// What [`Queue::add`] does to a pending delay of the same item.
///
/// ```
/// use lariat_workqueue::{PendingDelay, Queue};
///
/// let queue: Queue<u32> = Queue::builder().pending_delay(PendingDelay::Keep).build();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PendingDelay {
    /// The delay is over: the item is processed now and not once more when the delay would have ended.
    #[default]
    Consume,
    /// The delay goes on: the item is processed now, and again when it ends. This is client-go's way.
    Keep,
}

impl<T: Hash + Eq + Clone + Send + 'static> QueueBuilder<T> {
    pub(crate) fn new() -> Self {
        Self {
            name: None,
            limiter: None,
            pending_delay: PendingDelay::default(),
            charge_duplicates: false,
            metrics: None,
            time_limit: None,
        }
    }

    /// Names the queue in log lines. Default: no name.
    ///
    /// ```
    /// let queue = lariat_workqueue::Queue::<u32>::builder().name("fleets").build();
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// What decides on the delays of [`Queue::add_rate_limited`]. Default: [`default_controller_rate_limiter`].
    ///
    /// ```
    /// use lariat_workqueue::{Bucket, Queue};
    ///
    /// let queue = Queue::<u32>::builder().rate_limiter(Bucket::new(10.0, 100)).build();
    /// ```
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiter = Some(Arc::new(limiter));
        self
    }

    /// What [`Queue::add`] does to a pending delay of the same item. Default: [`PendingDelay::Consume`].
    ///
    /// ```
    /// use lariat_workqueue::{PendingDelay, Queue};
    ///
    /// let queue = Queue::<u32>::builder().pending_delay(PendingDelay::Keep).build();
    /// ```
    pub fn pending_delay(mut self, policy: PendingDelay) -> Self {
        self.pending_delay = policy;
        self
    }

    /// Whether [`Queue::add_rate_limited`] charges an item for which it has a delay pending already. Default: `false`;
    /// client-go's way is `true`.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::builder().charge_duplicates(true).build();
    /// queue.add_rate_limited("flaky");
    /// queue.add_rate_limited("flaky");
    /// assert_eq!(queue.num_requeues(&"flaky"), 2);
    /// ```
    pub fn charge_duplicates(mut self, charge: bool) -> Self {
        self.charge_duplicates = charge;
        self
    }

    /// Who is told what happens in the queue. Default: nobody, which costs nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// struct Nothing;
    /// impl lariat_workqueue::Metrics for Nothing {}
    ///
    /// let queue = lariat_workqueue::Queue::<u32>::builder().metrics(Arc::new(Nothing)).build();
    /// ```
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// After how long an item that is still being processed is [stuck](Queue::stuck). Default: never. Nothing is stopped.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let queue = lariat_workqueue::Queue::<u32>::builder().time_limit(Duration::from_secs(60)).build();
    /// assert!(queue.stuck().is_empty());
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// The queue.
    ///
    /// ```
    /// let queue = lariat_workqueue::Queue::<u32>::builder().build();
    /// ```
    pub fn build(self) -> Queue<T> {
        let limiter = self.limiter.unwrap_or_else(|| Arc::new(default_controller_rate_limiter()));
        let (has_metrics, has_limit) = (self.metrics.is_some(), self.time_limit.is_some());
        let notes = (has_metrics || has_limit).then(|| Notes::new(has_metrics));
        let Self { pending_delay, charge_duplicates, .. } = self;
        let policies = Policies { limiter, pending_delay, charge_duplicates };
        let mut shared = Shared::new(policies, notes, self.name, self.metrics);
        shared.time_limit = self.time_limit;
        Queue::from_shared(shared)
    }
}

impl<T> fmt::Debug for QueueBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueBuilder")
            .field("name", &self.name)
            .field("pending_delay", &self.pending_delay)
            .field("charge_duplicates", &self.charge_duplicates)
            .finish_non_exhaustive()
    }
}
