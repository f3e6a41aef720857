use std::time::Duration;

use lariat_api::Randomness;
use tokio::time::Instant;

/// How long to wait between attempts that fail.
///
/// The defaults are client-go's for a reflector: 800 ms, doubled each time, at most 30 s, each wait lengthened by a random
/// part of itself, and all over again after 2 minutes.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_reflector::BackoffConfig;
///
/// let quick = BackoffConfig { initial: Duration::from_millis(10), ..BackoffConfig::default() };
/// assert_eq!(quick.cap, Duration::from_secs(30));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BackoffConfig {
    /// The first wait.
    pub initial: Duration,
    /// What each wait is multiplied with to give the next; at least 1.
    pub factor: f64,
    /// The longest wait, before jitter.
    pub cap: Duration,
    /// The most by which a wait is lengthened at random, as a part of it.
    pub jitter: f64,
    /// When more time than this has passed since the first wait of a series, the series begins again.
    pub reset_after: Duration,
}

/// The waits of one series of attempts after another.
#[derive(Debug)]
pub struct Backoff {
    config: BackoffConfig,
    randomness: Randomness,
    next: Duration,
    last_start: Option<Instant>,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            factor: 2.0,
            cap: Duration::from_secs(30),
            jitter: 1.0,
            reset_after: Duration::from_secs(2 * 60),
        }
    }
}

impl Backoff {
    /// A series that has not begun.
    pub fn new(config: BackoffConfig, randomness: Randomness) -> Self {
        let next = config.initial;
        Self { config, randomness, next, last_start: None }
    }

    /// The next wait, and moves on.
    pub fn step(&mut self) -> Duration {
        let now = Instant::now();
        if self.last_start.is_none_or(|start| now - start > self.config.reset_after) {
            self.next = self.config.initial;
        }
        self.last_start = Some(now);
        let wait = self.next.min(self.config.cap);
        self.next = Duration::try_from_secs_f64(wait.as_secs_f64() * self.config.factor.max(1.0))
            .map_or(self.config.cap, |next| next.min(self.config.cap));
        self.randomness.jitter(wait, self.config.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_jitter() -> Backoff {
        Backoff::new(BackoffConfig { jitter: 0.0, ..Default::default() }, Randomness::seeded(1))
    }

    /// RF-3: 800 ms doubled up to 30 s, where it stays.
    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_the_cap() {
        let mut backoff = without_jitter();
        let waits: Vec<u128> = (0..8).map(|_| backoff.step().as_millis()).collect();
        assert_eq!(waits, [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
    }

    /// RF-3: more than two minutes after the last wait began, the series begins again.
    #[tokio::test(start_paused = true)]
    async fn the_series_begins_again_after_two_minutes() {
        let mut backoff = without_jitter();
        backoff.step();
        tokio::time::advance(Duration::from_secs(120)).await;
        assert_eq!(backoff.step(), Duration::from_millis(1_600), "exactly two minutes are not more");
        tokio::time::advance(Duration::from_millis(120_001)).await;
        assert_eq!(backoff.step(), Duration::from_millis(800));
    }

    /// RF-3: a wait is its base to twice its base.
    #[tokio::test(start_paused = true)]
    async fn jitter_lengthens_by_at_most_the_wait_itself() {
        for seed in 0..200 {
            let wait = Backoff::new(BackoffConfig::default(), Randomness::seeded(seed)).step();
            assert!((800..1_600).contains(&wait.as_millis()), "{wait:?}");
        }
    }
}
