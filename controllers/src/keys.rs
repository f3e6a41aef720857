//! What the wiring of all loops has in common.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foldhash::fast::FixedState;
use lariat::prelude::{Object, ObjectKey, Queue, Workers};
use lariat::workqueue::{ItemFastSlow, Metrics, WorkersHandle};
use tokio::sync::{Mutex, MutexGuard};

/// Lets one at a time write an object, whichever loop it is in: so they do not make each other's versions stale.
#[derive(Debug)]
pub(crate) struct KeyLocks(Vec<Mutex<()>>);

/// How many keys may be held at once at most. Two keys that share a lock wait for each other, which costs a little time.
const LOCKS: usize = 4_096;

impl Default for KeyLocks {
    fn default() -> Self {
        Self((0..LOCKS).map(|_| Mutex::default()).collect())
    }
}

impl KeyLocks {
    /// Waits until nobody else holds the key.
    pub(crate) async fn hold(&self, key: &ObjectKey) -> MutexGuard<'_, ()> {
        let hash = FixedState::default().hash_one(key);
        let place = usize::try_from(hash % LOCKS as u64).unwrap_or_default();
        self.0[place].lock().await
    }
}

/// A queue whose failures are tried again quickly some times, then slowly.
pub(crate) fn queue(
    name: &str,
    fast: Duration,
    slow: Duration,
    metrics: &Arc<LateMetrics>,
) -> Queue<ObjectKey> {
    Queue::builder()
        .name(name)
        .rate_limiter(ItemFastSlow::new(fast, slow, FAST_ATTEMPTS))
        .metrics(metrics.clone())
        .time_limit(STUCK)
        .build()
}

const FAST_ATTEMPTS: u32 = 5;

/// An object that is looked at for longer is shown as stuck. A webhook may take 15 s.
const STUCK: Duration = Duration::from_secs(60);

/// Tells what happens in queues that are made before it is known who wants to hear of it.
#[derive(Default)]
pub(crate) struct LateMetrics(OnceLock<Arc<dyn Metrics>>);

impl LateMetrics {
    /// Says who is told from now on; once.
    pub(crate) fn tell(&self, metrics: Arc<dyn Metrics>) {
        let _ = self.0.set(metrics);
    }
}

impl Metrics for LateMetrics {
    fn added(&self, queue: &str, priority: i32) {
        self.0.get().inspect(|metrics| metrics.added(queue, priority));
    }

    fn taken(&self, queue: &str, priority: i32, waited: Duration) {
        self.0.get().inspect(|metrics| metrics.taken(queue, priority, waited));
    }

    fn raised(&self, queue: &str, from: i32, to: i32) {
        self.0.get().inspect(|metrics| metrics.raised(queue, from, to));
    }

    fn done(&self, queue: &str, worked: Duration) {
        self.0.get().inspect(|metrics| metrics.done(queue, worked));
    }

    fn retried(&self, queue: &str) {
        self.0.get().inspect(|metrics| metrics.retried(queue));
    }
}

impl fmt::Debug for LateMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LateMetrics").field(&self.0.get().is_some()).finish()
    }
}

/// Puts the key of an object into a queue, if it has one.
pub(crate) fn add<K: Object>(queue: &Queue<ObjectKey>, object: &K) {
    if let Ok(key) = object.key() {
        queue.add(key);
    }
}

/// Starts workers on a queue.
pub(crate) fn work<H, F, E>(queue: &Queue<ObjectKey>, count: usize, handler: H) -> WorkersHandle
where
    H: Fn(ObjectKey) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: fmt::Display + Send + 'static,
    ObjectKey: Hash,
{
    Workers::with_log_key(queue.clone(), count, ToString::to_string).run(handler)
}
