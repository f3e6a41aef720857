//! What the wiring of all loops has in common.

use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::FixedState;
use lariat::prelude::*;
use lariat::workqueue::{ItemFastSlow, WorkersHandle};
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
pub(crate) fn queue(name: &str, fast: Duration, slow: Duration) -> Queue<ObjectKey> {
    Queue::builder().name(name).rate_limiter(ItemFastSlow::new(fast, slow, FAST_ATTEMPTS)).build()
}

const FAST_ATTEMPTS: u32 = 5;

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
    E: std::fmt::Display + Send + 'static,
    ObjectKey: Hash,
{
    Workers::new(queue.clone(), count).run(handler)
}
