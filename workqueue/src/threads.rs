//! A pool of threads that process the items of a queue.

use std::fmt;
use std::hash::Hash;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::Workers;
use crate::desk::{Counters, Desk, panic_text};
use crate::sync::{Arc, AtomicUsize, Ordering};
use crate::workers::Retirement;

/// The threads of a pool that runs, for handlers that block.
///
/// They end after the queue was shut down and its last item was processed. Dropping this leaves them to that.
///
/// # Example
///
/// ```
/// use lariat_workqueue::{Queue, Workers};
///
/// let queue = Queue::new();
/// queue.add(3);
/// let threads = Workers::new(queue.clone(), 2).run_blocking(|divisor: u32| {
///     12_u32.checked_rem(divisor).map(drop).ok_or("division by zero")
/// })?;
/// queue.shut_down();
/// threads.join();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct WorkerThreads {
    threads: Vec<JoinHandle<()>>,
    counters: Arc<Counters>,
    retirement: Arc<Retirement>,
    count: usize,
    /// Starts one more worker.
    hire: Box<Hire>,
    /// One for each worker.
    working: Arc<()>,
    /// Ends with the last worker.
    ended: Receiver<()>,
}

type Hire = dyn Fn() -> io::Result<JoinHandle<()>> + Send + Sync;

impl<T: Hash + Eq + Clone + Send + 'static> Workers<T> {
    /// Starts the workers, each as a thread, for handlers that block. They do with an item what [`run`](Self::run) does; delays are
    /// waited for by the clock on the wall.
    ///
    /// # Errors
    ///
    /// If the operating system gives no threads. Those that were started end with the queue.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_workqueue::{Queue, Workers};
    ///
    /// let queue = Queue::<u32>::new();
    /// let threads = Workers::new(queue.clone(), 4).run_blocking(|_item| Ok::<_, String>(()))?;
    /// queue.shut_down();
    /// threads.join();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn run_blocking<H, E>(self, handler: H) -> io::Result<WorkerThreads>
    where
        H: Fn(T) -> Result<(), E> + Send + Sync + 'static,
        E: fmt::Display + 'static,
    {
        let (counters, retirement) = (Arc::new(Counters::default()), Arc::new(Retirement::default()));
        let (open, ended) = mpsc::channel();
        let working = Arc::new(());
        let hire = {
            let (handler, counters, retirement) =
                (Arc::new(handler), Arc::clone(&counters), Arc::clone(&retirement));
            let Self { queue, log_key, .. } = self;
            let (number, working) = (AtomicUsize::new(0), Arc::downgrade(&working));
            move || {
                let desk = Desk::new(queue.clone(), Arc::clone(&log_key), Arc::clone(&counters));
                let (handler, retirement) = (Arc::clone(&handler), Arc::clone(&retirement));
                let number = number.fetch_add(1, Ordering::Relaxed);
                let name = format!("{} {number}", queue.name().unwrap_or("worker"));
                let (open, working) = (open.clone(), working.upgrade());
                thread::Builder::new().name(name).spawn(move || {
                    // Given up from the last to the first, in a panic too.
                    let (_open, _working) = (open, working);
                    work(&desk, &retirement, &*handler);
                })
            }
        };
        let mut threads = Vec::with_capacity(self.count);
        for _ in 0..self.count {
            threads.push(hire()?);
        }
        Ok(WorkerThreads {
            threads,
            counters,
            retirement,
            count: self.count,
            hire: Box::new(hire),
            working,
            ended,
        })
    }
}

fn work<T, E>(desk: &Desk<T>, retirement: &Retirement, handler: &(impl Fn(T) -> Result<(), E> + ?Sized))
where
    T: Hash + Eq + Clone + Send + 'static,
    E: fmt::Display,
{
    while let Some(item) = desk.queue().get_blocking_unless(|| retirement.take_one()) {
        let key = item.clone();
        let job = desk.take(item);
        // A handler that broke something by its panic could do the same by an error.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| handler(key)));
        job.finish(outcome.map_err(|cause| panic_text(&*cause)));
    }
}

