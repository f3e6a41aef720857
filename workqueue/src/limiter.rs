//! Rate limiters: how long an item has to wait before it is tried again.

mod bucket;
mod combined;
mod jitter;
mod per_item;

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

pub use self::bucket::Bucket;
pub use self::combined::{MaxOf, WithMaxWait};
pub use self::jitter::WithJitter;
pub use self::per_item::{ItemExponentialFailure, ItemFastSlow};
use crate::sync::Arc;

/// Decides how long an item has to wait before it is tried again.
///
/// The queue calls it while it is locked, so an implementation must not call the queue, and should be quick.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{Queue, RateLimiter};
///
/// struct EverySecond;
///
/// impl<T> RateLimiter<T> for EverySecond {
///     fn when(&self, _item: &T) -> Duration {
///         Duration::from_secs(1)
///     }
///     fn forget(&self, _item: &T) {}
///     fn num_requeues(&self, _item: &T) -> u32 {
///         0
///     }
/// }
///
/// let queue: Queue<u32> = Queue::builder().rate_limiter(EverySecond).build();
/// ```
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T>: Send + Sync {
    /// How long the item has to wait. Charges the item with a failure.
    fn when(&self, item: &T) -> Duration;

    /// As [`when`](Self::when), for those who have just looked at the clock, which said `now`. The queue calls this one. A limiter
    /// that looks at the clock itself, or that asks another limiter, saves the look by having it too. Default: `when`.
    fn when_at(&self, item: &T, now: Instant) -> Duration {
        let _ = now;
        self.when(item)
    }

    /// Clears the failures of the item.
    fn forget(&self, item: &T);

    /// How many failures the item is charged with.
    fn num_requeues(&self, item: &T) -> u32;

    /// Itself, if all that it asks of an item is how often it has failed, and it knows of no failure yet. A queue that owns such a
    /// limiter counts failures beside what else it knows of an item, which spares a table, and calls nothing else of it. None by
    /// default, and through an [`Arc`], whose other holders could ask for the count.
    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        None
    }
}

/// A limiter for which all items are alike that have failed equally often; see [`RateLimiter::by_failures`].
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{ByFailures, Queue, RateLimiter};
/// use tokio::time::Instant;
///
/// /// A second more after each failure.
/// struct Linear;
///
/// impl<T> ByFailures<T> for Linear {
///     fn delay(&self, failures: u32, _now: Instant) -> Duration {
///         Duration::from_secs(1) * failures.saturating_add(1)
///     }
/// }
///
/// impl<T> RateLimiter<T> for Linear {
///     // The queue counts, so these are not called.
///     fn when(&self, _item: &T) -> Duration {
///         Duration::from_secs(1)
///     }
///     fn forget(&self, _item: &T) {}
///     fn num_requeues(&self, _item: &T) -> u32 {
///         0
///     }
///     fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
///         Some(self)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let queue = Queue::builder().rate_limiter(Linear).build();
/// queue.add_rate_limited("flaky");
/// assert_eq!(queue.num_requeues(&"flaky"), 1);
/// # }
/// ```
pub trait ByFailures<T>: Send + Sync {
    /// How long an item has to wait that has failed now, and so many times before.
    fn delay(&self, failures: u32, now: Instant) -> Duration;

    /// Whether it asks for failures at all. If not, none are counted: `num_requeues` is zero, and nothing need be forgotten.
    /// Default: true.
    fn counts(&self) -> bool {
        true
    }

    /// A time that no delay is shorter than. The longer it is, the later the queue has to ask. Default: zero.
    fn at_least(&self) -> Duration {
        Duration::ZERO
    }
}

/// client-go's default for controllers: the longer of exponential delays per item, from 5 milliseconds to 1000 seconds,
/// and a bucket for all items of 10 a second with a burst of 100.
///
/// The bucket bounds what all items together may do to a server when everything fails at once.
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{RateLimiter, default_controller_rate_limiter};
///
/// let limiter = default_controller_rate_limiter();
/// assert_eq!(limiter.when(&"item"), Duration::from_millis(5));
/// assert_eq!(limiter.when(&"item"), Duration::from_millis(10));
/// ```
#[doc(alias = "DefaultTypedControllerRateLimiter")]
#[doc(alias = "DefaultControllerRateLimiter")]
pub fn default_controller_rate_limiter<T: Hash + Eq + Clone + Send + 'static>() -> MaxOf<T> {
    MaxOf::new([
        Box::new(ItemExponentialFailure::new(Duration::from_millis(5), Duration::from_secs(1000)))
            as Box<dyn RateLimiter<T>>,
        Box::new(Bucket::new(10.0, 100)),
    ])
}

/// client-go's default per item: exponential delays from 1 millisecond to 1000 seconds.
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{RateLimiter, default_item_based_rate_limiter};
///
/// let limiter = default_item_based_rate_limiter();
/// assert_eq!(limiter.when(&"item"), Duration::from_millis(1));
/// ```
#[doc(alias = "DefaultTypedItemBasedRateLimiter")]
#[doc(alias = "DefaultItemBasedRateLimiter")]
pub fn default_item_based_rate_limiter<T: Hash + Eq + Clone + Send>() -> ItemExponentialFailure<T> {
    ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_secs(1000))
}

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<L> {
    fn when(&self, item: &T) -> Duration {
        (**self).when(item)
    }

    fn when_at(&self, item: &T, now: Instant) -> Duration {
        (**self).when_at(item, now)
    }

    fn forget(&self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        (**self).num_requeues(item)
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        (**self).by_failures()
    }
}

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Arc<L> {
    fn when(&self, item: &T) -> Duration {
        (**self).when(item)
    }

    fn when_at(&self, item: &T, now: Instant) -> Duration {
        (**self).when_at(item, now)
    }

    fn forget(&self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        (**self).num_requeues(item)
    }
}
