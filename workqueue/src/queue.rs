//! The handle of a queue: everything that one can do with it.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use crate::NotDrained;
use crate::builder::QueueBuilder;
use crate::limits::LONGEST_DELAY;
use crate::processing::Processing;
use crate::shared::{Attempt, Drainer, Getter, Shared};
use crate::sync::Arc;
use crate::wait::{wait, wait_blocking};

/// A queue of distinct items that are to be processed, each by one worker at a time.
///
/// A handle is cheap to clone, and all clones are the same queue. Workers on several threads are fastest with one each. Producers [`add`](Self::add) items, now, after a
/// delay, or when the rate limiter allows; workers [`get`](Self::get) them. What a worker got is *processing* until the
/// guard is dropped. An item that is added while it is queued is not queued twice; one that is added while it is
/// processing is queued once more when the worker is done with it.
///
/// The time is that of `tokio::time`, so it is virtual where tokio's is paused.
///
/// `Hash`, `Eq`, `Clone` and `Drop` of `T` may run while the queue is locked, so they must not call it.
///
/// # Example
///
/// ```
/// use lariat_workqueue::Queue;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let queue = Queue::new();
/// queue.add("default/fleet");
/// queue.add("default/fleet");
/// queue.shut_down();
///
/// while let Some(item) = queue.get().await {
///     assert_eq!(*item, "default/fleet"); // once
/// }
/// # }
/// ```
#[doc(alias = "NewTypedRateLimitingQueue")]
#[doc(alias = "NewTypedDelayingQueue")]
pub struct Queue<T: Hash + Eq + Clone> {
    shared: Handle<T>,
}

/// What a handle and the guards that it gave out have in common. Each handle has its own, so that workers with one each do not
/// count their guards in the same place, which would cost them more than all else.
pub(crate) type Handle<T> = Arc<Arc<Shared<T>>>;

/// How an item is added; see [`Queue::add_with`].
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::AddOptions;
///
/// let soon = AddOptions { after: Duration::from_secs(1), ..AddOptions::default() };
/// assert_eq!((soon.priority, soon.rate_limited), (0, false));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddOptions {
    /// Items of a higher priority are handed out first; 0 if nothing is given. If the item is queued or delayed already, the
    /// higher one counts, and one that is raised goes to the end of its new priority.
    ///
    /// Every 16th item is the one that has waited longest, so that none starves.
    pub priority: i32,
    /// How much later the item is queued; at once if nothing is given.
    pub after: Duration,
    /// Whether the rate limiter decides how much later, and charges the item with a failure. With `after`, the shorter of both
    /// counts.
    pub rate_limited: bool,
}

/// For what can wait: what was there when a controller began, and what is only told of again. The same as in
/// controller-runtime.
///
/// ```
/// assert_eq!(lariat_workqueue::LOW_PRIORITY, -100);
/// ```
pub const LOW_PRIORITY: i32 = -100;

impl<T: Hash + Eq + Clone> Queue<T> {
    pub(crate) fn from_shared(shared: Shared<T>) -> Self {
        Self { shared: Arc::new(Arc::new(shared)) }
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Handle<T> {
        &self.shared
    }
}

impl<T: Hash + Eq + Clone + Send + 'static> Queue<T> {
    /// A queue without a name, with the [default rate limiter](crate::default_controller_rate_limiter).
    ///
    /// ```
    /// let queue = lariat_workqueue::Queue::<u32>::new();
    /// assert!(queue.is_empty());
    /// ```
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Begins a queue that differs from the default one.
    ///
    /// ```
    /// use lariat_workqueue::Queue;
    ///
    /// let queue: Queue<u32> = Queue::builder().name("fleets").build();
    /// ```
    pub fn builder() -> QueueBuilder<T> {
        QueueBuilder::new()
    }

