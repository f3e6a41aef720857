use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

/// The time of day, as written into objects.
///
/// Waiting is not its business: that is `tokio::time`, which is virtual in tests.
///
/// # Example
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use lariat_api::{Clock, ManualClock};
///
/// let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_secs(5));
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The time of day now. It may jump, backwards too.
    fn wall(&self) -> SystemTime;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock(Mutex<SystemTime>);

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // the one place that reads the system's clock
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn new(start: SystemTime) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
