//! Limiters made of limiters.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{ByFailures, RateLimiter};

/// The longest delay that any of several limiters asks for. All of them are charged.
///
/// Without any limiter there is no delay.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{Bucket, ItemExponentialFailure, MaxOf, RateLimiter};
///
/// let per_item = ItemExponentialFailure::new(Duration::from_millis(5), Duration::from_secs(1000));
/// let limiter = MaxOf::new([Box::new(per_item) as Box<dyn RateLimiter<_>>, Box::new(Bucket::new(10.0, 100))]);
/// assert_eq!(limiter.when(&"item"), Duration::from_millis(5));
/// ```
#[doc(alias = "MaxOfRateLimiter")]
#[doc(alias = "NewTypedMaxOfRateLimiter")]
pub struct MaxOf<T> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

/// A limiter whose delays are cut to `max`.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{RateLimiter, WithMaxWait, default_controller_rate_limiter};
///
/// let limiter = WithMaxWait::new(default_controller_rate_limiter(), Duration::from_millis(7));
/// let delays: Vec<u128> = (0..3).map(|_| limiter.when(&"item").as_millis()).collect();
/// assert_eq!(delays, [5, 7, 7]);
/// ```
#[doc(alias = "WithMaxWaitRateLimiter")]
#[doc(alias = "NewTypedWithMaxWaitRateLimiter")]
#[derive(Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    max: Duration,
}

// === impl MaxOf ===

impl<T> MaxOf<T> {
    /// The longest delay of these limiters.
    ///
    /// ```
    /// use lariat_workqueue::{Bucket, MaxOf, RateLimiter};
    ///
    /// let limiter = MaxOf::new([Box::new(Bucket::new(10.0, 100)) as Box<dyn RateLimiter<u32>>]);
    /// ```
    pub fn new(limiters: impl IntoIterator<Item = Box<dyn RateLimiter<T>>>) -> Self {
        Self { limiters: limiters.into_iter().collect() }
    }
}

impl<T> RateLimiter<T> for MaxOf<T> {
    fn when(&self, item: &T) -> Duration {
        self.limiters.iter().map(|limiter| limiter.when(item)).max().unwrap_or_default()
    }

    fn when_at(&self, item: &T, now: Instant) -> Duration {
        self.limiters.iter().map(|limiter| limiter.when_at(item, now)).max().unwrap_or_default()
    }

    fn forget(&self, item: &T) {
        for limiter in &self.limiters {
            limiter.forget(item);
        }
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiters.iter().map(|limiter| limiter.num_requeues(item)).max().unwrap_or_default()
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        self.limiters.iter().all(|limiter| limiter.by_failures().is_some()).then_some(self)
    }
}

impl<T> ByFailures<T> for MaxOf<T> {
    fn delay(&self, failures: u32, now: Instant) -> Duration {
        let limiters = self.limiters.iter().filter_map(|limiter| limiter.by_failures());
        limiters.map(|limiter| limiter.delay(failures, now)).max().unwrap_or_default()
    }

    fn counts(&self) -> bool {
        self.limiters.iter().filter_map(|limiter| limiter.by_failures()).any(|limiter| limiter.counts())
    }

    fn at_least(&self) -> Duration {
        let limiters = self.limiters.iter().filter_map(|limiter| limiter.by_failures());
        limiters.map(|limiter| limiter.at_least()).max().unwrap_or_default()
    }
}

impl<T> fmt::Debug for MaxOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOf").field("limiters", &self.limiters.len()).finish()
    }
}

// === impl WithMaxWait ===

impl<L> WithMaxWait<L> {
    /// Cuts the delays of `limiter` to `max`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lariat_workqueue::{Bucket, WithMaxWait};
    ///
    /// let limiter = WithMaxWait::new(Bucket::new(10.0, 100), Duration::from_secs(30));
    /// ```
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithMaxWait<L> {
    fn when(&self, item: &T) -> Duration {
        self.limiter.when(item).min(self.max)
    }

    fn when_at(&self, item: &T, now: Instant) -> Duration {
        self.limiter.when_at(item, now).min(self.max)
    }

    fn forget(&self, item: &T) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.num_requeues(item)
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        self.limiter.by_failures().is_some().then_some(self)
    }
}

impl<T, L: RateLimiter<T>> ByFailures<T> for WithMaxWait<L> {
    fn delay(&self, failures: u32, now: Instant) -> Duration {
        self.limiter.by_failures().map_or(self.max, |limiter| limiter.delay(failures, now).min(self.max))
    }

    fn counts(&self) -> bool {
        self.limiter.by_failures().is_some_and(|limiter| limiter.counts())
    }

    fn at_least(&self) -> Duration {
        self.limiter.by_failures().map(|limiter| limiter.at_least()).unwrap_or_default().min(self.max)
    }
}