    /// The name that was given to the builder.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// assert_eq!(Queue::<u32>::builder().name("fleets").build().name(), Some("fleets"));
    /// assert_eq!(Queue::<u32>::new().name(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.shared.name.as_deref()
    }

    /// Queues an item, unless it is queued already.
    ///
    /// If it is processing, it is queued when its worker is done. What becomes of a pending delay of the item is up to
    /// [`PendingDelay`](crate::PendingDelay). Ignored once the queue is shutting down.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::new();
    /// queue.add(1);
    /// queue.add(1);
    /// assert_eq!(queue.len(), 1);
    /// ```
    pub fn add(&self, item: T) {
        self.shared.add(item, 0);
    }

    /// Adds an item when a time has passed, and never before.
    ///
    /// An item has at most one delay: of several, the one that ends first counts. A delay of zero is
    /// [`add`](Self::add), one of more than 200 years is cut to that. Never blocks, and is ignored once the queue is
    /// shutting down.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add_after("late", Duration::from_secs(600));
    /// assert!(queue.is_empty());
    /// assert_eq!(*queue.get().await.unwrap(), "late");
    /// # }
    /// ```
    pub fn add_after(&self, item: T, delay: Duration) {
        self.shared.add_after(item, delay, 0);
    }

    /// Adds an item in the way that the options say.
    ///
    /// ```
    /// # use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};
    /// let queue = Queue::new();
    /// queue.add_with("resync", AddOptions { priority: LOW_PRIORITY, ..AddOptions::default() });
    /// queue.add("event");
    /// assert_eq!(*queue.get_blocking().unwrap(), "event");
    /// ```
    #[doc(alias = "AddWithOpts")]
    pub fn add_with(&self, item: T, options: AddOptions) {
        let AddOptions { priority, after, rate_limited } = options;
        if rate_limited {
            let most = (!after.is_zero()).then_some(after);
            return self.shared.add_rate_limited(item, priority, most);
        }
        match after {
            Duration::ZERO => self.shared.add(item, priority),
            after => self.shared.add_after(item, after, priority),
        }
    }

    /// Adds an item when the rate limiter allows it, and charges the item with a failure.
    ///
    /// While such a delay of the item is pending, a further call is a duplicate: it neither charges the item nor
    /// shortens the delay ([`QueueBuilder::charge_duplicates`] changes that). Ignored once the queue is shutting down.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add_rate_limited("flaky");
    /// queue.add_rate_limited("flaky");
    /// assert_eq!(queue.num_requeues(&"flaky"), 1);
    /// # }
    /// ```
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) {
        self.shared.add_rate_limited(item, 0, None);
    }

    /// Clears the failures of an item, usually because it was processed successfully. What is queued or delayed stays.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::new();
    /// queue.add_rate_limited("flaky");
    /// queue.forget(&"flaky");
    /// assert_eq!(queue.num_requeues(&"flaky"), 0);
    /// ```
    pub fn forget(&self, item: &T) {
        self.shared.forget(item);
    }

    /// How many failures an item has been charged with since it was last forgotten.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// assert_eq!(Queue::new().num_requeues(&"new"), 0);
    /// ```
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.shared.num_requeues(item)
    }

    /// How many items are queued. Those that are processing or delayed do not count.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::new();
    /// queue.add(1);
    /// let _processing = queue.get_blocking();
    /// assert_eq!(queue.len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.shared.operate(|state, now| state.len(now))
    }

    /// Whether no item is queued.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// assert!(Queue::<u32>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items that have been processed for longer than the [time limit](QueueBuilder::time_limit), and for how long, longest
    /// first: what a health check asks for. None if no limit was set.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = Queue::builder().time_limit(Duration::from_secs(60)).build();
    /// queue.add("slow");
    /// let _item = queue.get().await;
    /// tokio::time::advance(Duration::from_secs(90)).await;
    /// assert_eq!(queue.stuck(), [("slow", Duration::from_secs(90))]);
    /// # }
    /// ```
    pub fn stuck(&self) -> Vec<(T, Duration)> {
        self.shared.time_limit.map(|limit| self.shared.running_for(limit)).unwrap_or_default()
    }

    /// For how long the items that are processed now have been so, all together: `workqueue_unfinished_work_seconds`. Many
    /// seconds and no end mean that workers are stuck. Zero without [metrics](QueueBuilder::metrics) or a [time
    /// limit](QueueBuilder::time_limit).
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// assert!(Queue::<u32>::new().unfinished_work().is_zero());
    /// ```
    pub fn unfinished_work(&self) -> Duration {
        self.shared.unfinished().0
    }

    /// For how long the item that has been processed longest has been so: `workqueue_longest_running_processor_seconds`. Zero
    /// without [metrics](QueueBuilder::metrics) or a [time limit](QueueBuilder::time_limit).
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// assert!(Queue::<u32>::new().longest_running().is_zero());
    /// ```
    pub fn longest_running(&self) -> Duration {
        self.shared.unfinished().1
    }

    /// Waits for the next item. `None` means that the queue is shutting down and empty.
    ///
    /// Items come in the order in which they were queued, and those who wait are woken in the order in which they came.
    /// Nothing else needs to run for a delayed item to be handed out.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a call that is dropped has taken no item, and a wake-up that it had received goes to another. A call
    /// that is kept but not polled may keep an item waiting that another could have.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its time enabled, if there are delayed items to wait for.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add(7);
    /// let item = queue.get().await.unwrap();
    /// assert_eq!(*item, 7);
    /// drop(item); // done
    /// queue.shut_down();
    /// assert!(queue.get().await.is_none());
    /// # }
    /// ```
    pub async fn get(&self) -> Option<Processing<T>> {
        let mut getter = Getter::new(&self.shared);
        let item = wait(|waker| getter.attempt(waker)).await?;
        Some(Processing::new(Arc::clone(&self.shared), item))
    }

    /// [`get`](Self::get) for a thread that is not a worker of an async runtime.
    ///
    /// Delays are waited for by the clock on the wall, even where tokio's is paused.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::new();
    /// let worker = std::thread::spawn({
    ///     let queue = queue.clone();
    ///     move || std::iter::from_fn(|| queue.get_blocking()).map(|item| *item).sum::<u32>()
    /// });
    /// queue.add(1);
    /// queue.add(2);
    /// queue.shut_down();
    /// assert_eq!(worker.join().unwrap(), 3);
    /// ```
    pub fn get_blocking(&self) -> Option<Processing<T>> {
        let mut getter = Getter::new(&self.shared);
        let item = wait_blocking(|waker| getter.attempt(waker))?;
        Some(Processing::new(Arc::clone(&self.shared), item))
    }

    /// As [`get_blocking`](Self::get_blocking), but `None` also if `stop` says so when the thread begins to wait or is unparked.
    pub(crate) fn get_blocking_unless(&self, stop: impl Fn() -> bool) -> Option<Processing<T>> {
        let mut getter = Getter::new(&self.shared);
        let next = wait_blocking(|waker| match stop() {
            true => Attempt::Done(None),
            false => getter.attempt(waker),
        });
        next.map(|item| Processing::new(Arc::clone(&self.shared), item))
    }

    /// Waits for an item, and takes it together with up to `most - 1` others that are queued, at least one: fewer locks for
    /// items that are quickly processed. Empty once the queue is shutting down and nothing is left.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped has taken nothing.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// (0..5).for_each(|item| queue.add(item));
    /// let batch = queue.get_batch(3).await;
    /// assert_eq!(batch.iter().map(|item| **item).collect::<Vec<i32>>(), [0, 1, 2]);
    /// assert_eq!(queue.len(), 2);
    /// # }
    /// ```
    pub async fn get_batch(&self, most: usize) -> Vec<Processing<T>> {
        let mut getter = Getter::new(&self.shared);
        let batch = wait(|waker| getter.attempt_batch(waker, most.max(1))).await;
        batch.into_iter().map(|taken| Processing::new(Arc::clone(&self.shared), taken)).collect()
    }

    /// As [`get_batch`](Self::get_batch), for threads that are not on a runtime.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::new();
    /// queue.add(1);
    /// assert_eq!(queue.get_batch_blocking(10).len(), 1);
    /// queue.shut_down();
    /// assert!(queue.get_batch_blocking(10).is_empty());
    /// ```
    pub fn get_batch_blocking(&self, most: usize) -> Vec<Processing<T>> {
        let mut getter = Getter::new(&self.shared);
        let batch = wait_blocking(|waker| getter.attempt_batch(waker, most.max(1)));
        batch.into_iter().map(|taken| Processing::new(Arc::clone(&self.shared), taken)).collect()
    }

    /// Closes the intake and drops what is delayed, without waiting for anybody.
    ///
    /// What is queued is still handed out, then [`get`](Self::get) returns `None`. Releases every
    /// [`shut_down_with_drain`](Self::shut_down_with_drain) that is in progress. Calling it again does no harm.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::new();
    /// queue.add(1);
    /// queue.shut_down();
    /// queue.add(2); // ignored
    /// assert_eq!(queue.get_blocking().map(|item| *item), Some(1));
    /// assert!(queue.get_blocking().is_none());
    /// ```
    pub fn shut_down(&self) {
        self.shared.shut_down();
    }

    /// Closes the intake like [`shut_down`](Self::shut_down), then waits until every item that was queued or
    /// processing has been processed, including those that were added while they were processing.
    ///
    /// The intake is closed by the call, before the future is first polled. The future needs workers to finish the
    /// work: with none it waits until somebody calls [`shut_down`](Self::shut_down).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future ends the waiting and nothing else. The queue stays shut down.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add(1);
    /// let worker = async { while let Some(_item) = queue.get().await {} };
    /// tokio::join!(queue.shut_down_with_drain(), worker);
    /// # }
    /// ```
    #[must_use = "the intake is closed, but only the future waits for the work to be done"]
    pub fn shut_down_with_drain(&self) -> impl Future<Output = ()> + Send + use<T> {
        let began = self.shared.begin_drain();
        let shared = Arc::clone(&self.shared);
        async move {
            let mut drainer = Drainer::new(&shared, began);
            wait(|waker| drainer.attempt(waker)).await;
        }
    }

    /// As [`shut_down_with_drain`](Self::shut_down_with_drain), but waits no longer than `limit`.
    ///
    /// # Errors
    ///
    /// If the time is over and something is still queued or processing. Workers go on with it: nothing is stopped or dropped, and
    /// one can wait again.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its time enabled, if there is something to wait for.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_workqueue::Queue;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add("stuck");
    /// let _item = queue.get().await;
    /// let left = queue.shut_down_with_drain_within(Duration::from_secs(30)).await.unwrap_err();
    /// assert_eq!((left.queued, left.processing), (0, 1));
    /// # }
    /// ```
    #[must_use = "the intake is closed, but only the future waits for the work to be done"]
    pub fn shut_down_with_drain_within(
        &self,
        limit: Duration,
    ) -> impl Future<Output = Result<(), NotDrained>> + Send + use<T> {
        let began = self.shared.begin_drain();
        let shared = Arc::clone(&self.shared);
        async move {
            let deadline = Instant::now() + limit.min(LONGEST_DELAY);
            let mut drainer = Drainer::new(&shared, began);
            wait(|waker| drainer.attempt_until(waker, deadline)).await
        }
    }

    /// [`shut_down_with_drain_within`](Self::shut_down_with_drain_within) for a thread that is not a worker of an async runtime.
    /// The time is that of the clock on the wall.
    ///
    /// # Errors
    ///
    /// If the time is over and something is still queued or processing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::<u32>::new();
    /// assert!(queue.shut_down_with_drain_within_blocking(Duration::from_secs(30)).is_ok());
    /// ```
    pub fn shut_down_with_drain_within_blocking(&self, limit: Duration) -> Result<(), NotDrained> {
        let began = self.shared.begin_drain();
        let deadline = Instant::now() + limit.min(LONGEST_DELAY);
        let mut drainer = Drainer::new(&self.shared, began);
        wait_blocking(|waker| drainer.attempt_until(waker, deadline))
    }

    /// [`shut_down_with_drain`](Self::shut_down_with_drain) for a thread that is not a worker of an async runtime.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::<u32>::new();
    /// queue.shut_down_with_drain_blocking();
    /// ```
    pub fn shut_down_with_drain_blocking(&self) {
        let mut drainer = Drainer::new(&self.shared, self.shared.begin_drain());
        wait_blocking(|waker| drainer.attempt(waker));
    }

    /// Whether the intake is closed.
    ///
    /// ```
    /// # use lariat_workqueue::Queue;
    /// let queue = Queue::<u32>::new();
    /// queue.shut_down();
    /// assert!(queue.is_shutting_down());
    /// ```
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.shared.is_shutting_down()
    }
}

impl<T: Hash + Eq + Clone> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::new(Arc::clone(&self.shared)) }
    }
}

impl<T: Hash + Eq + Clone + Send + 'static> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Hash + Eq + Clone> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (queued, processing, delayed) = self.shared.sizes();
        f.debug_struct("Queue")
            .field("name", &self.shared.name)
            .field("queued", &queued)
            .field("processing", &processing)
            .field("delayed", &delayed)
            .finish_non_exhaustive()
    }
}
