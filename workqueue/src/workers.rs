//! A pool of tasks that process the items of a queue.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::task::JoinSet;
use tracing::{error, warn};

use crate::sync::{Arc, AtomicU64, Ordering};
use crate::{AddOptions, Processing, Queue};

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
    queue: Queue<T>,
    count: usize,
    log_key: LogKey<T>,
}

type LogKey<T> = Arc<dyn Fn(&T) -> String + Send + Sync>;

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
}

#[derive(Debug, Default)]
struct Counters {
    failures: AtomicU64,
    panics: AtomicU64,
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
        let handler = Arc::new(handler);
        let mut tasks = JoinSet::new();
        for _ in 0..self.count {
            let worker = Worker {
                queue: self.queue.clone(),
                handler: Arc::clone(&handler),
                log_key: Arc::clone(&self.log_key),
                counters: Arc::clone(&counters),
            };
            tasks.spawn(worker.run());
        }
        WorkersHandle { tasks, counters }
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
}

impl Future for WorkersHandle {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match std::task::ready!(self.tasks.poll_join_next(cx)) {
                None => return Poll::Ready(()),
                Some(Ok(())) => {}
                Some(Err(failure)) => {
                    // A worker that was not aborted by a panic was by the end of the runtime.
                    if let Ok(cause) = failure.try_into_panic() {
                        panic::resume_unwind(cause);
                    }
                }
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

// === impl Worker ===

struct Worker<T: Hash + Eq + Clone, H> {
    queue: Queue<T>,
    handler: Arc<H>,
    log_key: LogKey<T>,
    counters: Arc<Counters>,
}

impl<T, H, F, E> Worker<T, H>
where
    T: Hash + Eq + Clone + Send + 'static,
    H: Fn(T) -> F,
    F: Future<Output = Result<(), E>>,
    E: fmt::Display,
{
    async fn run(self) {
        while let Some(item) = self.queue.get().await {
            let key = item.clone();
            let job = Job { queue: &self.queue, item, finished: false };
            let handler = &*self.handler;
            let outcome = catch_panic(move || handler(key)).await;
            self.finish(job, outcome);
        }
    }

    /// The item is charged and delayed before the guard is dropped. The other way round, an `add` in between would hand
    /// it to another worker, which might forget the item just before it is charged with this older failure.
    fn finish(&self, mut job: Job<'_, T>, outcome: Result<Result<(), E>, String>) {
        let item = &*job.item;
        let again = AddOptions { priority: job.item.priority(), rate_limited: true, ..AddOptions::default() };
        match outcome {
            Ok(Ok(())) => self.queue.forget(item),
            Ok(Err(failure)) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                warn!(queue = self.queue.name(), key = (self.log_key)(item), error = %failure, "an item failed");
                self.queue.add_with(item.clone(), again);
            }
            Err(cause) => {
                self.counters.panics.fetch_add(1, Ordering::Relaxed);
                error!(
                    queue = self.queue.name(),
                    key = (self.log_key)(item),
                    panic = cause,
                    "a handler panicked"
                );
                self.queue.add_with(item.clone(), again);
            }
        }
        job.finished = true;
    }
}

/// An item with a handler. If it is dropped unfinished, because its worker was aborted, the item is added again.
struct Job<'a, T: Hash + Eq + Clone + Send + 'static> {
    queue: &'a Queue<T>,
    item: Processing<T>,
    finished: bool,
}

impl<T: Hash + Eq + Clone + Send + 'static> Drop for Job<'_, T> {
    fn drop(&mut self) {
        if !self.finished {
            let again = AddOptions { priority: self.item.priority(), ..AddOptions::default() };
            self.queue.add_with(self.item.clone(), again);
        }
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

fn panic_text(cause: &(dyn Any + Send)) -> String {
    match (cause.downcast_ref::<&str>(), cause.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "of an unknown kind".to_owned(),
    }
}
