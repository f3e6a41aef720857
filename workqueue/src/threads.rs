//! A pool of threads that process the items of a queue.

use std::fmt;
use std::hash::Hash;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread::{self, JoinHandle};

use crate::Workers;
use crate::desk::{Counters, Desk, panic_text};
use crate::sync::{Arc, Ordering};

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
}

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
    /// See [`WorkerThreads`].
    pub fn run_blocking<H, E>(self, handler: H) -> io::Result<WorkerThreads>
    where
        H: Fn(T) -> Result<(), E> + Send + Sync + 'static,
        E: fmt::Display + 'static,
    {
        let (handler, counters) = (Arc::new(handler), Arc::new(Counters::default()));
        let mut threads = Vec::with_capacity(self.count);
        for number in 0..self.count {
            let desk = Desk::new(self.queue.clone(), Arc::clone(&self.log_key), Arc::clone(&counters));
            let handler = Arc::clone(&handler);
            let name = format!("{} {number}", self.queue.name().unwrap_or("worker"));
            threads.push(thread::Builder::new().name(name).spawn(move || work(&desk, &*handler))?);
        }
        Ok(WorkerThreads { threads, counters })
    }
}

fn work<T, E>(desk: &Desk<T>, handler: &(impl Fn(T) -> Result<(), E> + ?Sized))
where
    T: Hash + Eq + Clone + Send + 'static,
    E: fmt::Display,
{
    while let Some(item) = desk.queue().get_blocking() {
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
    pub fn join(self) {
        for worker in self.threads {
            if let Err(cause) = worker.join() {
                panic::resume_unwind(cause);
            }
        }
    }

    /// How many runs of the handler ended with an error.
    pub fn failures(&self) -> u64 {
        self.counters.failures.load(Ordering::Relaxed)
    }

    /// How many runs of the handler ended with a panic.
    pub fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
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
