use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lariat_api::{Clock, SystemClock};
use tokio::time::Instant;

/// A wait.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The clocks of an elector: [`TokioTime`], unless it is part of a simulation in which machines disagree about how fast time goes.
pub trait Time: Send + Sync + 'static {
    /// The time since some moment that never changes. It never goes back.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> Sleep;

    /// The time of day, which is written into the Lease and compared with nothing.
    fn wall(&self) -> SystemTime;
}

/// The time of tokio, with the time of day from a [`Clock`].
///
/// It goes on while a process is stopped. Whether it does while a machine is suspended is up to the operating system; Linux' does not.
///
/// ```
/// use lariat_leaderelection::{Time, TokioTime};
///
/// let time = TokioTime::default();
/// assert!(time.now() <= time.now());
/// ```
#[derive(Clone)]
pub struct TokioTime {
    start: Instant,
    clock: Arc<dyn Clock>,
}

impl TokioTime {
    /// With the time of day from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { start: Instant::now(), clock }
    }
}

impl Default for TokioTime {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl Time for TokioTime {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }

    fn wall(&self) -> SystemTime {
        self.clock.wall()
    }
}
