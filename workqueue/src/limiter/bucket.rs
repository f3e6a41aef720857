//! One rate for all items together.

use std::time::Duration;

use tokio::time::Instant;

use super::{ByFailures, RateLimiter};
use crate::sync::Mutex;

/// The wait for a token that will never come: what client-go returns, some 292 years.
const NEVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// A bucket of tokens that all items share.
///
/// The bucket begins full with `burst` tokens and gains `qps` of them a second. Each call takes one, in advance if
/// there is none, and waits until the bucket would have had it; so waiting calls are spaced evenly. A bucket that never
/// gains a token (`qps` is zero, negative or not a number, or `burst` is zero) makes items wait for about 292 years.
///
/// It knows nothing of single items: [`forget`](RateLimiter::forget) does nothing and
/// [`num_requeues`](RateLimiter::num_requeues) is zero.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_workqueue::{Bucket, RateLimiter};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let limiter = Bucket::new(10.0, 2);
/// let delays: Vec<u128> = (0..4).map(|item| limiter.when(&item).as_millis()).collect();
/// assert_eq!(delays, [0, 0, 100, 200]);
/// # }
/// ```
#[doc(alias = "BucketRateLimiter")]
#[derive(Debug)]
pub struct Bucket {
    qps: f64,
    burst: u32,
    level: Mutex<Level>,
}

#[derive(Debug)]
struct Level {
    /// Negative if tokens were taken in advance.
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket of `burst` tokens that gains `qps` tokens a second.
    ///
    /// ```
    /// use lariat_workqueue::Bucket;
    ///
    /// let limiter = Bucket::new(10.0, 100);
    /// ```
    pub fn new(qps: f64, burst: u32) -> Self {
        let level = Level { tokens: f64::from(burst), at: Instant::now() };
        // Zero stands for whatever gains nothing; it makes the waits below infinite.
        let qps = if qps > 0.0 { qps } else { 0.0 };
        Self { qps, burst, level: Mutex::new(level) }
    }

    fn reserve(&self, now: Instant) -> Duration {
        if self.qps == f64::INFINITY {
            return Duration::ZERO;
        }
        if self.burst == 0 {
            return NEVER;
        }
        let mut level = self.level.lock();
        let gained = now.saturating_duration_since(level.at).as_secs_f64() * self.qps;
        level.tokens = (level.tokens + gained).min(f64::from(self.burst)) - 1.0;
        level.at = level.at.max(now);
        if level.tokens >= 0.0 {
            return Duration::ZERO;
        }
        // The cast saturates, and cuts fractions of a nanosecond as client-go does.
        Duration::from_nanos((-level.tokens / self.qps * 1e9) as u64).min(NEVER)
    }
}

impl<T> RateLimiter<T> for Bucket {
    fn when(&self, _item: &T) -> Duration {
        self.reserve(Instant::now())
    }

    fn when_at(&self, _item: &T, now: Instant) -> Duration {
        self.reserve(now)
    }

    fn forget(&self, _item: &T) {}

    fn num_requeues(&self, _item: &T) -> u32 {
        0
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        Some(self)
    }
}

impl<T> ByFailures<T> for Bucket {
    fn delay(&self, _failures: u32, now: Instant) -> Duration {
        self.reserve(now)
    }

    fn counts(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_gains_nothing_gives_its_burst_and_then_never() {
        let now = Instant::now();
        for qps in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let bucket = Bucket::new(qps, 1);
            assert_eq!(bucket.reserve(now), Duration::ZERO, "{qps}");
            assert_eq!(bucket.reserve(now + Duration::from_secs(1)), NEVER, "{qps}");
        }
        assert_eq!(Bucket::new(10.0, 0).reserve(now), NEVER);
        assert_eq!(Bucket::new(f64::INFINITY, 0).reserve(now), Duration::ZERO);
        assert_eq!(Bucket::new(f64::MIN_POSITIVE, 1).reserve(now), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_read_out_of_order_gains_nothing() {
        let now = Instant::now();
        let bucket = Bucket::new(1.0, 1);
        let later = bucket.level.lock().at.max(now) + Duration::from_secs(10);
        assert_eq!(bucket.reserve(later), Duration::ZERO);
        assert_eq!(bucket.reserve(now), Duration::from_secs(1));
        assert_eq!(bucket.reserve(later), Duration::from_secs(2));
    }
}