impl WorkerThreads {
    /// Waits until all workers have ended: after the queue was shut down and its last item was processed.
    ///
    /// # Panics
    ///
    /// If a worker did outside of its handler, in the rate limiter for example.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// let queue = Queue::<u32>::new();
    /// let threads = Workers::new(queue.clone(), 2).run_blocking(|_| Ok::<_, String>(()))?;
    /// queue.shut_down();
    /// threads.join();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join(self) {
        self.threads.into_iter().for_each(join);
    }

    /// Lets there be so many workers, at least one. Those who are too many go when they are done with the item that they have.
    ///
    /// # Errors
    ///
    /// If the operating system gives no threads; [`count`](Self::count) says how many there are then.
    ///
    /// # Panics
    ///
    /// If a worker did outside of its handler.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// let queue = Queue::<u32>::new();
    /// let mut threads = Workers::new(queue.clone(), 2).run_blocking(|_| Ok::<_, String>(()))?;
    /// threads.set_count(3)?;
    /// assert_eq!(threads.count(), 3);
    /// threads.set_count(1)?;
    /// queue.shut_down();
    /// threads.join();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_count(&mut self, count: usize) -> io::Result<()> {
        let count = count.max(1);
        // Those who have ended are not needed any more.
        self.threads.extract_if(.., |worker| worker.is_finished()).for_each(join);
        if count < self.count {
            self.retire(self.count - count);
            self.count = count;
        }
        while self.count < count {
            // One that was to go and has not yet can stay.
            if !self.retirement.take_one() {
                self.threads.push((self.hire)()?);
            }
            self.count += 1;
        }
        Ok(())
    }

    /// How many workers there are, but for those who are still to go.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// let queue = Queue::<u32>::new();
    /// let threads = Workers::new(queue.clone(), 2).run_blocking(|_| Ok::<_, String>(()))?;
    /// assert_eq!(threads.count(), 2);
    /// # queue.shut_down();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }

    /// Lets the workers go: none begins with another item, and those who have one get `grace` to be done with it, by the clock on
    /// the wall. Returns how many are not: a thread cannot be aborted, so each of them goes when its handler returns.
    ///
    /// The queue stays open, with all that is in it.
    ///
    /// # Panics
    ///
    /// If a worker did outside of its handler.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_workqueue::{Queue, Workers};
    /// let queue = Queue::<u32>::new();
    /// let threads = Workers::new(queue, 2).run_blocking(|_| Ok::<_, String>(()))?;
    /// assert_eq!(threads.cancel(Duration::from_secs(5)), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(self, grace: Duration) -> usize {
        self.retire(self.threads.len());
        let Self { threads, hire, working, ended, .. } = self;
        // It could start another.
        drop(hire);
        // Nothing is ever sent: either all senders go, or the time is over.
        if ended.recv_timeout(grace) == Err(RecvTimeoutError::Disconnected) {
            threads.into_iter().for_each(join);
            return 0;
        }
        threads.into_iter().filter(JoinHandle::is_finished).for_each(join);
        Arc::strong_count(&working) - 1
    }

    fn retire(&self, count: usize) {
        self.retirement.retire(count);
        self.threads.iter().for_each(|worker| worker.thread().unpark());
    }

    /// How many runs of the handler ended with an error.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// let queue = Queue::<u32>::new();
    /// let threads = Workers::new(queue.clone(), 1).run_blocking(|_| Err::<(), _>("never called"))?;
    /// assert_eq!(threads.failures(), 0);
    /// # queue.shut_down();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn failures(&self) -> u64 {
        self.counters.failures.load(Ordering::Relaxed)
    }

    /// How many runs of the handler ended with a panic.
    ///
    /// ```
    /// # use lariat_workqueue::{Queue, Workers};
    /// let queue = Queue::<u32>::new();
    /// let threads = Workers::new(queue.clone(), 1).run_blocking(|_| Ok::<_, String>(()))?;
    /// assert_eq!(threads.panics(), 0);
    /// # queue.shut_down();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
    }
}

/// Waits for a worker, and panics if it did.
fn join(worker: JoinHandle<()>) {
    if let Err(cause) = worker.join() {
        panic::resume_unwind(cause);
    }
}

impl fmt::Debug for WorkerThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThreads")
            .field("count", &self.threads.len())
            .field("failures", &self.failures())
            .field("panics", &self.panics())
            .finish()
    }
}
