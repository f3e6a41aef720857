//! A time of day that goes with tokio's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lariat::api::Clock;
use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct VirtualClock(Instant);

/// When stories begin: in September 2025.
const BEGINNING: Duration = Duration::from_secs(1_758_000_000);

impl VirtualClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for VirtualClock {
    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + BEGINNING + self.0.elapsed()
    }
}
