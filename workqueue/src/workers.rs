//! A pool of tasks that process the items of a queue.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::desk::{Counters, Desk, LogKey, panic_text};
use crate::sync::{Arc, AtomicUsize, Ordering};
use crate::{Processing, Queue};

/// A pool of workers, to be [`run`](Self::run).
///
/// # Example
///
/// ```
/// use lariat_workqueue::{Queue, Workers};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let queue = Queue::new();
/// queue.add(1);
/// let workers = Workers::new(queue.clone(), 4).run(|_item: u32| async { Ok::<_, String>(()) });
/// queue.shut_down();
/// workers.await;
/// # }
/// ```
#[must_use = "workers do nothing until they are run"]
pub struct Workers<T: Hash + Eq + Clone> {
    pub(crate) queue: Queue<T>,
    pub(crate) count: usize,
    pub(crate) log_key: LogKey<T>,
}

/// The workers of a pool that runs.
///
/// As a future it ends when all workers have: after the queue was shut down and its last item was processed.
///
/// Dropping it aborts the workers. An item that one of them was processing is added to the queue again, unless the
/// queue is shutting down, since nobody knows how far its handler had come.
///
/// # Example
///
/// ```
/// use lariat_workqueue::{Queue, Workers};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let queue = Queue::<u32>::new();
/// let workers = Workers::new(queue.clone(), 4).run(|_| async { Ok::<_, String>(()) });
/// // Some day:
/// queue.shut_down();
/// workers.await;
/// # }
/// ```
///
/// # Cancel safety
///
/// Await `&mut handle` to be able to stop waiting without aborting the workers.
///
/// # Panics
///
/// Awaiting it panics if a worker did outside of its handler, in the rate limiter for example.
#[must_use = "dropping the handle aborts the workers"]
pub struct WorkersHandle {
    tasks: JoinSet<()>,
    counters: Arc<Counters>,
    retirement: Arc<Retirement>,
    count: usize,
    /// Starts one more worker.
    hire: Box<Hire>,
}

type Hire = dyn Fn(&mut JoinSet<()>) + Send + Sync;

/// How workers learn that there are too many of them.
#[derive(Debug, Default)]
pub(crate) struct Retirement {
    /// How many are to go.
    surplus: AtomicUsize,
    changed: Notify,
}

// === impl Workers ===

impl<T: Hash + Eq + Clone + Send + 'static> Workers<T> {
    /// A pool of `count` workers, at least one, that log items in their `Debug` form.
    ///
    /// ```
    /// use lariat_workqueue::{Queue, Workers};
    ///
    /// let workers = Workers::new(Queue::<String>::new(), 4);
    /// ```
    pub fn new(queue: Queue<T>, count: usize) -> Self
    where
        T: fmt::Debug,
    {
        Self::with_log_key(queue, count, |item| format!("{item:?}"))
    }

    /// A pool of `count` workers, at least one, that log items as `log_key` says.
    ///
    /// ```
    /// use lariat_workqueue::{Queue, Workers};
    ///
    /// let queue: Queue<(String, String)> = Queue::new();
    /// let workers = Workers::with_log_key(queue, 4, |(namespace, name)| format!("{namespace}/{name}"));
    /// ```
    pub fn with_log_key(
        queue: Queue<T>,
        count: usize,
        log_key: impl Fn(&T) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { queue, count: count.max(1), log_key: Arc::new(log_key) }
    }

    /// Starts the workers, each as a tokio task.
    ///
    /// An item for which the handler returns `Ok` is forgotten by the rate limiter. One for which it returns an error,
    /// or panics, is logged and added again when the rate limiter allows. A panic costs no worker; it is counted in
    /// [`WorkersHandle::panics`].
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_workqueue::{Queue, Workers};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add(3);
    /// queue.shut_down();
    /// let workers = Workers::new(queue, 1).run(|divisor: u32| async move {
    ///     12_u32.checked_rem(divisor).map(drop).ok_or("division by zero")
    /// });
    /// workers.await;
    /// # }
    /// ```
    pub fn run<H, F, E>(self, handler: H) -> WorkersHandle
    where
        H: Fn(T) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: fmt::Display + 'static,
    {
        let counters = Arc::new(Counters::default());
        let retirement = Arc::new(Retirement::default());
        let hire = {
            let (handler, counters, retirement) =
                (Arc::new(handler), Arc::clone(&counters), Arc::clone(&retirement));
            let Self { queue, log_key, .. } = self;
            move |tasks: &mut JoinSet<()>| {
                let desk = Desk::new(queue.clone(), Arc::clone(&log_key), Arc::clone(&counters));
                let (handler, retirement) = (Arc::clone(&handler), Arc::clone(&retirement));
                tasks.spawn(async move { Worker { desk, handler, retirement }.run().await });
            }
        };
        let mut tasks = JoinSet::new();
        for _ in 0..self.count {
            hire(&mut tasks);
        }
        WorkersHandle { tasks, counters, retirement, count: self.count, hire: Box::new(hire) }
    }
}

impl<T: Hash + Eq + Clone> fmt::Debug for Workers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers")
            .field("queue", &self.queue)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

// === impl WorkersHandle ===

impl WorkersHandle {
    /// How often a handler has returned an error.
    ///
    /// ```
    /// use lariat_workqueue::{Queue, Workers};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::<u32>::new();
    /// let workers = Workers::new(queue, 1).run(|_| async { Err::<(), _>("never called") });
    /// assert_eq!(workers.failures(), 0);
    /// # }
    /// ```
    pub fn failures(&self) -> u64 {
        self.counters.failures.load(Ordering::Relaxed)
    }

