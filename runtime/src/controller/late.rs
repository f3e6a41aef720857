//! What a queue is given after it was made: it is there before its controller is complete, so that keys can be added at any time.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lariat_api::ObjectKey;
use lariat_workqueue::{ItemExponentialFailure, Metrics, Queue, RateLimiter};

use super::Trigger;
use crate::limits::{BACKOFF_BASE, BACKOFF_MAX};

/// A queue whose rate limiter and metrics come later.
pub(crate) struct Late {
    pub(crate) trigger: Trigger,
    pub(crate) metrics: Arc<LateMetrics>,
    pub(crate) limiter: Arc<LateLimiter>,
}

impl Late {
    pub(crate) fn new(name: &str) -> Self {
        let metrics = Arc::new(LateMetrics::default());
        let limiter = Arc::new(LateLimiter {
            set: OnceLock::new(),
            default: ItemExponentialFailure::new(BACKOFF_BASE, BACKOFF_MAX),
        });
        let queue =
            Queue::builder().name(name).rate_limiter(limiter.clone()).metrics(metrics.clone()).build();
        Self { trigger: Trigger(queue), metrics, limiter }
    }
}

/// The default, unless another is set before the first failure.
pub(crate) struct LateLimiter {
    set: OnceLock<Box<dyn RateLimiter<ObjectKey>>>,
    default: ItemExponentialFailure<ObjectKey>,
}

impl LateLimiter {
    pub(crate) fn set(&self, limiter: Box<dyn RateLimiter<ObjectKey>>) {
        // A controller is prepared once.
        let _ = self.set.set(limiter);
    }

    fn current(&self) -> &dyn RateLimiter<ObjectKey> {
        self.set.get().map_or(&self.default, |limiter| limiter)
    }
}

impl RateLimiter<ObjectKey> for LateLimiter {
    fn when(&self, item: &ObjectKey) -> Duration {
        self.current().when(item)
    }

    fn forget(&self, item: &ObjectKey) {
        self.current().forget(item);
    }

    fn num_requeues(&self, item: &ObjectKey) -> u32 {
        self.current().num_requeues(item)
    }
}

/// Counts what happens before there is somebody to be told.
#[derive(Default)]
pub(crate) struct LateMetrics {
    told: OnceLock<Arc<dyn Metrics>>,
    early: Mutex<Early>,
}

#[derive(Default)]
struct Early {
    /// By priority, of which there are few.
    depth: Vec<(i32, i64)>,
    retries: u64,
}

impl LateMetrics {
    pub(crate) fn tell(&self, queue: &str, metrics: Arc<dyn Metrics>) {
        let mut early = self.early();
        for (priority, depth) in std::mem::take(&mut early.depth) {
            (0..depth).for_each(|_| metrics.added(queue, priority));
        }
        (0..std::mem::take(&mut early.retries)).for_each(|_| metrics.retried(queue));
        // Under the lock, so that nothing is counted in between.
        let _ = self.told.set(metrics);
    }

    /// Tells whoever there is, or counts.
    fn report(&self, tell: impl Fn(&dyn Metrics), count: impl FnOnce(&mut Early)) {
        if let Some(metrics) = self.told.get() {
            return tell(&**metrics);
        }
        let mut early = self.early();
        match self.told.get() {
            Some(metrics) => tell(&**metrics),
            None => count(&mut early),
        }
    }

    fn early(&self) -> MutexGuard<'_, Early> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Early {
    fn count(&mut self, priority: i32, by: i64) {
        match self.depth.iter_mut().find(|(known, _)| *known == priority) {
            Some((_, depth)) => *depth += by,
            None => self.depth.push((priority, by)),
        }
    }
}

impl Metrics for LateMetrics {
    fn added(&self, queue: &str, priority: i32) {
        self.report(|metrics| metrics.added(queue, priority), |early| early.count(priority, 1));
    }

    fn taken(&self, queue: &str, priority: i32, waited: Duration) {
        self.report(|metrics| metrics.taken(queue, priority, waited), |early| early.count(priority, -1));
    }

    fn raised(&self, queue: &str, from: i32, to: i32) {
        self.report(
            |metrics| metrics.raised(queue, from, to),
            |early| {
                early.count(from, -1);
                early.count(to, 1);
            },
        );
    }

    fn done(&self, queue: &str, worked: Duration) {
        self.report(|metrics| metrics.done(queue, worked), |_| {});
    }

    fn retried(&self, queue: &str) {
        self.report(|metrics| metrics.retried(queue), |early| early.retries += 1);
    }
}
