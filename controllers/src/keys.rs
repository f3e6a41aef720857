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

/// An error of which some are no fault of anybody.
pub(crate) trait Failure: fmt::Display + Send + 'static {
    /// Whether somebody else wrote in the meantime.
    fn is_conflict(&self) -> bool;
}

/// Starts workers on a queue. Failures are told of in the log and tried again; of conflicts, which come to nothing, only whoever wants
/// to know everything is told (reference 7.6).
pub(crate) fn work<H, F, E>(queue: &Queue<ObjectKey>, count: usize, handler: H) -> WorkersHandle
where
    H: Fn(ObjectKey) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Failure,
    ObjectKey: Hash,
{
    let again = queue.clone();
    Workers::with_log_key(queue.clone(), count, ToString::to_string).run(move |key: ObjectKey| {
        let (handled, again) = (handler(key.clone()), again.clone());
        async move {
            match handled.await {
                Err(error) if error.is_conflict() => {
                    tracing::debug!(queue = again.name(), key = key.as_str(), %error, "somebody else wrote, looks again");
                    again.add_rate_limited(key);
                    Ok(())
                }
                other => other,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("conflict: {0}")]
    struct Failed(bool);

    impl Failure for Failed {
        fn is_conflict(&self) -> bool {
            self.0
        }
    }

    /// A failure is tried again and counts as one; a conflict is tried again, and does not.
    #[tokio::test(start_paused = true)]
    async fn conflicts_are_tried_again_and_are_no_failures() {
        for is_conflict in [true, false] {
            let (fast, slow) = (Duration::from_millis(20), Duration::from_millis(500));
            let queue = queue("test", fast, slow, &Arc::default());
            let tries = Arc::new(AtomicU32::new(0));
            queue.add(ObjectKey::new("n", "a"));
            let counted = tries.clone();
            let workers = work(&queue, 1, move |_| {
                let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
                async move { if is_first { Err(Failed(is_conflict)) } else { Ok(()) } }
            });
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(tries.load(Ordering::Relaxed), 2);
            assert_eq!(workers.failures(), u64::from(!is_conflict));
        }
    }
}