    /// How often a handler has panicked.
    ///
    /// ```
    /// use lariat_workqueue::{Queue, Workers};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::<u32>::new();
    /// let workers = Workers::new(queue, 1).run(|_| async { Ok::<_, String>(()) });
    /// assert_eq!(workers.panics(), 0);
    /// # }
    /// ```
    pub fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
    }

    /// Lets there be so many workers, at least one. Those who are too many go when they are done with the item that they have.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = Queue::<u32>::new();
    /// let mut workers = Workers::new(queue.clone(), 2).run(|_| async { Ok::<_, String>(()) });
    /// workers.set_count(8);
    /// assert_eq!(workers.count(), 8);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, or if a worker did outside of its handler.
    pub fn set_count(&mut self, count: usize) {
        let count = count.max(1);
        // Those who have ended are not needed any more.
        while let Some(ended) = self.tasks.try_join_next() {
            pass_on(ended);
        }
        if count < self.count {
            self.retirement.retire(self.count - count);
        }
        for _ in self.count..count {
            // One that was to go and has not yet can stay.
            if !self.retirement.take_one() {
                (self.hire)(&mut self.tasks);
            }
        }
        self.count = count;
    }

    /// Lets the workers go: none begins with another item, those who have one get `grace` to be done with it, then they are aborted.
    /// Returns how many were. Their items are added to the queue again, unless it is shutting down.
    ///
    /// The queue stays open, with all that is in it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future aborts the workers, as dropping the handle does.
    ///
    /// # Panics
    ///
    /// If a worker did outside of its handler, or without a runtime whose time is enabled.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_workqueue::{Queue, Workers};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = Queue::new();
    /// queue.add("endless");
    /// let workers = Workers::new(queue.clone(), 4).run(|_| std::future::pending::<Result<(), String>>());
    /// tokio::task::yield_now().await;
    /// assert_eq!(workers.cancel(Duration::from_secs(5)).await, 1);
    /// assert_eq!(queue.len(), 1); // added again
    /// # }
    /// ```
    pub async fn cancel(mut self, grace: Duration) -> usize {
        self.retirement.retire(self.tasks.len());
        if timeout(grace, &mut self).await.is_ok() {
            return 0;
        }
        self.tasks.abort_all();
        let mut aborted = 0;
        while let Some(ended) = self.tasks.join_next().await {
            aborted += usize::from(ended.as_ref().is_err_and(JoinError::is_cancelled));
            pass_on(ended);
        }
        aborted
    }

    /// How many workers there are, but for those who are still to go.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let workers = Workers::new(Queue::<u32>::new(), 3).run(|_| async { Ok::<_, String>(()) });
    /// assert_eq!(workers.count(), 3);
    /// # }
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Future for WorkersHandle {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match std::task::ready!(self.tasks.poll_join_next(cx)) {
                None => return Poll::Ready(()),
                Some(ended) => pass_on(ended),
            }
        }
    }
}

impl fmt::Debug for WorkersHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkersHandle")
            .field("running", &self.tasks.len())
            .field("failures", &self.failures())
            .field("panics", &self.panics())
            .finish()
    }
}

/// Panics if a worker did. One that was not aborted by a panic was by the end of the runtime.
fn pass_on(ended: Result<(), JoinError>) {
    if let Some(cause) = ended.err().and_then(|failure| failure.try_into_panic().ok()) {
        panic::resume_unwind(cause);
    }
}

// === impl Worker ===

struct Worker<T: Hash + Eq + Clone, H> {
    desk: Desk<T>,
    handler: Arc<H>,
    retirement: Arc<Retirement>,
}

impl<T, H, F, E> Worker<T, H>
where
    T: Hash + Eq + Clone + Send + 'static,
    H: Fn(T) -> F,
    F: Future<Output = Result<(), E>>,
    E: fmt::Display,
{
    async fn run(self) {
        while let Some(item) = self.next().await {
            let key = item.clone();
            let job = self.desk.take(item);
            let handler = &*self.handler;
            let outcome = catch_panic(move || handler(key)).await;
            job.finish(outcome);
        }
    }

    /// The next item; none if the queue has ended, or this worker is one too many.
    async fn next(&self) -> Option<Processing<T>> {
        let mut item = pin!(self.desk.queue().get());
        loop {
            let mut changed = pin!(self.retirement.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.retirement.take_one() {
                return None;
            }
            let next = poll_fn(|cx| match item.as_mut().poll(cx) {
                Poll::Ready(item) => Poll::Ready(Some(item)),
                Poll::Pending => changed.as_mut().poll(cx).map(|()| None),
            });
            if let Some(item) = next.await {
                return item;
            }
        }
    }
}

// === impl Retirement ===

impl Retirement {
    /// Lets so many more go. Those who wait in a task are told.
    pub(crate) fn retire(&self, count: usize) {
        self.surplus.fetch_add(count, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Whether one more was to go, which is the one who asks.
    pub(crate) fn take_one(&self) -> bool {
        let surplus = &self.surplus;
        surplus.fetch_update(Ordering::AcqRel, Ordering::Acquire, |surplus| surplus.checked_sub(1)).is_ok()
    }
}

/// Runs a handler to its end, or to a panic, whose text is returned.
async fn catch_panic<F: Future>(handler: impl FnOnce() -> F) -> Result<F::Output, String> {
    // Inside a future, so that a panic of the handler itself is caught just like one of its future.
    let mut running = pin!(async { handler().await });
    // A handler that broke something by its panic could do the same by an error.
    let step =
        |cx: &mut Context<'_>| match panic::catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(cause) => Poll::Ready(Err(panic_text(&*cause))),
        };
    poll_fn(step).await
}
