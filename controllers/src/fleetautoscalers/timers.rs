use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat::prelude::*;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// One timer for each autoscaler, by uid: it puts the key into the queue at once and then every period.
pub(super) struct Timers {
    queue: Queue<ObjectKey>,
    timers: Mutex<BTreeMap<String, Timer>>,
}

struct Timer {
    key: ObjectKey,
    generation: i64,
    _task: AbortOnDrop,
}

/// A task that ends with its owner.
struct AbortOnDrop(JoinHandle<()>);

impl Timers {
    pub(super) fn new(queue: Queue<ObjectKey>) -> Self {
        Self { queue, timers: Mutex::default() }
    }

    /// Starts the timer of an autoscaler, or starts it anew if the autoscaler is of another generation.
    pub(super) fn start(&self, uid: &str, generation: i64, key: &ObjectKey, period: Duration) {
        let mut timers = self.timers();
        if timers.get(uid).is_some_and(|timer| timer.generation == generation) {
            return;
        }
        let task = AbortOnDrop(tokio::spawn(tick(self.queue.clone(), key.clone(), period)));
        timers.insert(uid.to_owned(), Timer { key: key.clone(), generation, _task: task });
    }

    /// Stops the timer of an autoscaler.
    pub(super) fn stop(&self, uid: &str) {
        self.timers().remove(uid);
    }

    /// Stops the timers of a namespace whose autoscalers are gone.
    pub(super) fn retain(&self, namespace: &str, exists: impl Fn(&str) -> bool) {
        self.timers().retain(|uid, timer| timer.key.namespace() != namespace || exists(uid));
    }

    pub(super) fn stop_all(&self) {
        self.timers().clear();
    }

    fn timers(&self) -> MutexGuard<'_, BTreeMap<String, Timer>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn tick(queue: Queue<ObjectKey>, key: ObjectKey, period: Duration) {
    queue.add_rate_limited(key.clone());
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        queue.add_rate_limited(key.clone());
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
