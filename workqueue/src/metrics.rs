//! What a queue tells of itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::slots::Place;

/// Is told what happens in a queue, for counters, gauges and histograms. Every method does nothing if it is not written.
///
/// The methods say which metric of client-go each is for; their names are the same in all Go programs, with the label `name`.
/// They are called by whoever used the queue, after its lock was released, so two calls may come in another order than what
/// they tell of, and a method may use the queue. A queue without metrics spends nothing on them.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use lariat_workqueue::{Metrics, Queue};
///
/// #[derive(Default)]
/// struct Adds(AtomicU64);
///
/// impl Metrics for Adds {
///     fn added(&self, _queue: &str, _priority: i32) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let adds = Arc::new(Adds::default());
/// let queue = Queue::builder().name("fleets").metrics(adds.clone()).build();
/// queue.add("a");
/// queue.add("a");
/// assert_eq!(adds.0.load(Ordering::Relaxed), 1);
/// ```
#[allow(unused_variables, reason = "the names say what is told")]
pub trait Metrics: Send + Sync + 'static {
    /// An item needs processing that did not before: `workqueue_adds_total`, and one more in `workqueue_depth`.
    fn added(&self, queue: &str, priority: i32) {}

    /// An item was handed out, so long after it was added: `workqueue_queue_duration_seconds`, and one less in
    /// `workqueue_depth`.
    fn taken(&self, queue: &str, priority: i32, waited: Duration) {}

    /// An item that is queued has another priority now: one less and one more in `workqueue_depth`.
    fn raised(&self, queue: &str, from: i32, to: i32) {}

    /// An item was processed, for so long: `workqueue_work_duration_seconds`.
    fn done(&self, queue: &str, worked: Duration) {}

    /// An item was added for later: `workqueue_retries_total`.
    fn retried(&self, queue: &str) {}
}

/// What is noted while the lock is held, if there is somebody to be told.
#[derive(Debug)]
pub(crate) struct Notes {
    /// Whether facts are taken and told.
    has_metrics: bool,
    facts: Vec<Fact>,
    /// Since when the items in these places are dirty.
    dirty: Vec<Option<Instant>>,
    /// What is processed, and since when.
    running: Vec<(Place, Instant)>,
}

#[derive(Debug)]
pub(crate) enum Fact {
    Added { priority: i32 },
    Taken { priority: i32, waited: Duration },
    Raised { from: i32, to: i32 },
    Done { worked: Duration },
    Retried,
}

impl Notes {
    pub(crate) fn new(has_metrics: bool) -> Self {
        Self { has_metrics, facts: Vec::new(), dirty: Vec::new(), running: Vec::new() }
    }

    pub(crate) fn note(&mut self, fact: Fact) {
        if self.has_metrics {
            self.facts.push(fact);
        }
    }

    /// What is processed, and for how long it has been.
    pub(crate) fn running(&self, now: Instant) -> impl Iterator<Item = (Place, Duration)> {
        self.running.iter().map(move |(place, since)| (*place, now.saturating_duration_since(*since)))
    }

    /// An item needs processing.
    pub(crate) fn added(&mut self, place: Place, priority: i32, now: Instant) {
        if self.has_metrics {
            if self.dirty.len() <= place.index() {
                self.dirty.resize(place.index() + 1, None);
            }
            self.dirty[place.index()] = Some(now);
            self.facts.push(Fact::Added { priority });
        }
    }

    /// An item was handed out.
    pub(crate) fn began(&mut self, place: Place, priority: i32, now: Instant) {
        let added = self.dirty.get_mut(place.index()).and_then(Option::take);
        let waited = added.map_or(Duration::ZERO, |added| now.saturating_duration_since(added));
        self.note(Fact::Taken { priority, waited });
        self.running.push((place, now));
    }

    /// An item is done.
    pub(crate) fn ended(&mut self, place: Place, now: Instant) {
        if let Some(at) = self.running.iter().position(|(running, _)| *running == place) {
            let (_, since) = self.running.swap_remove(at);
            self.note(Fact::Done { worked: now.saturating_duration_since(since) });
        }
    }

    /// No item has a place any more.
    pub(crate) fn forget_places(&mut self) {
        self.dirty = Vec::new();
    }

    pub(crate) fn take_facts(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }

    /// For how long what is processed has been so: all together, and the longest.
    pub(crate) fn unfinished(&self, now: Instant) -> (Duration, Duration) {
        let times = self.running(now).map(|(_, time)| time);
        times.fold(Default::default(), |(sum, longest), time| (sum + time, time.max(longest)))
    }
}

impl Fact {
    pub(crate) fn tell(self, metrics: &dyn Metrics, queue: &str) {
        match self {
            Self::Added { priority } => metrics.added(queue, priority),
            Self::Taken { priority, waited } => metrics.taken(queue, priority, waited),
            Self::Raised { from, to } => metrics.raised(queue, from, to),
            Self::Done { worked } => metrics.done(queue, worked),
            Self::Retried => metrics.retried(queue),
        }
    }
}
