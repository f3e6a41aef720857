//! Limiters that look at nothing but how often an item has failed.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use tokio::time::Instant;

use super::{ByFailures, RateLimiter};
use crate::limits::is_sparse;
use crate::sync::{AtomicBool, Mutex, Ordering};

/// Delays that double with each failure of the item: `base`, twice `base`, four times `base`, up to `max`.
///
/// An item that is forgotten takes no memory.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{ItemExponentialFailure, RateLimiter};
///
/// let limiter = ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_secs(1));
/// let delays: Vec<u128> = (0..5).map(|_| limiter.when(&"one").as_millis()).collect();
/// assert_eq!(delays, [1, 2, 4, 8, 16]);
/// assert_eq!(limiter.when(&"two").as_millis(), 1);
/// limiter.forget(&"one");
/// assert_eq!(limiter.when(&"one").as_millis(), 1);
/// ```
#[doc(alias = "ItemExponentialFailureRateLimiter")]
#[doc(alias = "NewTypedItemExponentialFailureRateLimiter")]
pub struct ItemExponentialFailure<T> {
    base: Duration,
    max: Duration,
    failures: Failures<T>,
}

/// A short delay for the first failures of an item, a long one for all later ones.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{ItemFastSlow, RateLimiter};
///
/// let limiter = ItemFastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 2);
/// let delays: Vec<u128> = (0..4).map(|_| limiter.when(&"one").as_millis()).collect();
/// assert_eq!(delays, [5, 5, 10_000, 10_000]);
/// ```
#[doc(alias = "ItemFastSlowRateLimiter")]
#[doc(alias = "NewTypedItemFastSlowRateLimiter")]
pub struct ItemFastSlow<T> {
    fast: Duration,
    slow: Duration,
    max_fast_attempts: u32,
    failures: Failures<T>,
}

/// How often each item has failed.
struct Failures<T> {
    table: Mutex<HashTable<Failed<T>>>,
    /// Whether any was ever counted here.
    used: AtomicBool,
}

/// With its hash, so that a growing table need not look at items.
struct Failed<T> {
    hash: u64,
    item: T,
    count: u32,
}

// === impl ItemExponentialFailure ===

impl<T> ItemExponentialFailure<T> {
    /// Delays from `base` to `max`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lariat_workqueue::ItemExponentialFailure;
    ///
    /// let limiter = ItemExponentialFailure::<u32>::new(Duration::from_millis(5), Duration::from_secs(1000));
    /// ```
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Failures::new() }
    }
}

impl<T: Hash + Eq + Clone + Send> RateLimiter<T> for ItemExponentialFailure<T> {
    fn when(&self, item: &T) -> Duration {
        self.after(self.failures.charge(item) - 1)
    }

    fn forget(&self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.failures.count(item)
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        self.failures.is_unused().then_some(self)
    }
}

impl<T: Hash + Eq + Clone + Send> ByFailures<T> for ItemExponentialFailure<T> {
    fn delay(&self, failures: u32, _now: Instant) -> Duration {
        self.after(failures)
    }

    fn at_least(&self) -> Duration {
        self.base.min(self.max)
    }
}

impl<T> ItemExponentialFailure<T> {
    fn after(&self, earlier_failures: u32) -> Duration {
        let base = self.base.as_nanos();
        let fits = base == 0 || earlier_failures <= base.leading_zeros();
        let delay = if fits { base.checked_shl(earlier_failures).unwrap_or(0) } else { u128::MAX };
        if delay < self.max.as_nanos() { Duration::from_nanos_u128(delay) } else { self.max }
    }
}

impl<T> fmt::Debug for ItemExponentialFailure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemExponentialFailure")
            .field("base", &self.base)
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

// === impl ItemFastSlow ===

impl<T> ItemFastSlow<T> {
    /// The delay `fast` for the first `max_fast_attempts` failures, `slow` for the others.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lariat_workqueue::ItemFastSlow;
    ///
    /// let limiter = ItemFastSlow::<u32>::new(Duration::from_millis(5), Duration::from_secs(10), 3);
    /// ```
    pub fn new(fast: Duration, slow: Duration, max_fast_attempts: u32) -> Self {
        Self { fast, slow, max_fast_attempts, failures: Failures::new() }
    }
}

impl<T: Hash + Eq + Clone + Send> RateLimiter<T> for ItemFastSlow<T> {
    fn when(&self, item: &T) -> Duration {
        self.after(self.failures.charge(item) - 1)
    }

    fn forget(&self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.failures.count(item)
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        self.failures.is_unused().then_some(self)
    }
}

impl<T: Hash + Eq + Clone + Send> ByFailures<T> for ItemFastSlow<T> {
    fn delay(&self, failures: u32, _now: Instant) -> Duration {
        self.after(failures)
    }

    fn at_least(&self) -> Duration {
        self.fast.min(self.slow)
    }
}

impl<T> ItemFastSlow<T> {
    fn after(&self, earlier_failures: u32) -> Duration {
        if earlier_failures < self.max_fast_attempts { self.fast } else { self.slow }
    }
}

impl<T> fmt::Debug for ItemFastSlow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemFastSlow")
            .field("fast", &self.fast)
            .field("slow", &self.slow)
            .field("max_fast_attempts", &self.max_fast_attempts)
            .finish_non_exhaustive()
    }
}

// === impl Failures ===

impl<T> Failures<T> {
    fn new() -> Self {
        Self { table: Mutex::new(HashTable::new()), used: AtomicBool::new(false) }
    }

    /// Whether none was ever counted here.
    fn is_unused(&self) -> bool {
        !self.used.load(Ordering::Relaxed)
    }
}

impl<T: Hash + Eq + Clone> Failures<T> {
    /// Counts one more, and returns how many there are with it: at least one.
    fn charge(&self, item: &T) -> u32 {
        let hash = hash(item);
        let mut failures = self.table.lock();
        self.used.store(true, Ordering::Relaxed);
        let failed = failures.entry(hash, |failed| failed.is(hash, item), |failed| failed.hash);
        let mut failed = failed.or_insert_with(|| Failed { hash, item: item.clone(), count: 0 });
        let Failed { count, .. } = failed.get_mut();
        *count = count.saturating_add(1);
        *count
    }

    fn forget(&self, item: &T) {
        let hash = hash(item);
        let mut failures = self.table.lock();
        let Ok(failed) = failures.find_entry(hash, |failed| failed.is(hash, item)) else { return };
        let (forgotten, _) = failed.remove();
        if is_sparse(failures.len(), failures.capacity()) {
            let room = 2 * failures.len();
            failures.shrink_to(room, |failed| failed.hash);
        }
        drop(failures);
        drop(forgotten);
    }

    fn count(&self, item: &T) -> u32 {
        let hash = hash(item);
        self.table.lock().find(hash, |failed| failed.is(hash, item)).map_or(0, |failed| failed.count)
    }
}

impl<T: Eq> Failed<T> {
    fn is(&self, hash: u64, item: &T) -> bool {
        self.hash == hash && self.item == *item
    }
}

fn hash<T: Hash>(item: &T) -> u64 {
    FixedState::default().hash_one(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgotten_items_take_no_memory() {
        let limiter = ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_secs(1));
        for item in 0..100_000 {
            limiter.when(&item);
        }
        for item in 0..100_000 {
            limiter.forget(&item);
        }
        let failures = limiter.failures.table.lock();
        assert_eq!(failures.len(), 0);
        assert!(failures.capacity() < 4096, "{}", failures.capacity());
    }
}
