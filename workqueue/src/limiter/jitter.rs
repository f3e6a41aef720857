//! Delays that are not all the same.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::{ByFailures, RateLimiter};
use crate::sync::Mutex;

/// A limiter whose delays are made longer by a random part, so that what failed together does not come back together.
///
/// A delay is never shorter than the limiter asked for, and shorter than `1 + factor` times that. The same seed gives the same
/// parts in the same order. A factor that is negative or not a number is none. To bound the outcome, put
/// [`WithMaxWait`](crate::WithMaxWait) around this.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{ItemExponentialFailure, RateLimiter, WithJitter};
///
/// let second = Duration::from_secs(1);
/// let limiter = WithJitter::new(ItemExponentialFailure::new(second, second), 0.5, 42);
/// let delay = limiter.when(&"item");
/// assert!(delay >= second && delay < second * 3 / 2);
/// assert_ne!(limiter.when(&"item"), delay);
/// ```
pub struct WithJitter<L> {
    limiter: L,
    factor: f64,
    random: Mutex<Rng>,
}

impl<L> WithJitter<L> {
    /// Makes the delays of `limiter` longer by up to `factor` times themselves.
    ///
    /// ```
    /// use lariat_workqueue::{WithJitter, default_controller_rate_limiter};
    ///
    /// let limiter = WithJitter::new(default_controller_rate_limiter::<u32>(), 0.1, 7);
    /// ```
    pub fn new(limiter: L, factor: f64, seed: u64) -> Self {
        // Zero stands for whatever lengthens nothing.
        let factor = if factor > 0.0 { factor } else { 0.0 };
        Self { limiter, factor, random: Mutex::new(Rng::with_seed(seed)) }
    }

    fn lengthen(&self, delay: Duration) -> Duration {
        let part = self.random.lock().f64() * self.factor;
        let extra = Duration::try_from_secs_f64(delay.as_secs_f64() * part).unwrap_or(Duration::MAX);
        delay.saturating_add(extra)
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithJitter<L> {
    fn when(&self, item: &T) -> Duration {
        self.lengthen(self.limiter.when(item))
    }

    fn when_at(&self, item: &T, now: Instant) -> Duration {
        self.lengthen(self.limiter.when_at(item, now))
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

impl<T, L: RateLimiter<T>> ByFailures<T> for WithJitter<L> {
    fn delay(&self, failures: u32, now: Instant) -> Duration {
        let delay = self.limiter.by_failures().map(|limiter| limiter.delay(failures, now));
        self.lengthen(delay.unwrap_or_default())
    }

    fn counts(&self) -> bool {
        self.limiter.by_failures().is_some_and(|limiter| limiter.counts())
    }

    fn at_least(&self) -> Duration {
        self.limiter.by_failures().map(|limiter| limiter.at_least()).unwrap_or_default()
    }
}

impl<L: fmt::Debug> fmt::Debug for WithJitter<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithJitter")
            .field("limiter", &self.limiter)
            .field("factor", &self.factor)
            .finish_non_exhaustive()
    }
}
