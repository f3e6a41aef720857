use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A source of random numbers that is passed to whatever needs one, so that a run can be repeated from its seed.
///
/// A clone draws from the same sequence. It is meant for jitter and names, not for secrets.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_api::Randomness;
///
/// let wait = Randomness::seeded(7).jitter(Duration::from_secs(1), 1.0);
/// assert!(wait >= Duration::from_secs(1) && wait < Duration::from_secs(2));
/// assert_eq!(wait, Randomness::seeded(7).jitter(Duration::from_secs(1), 1.0));
/// ```
#[derive(Debug, Clone)]
pub struct Randomness(Arc<Mutex<fastrand::Rng>>);

impl Randomness {
    /// The sequence that belongs to a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))))
    }

    /// A sequence that nobody can foresee from the last run.
    pub fn from_os() -> Self {
        use std::hash::{BuildHasher, Hasher};
        #[allow(clippy::disallowed_methods)] // the one place that draws from the system's randomness
        let seed = std::hash::RandomState::new().build_hasher().finish();
        Self::seeded(seed)
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }

    /// A number in `0..bound`, 0 if the bound is 0.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).u64(..bound)
    }

    /// A duration in `base..base * (1 + factor)`. A factor that is not positive gives `base`.
    pub fn jitter(&self, base: Duration, factor: f64) -> Duration {
        if factor > 0.0 { base.saturating_add(saturating_mul(base, factor * self.unit())) } else { base }
    }
}

fn saturating_mul(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}
