//! Random operations in virtual time, against a model too simple to be wrong.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use lariat_workqueue::{
    ByFailures, ItemExponentialFailure, PendingDelay, Processing, Queue, QueueBuilder, RateLimiter,
};
use tokio::time::Instant;

use crate::support::{Call, Random};

const ITEMS: u64 = 6;
const STEPS: u64 = 3000;

/// The queue as the facts describe it. Times are nanoseconds since the beginning.
#[derive(Default)]
struct Model {
    now: u64,
    queued: Vec<u64>,
    dirty: BTreeSet<u64>,
    processing: BTreeSet<u64>,
    delayed: BTreeMap<u64, u64>,
    charged: BTreeSet<u64>,
    failures: BTreeMap<u64, u32>,
    consume: bool,
    charge_duplicates: bool,
    /// How often the limiter was asked, if it is one for which the queue counts failures.
    asked: Option<u64>,
    shut_down: bool,
}

impl Model {
    fn add(&mut self, item: u64) {
        if self.shut_down {
            return;
        }
        if self.consume {
            self.delayed.remove(&item);
            self.charged.remove(&item);
        }
        self.make_dirty(item);
    }

    fn make_dirty(&mut self, item: u64) {
        if self.dirty.insert(item) && !self.processing.contains(&item) {
            self.queued.push(item);
        }
    }

    fn add_after(&mut self, item: u64, delay: u64) {
        if self.shut_down {
            return;
        }
        if delay == 0 {
            return self.add(item);
        }
        let at = self.now + delay;
        self.delayed.entry(item).and_modify(|known| *known = at.min(*known)).or_insert(at);
    }

    fn add_rate_limited(&mut self, item: u64) {
        if self.shut_down || (!self.charge_duplicates && self.charged.contains(&item)) {
            return;
        }
        let failures = self.failures.entry(item).or_default();
        *failures += 1;
        let delay = (1_000_000 << (*failures - 1).min(20)).min(500_000_000);
        let apart = match &mut self.asked {
            None => item,
            Some(asked) => {
                *asked += 1;
                2 * *asked + 1
            }
        };
        self.add_after(item, delay + apart);
        self.charged.insert(item);
    }

    fn advance(&mut self, by: u64) {
        self.now += by;
        let mut due: Vec<(u64, u64)> =
            self.delayed.iter().map(|(&item, &at)| (at, item)).filter(|&(at, _)| at <= self.now).collect();
        due.sort_unstable();
        for (_, item) in due {
            self.delayed.remove(&item);
            self.charged.remove(&item);
            self.make_dirty(item);
        }
    }

    fn take(&mut self) -> Option<u64> {
        if self.queued.is_empty() {
            return None;
        }
        let item = self.queued.remove(0);
        self.dirty.remove(&item);
        self.processing.insert(item);
        Some(item)
    }

    fn done(&mut self, item: u64) {
        self.processing.remove(&item);
        if self.dirty.contains(&item) {
            self.queued.push(item);
        }
    }

    fn shut_down(&mut self) {
        self.shut_down = true;
        self.delayed.clear();
        self.charged.clear();
    }
}

/// Exponential delays that differ between items in their nanoseconds.
struct Apart(ItemExponentialFailure<u64>);

impl RateLimiter<u64> for Apart {
    fn when(&self, item: &u64) -> Duration {
        self.0.when(item) + Duration::from_nanos(*item)
    }

    fn forget(&self, item: &u64) {
        self.0.forget(item);
    }

    fn num_requeues(&self, item: &u64) -> u32 {
        self.0.num_requeues(item)
    }
}

/// Exponential delays that differ each time in their nanoseconds.
struct Counted {
    limiter: ItemExponentialFailure<u64>,
    asked: AtomicU64,
}

impl ByFailures<u64> for Counted {
    fn delay(&self, failures: u32, now: Instant) -> Duration {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.limiter.delay(failures, now) + Duration::from_nanos(2 * asked + 1)
    }

    fn at_least(&self) -> Duration {
        ByFailures::at_least(&self.limiter)
    }
}

impl RateLimiter<u64> for Counted {
    fn when(&self, item: &u64) -> Duration {
        unreachable!("{item} is counted by the queue")
    }

    fn forget(&self, item: &u64) {
        unreachable!("{item} is counted by the queue")
    }

    fn num_requeues(&self, item: &u64) -> u32 {
        unreachable!("{item} is counted by the queue")
    }

    fn by_failures(&self) -> Option<&dyn ByFailures<u64>> {
        Some(self)
    }
}

fn with_limiter(counted: bool) -> QueueBuilder<u64> {
    let limiter = ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_millis(500));
    match counted {
        true => Queue::builder().rate_limiter(Counted { limiter, asked: AtomicU64::new(0) }),
        false => Queue::builder().rate_limiter(Apart(limiter)),
    }
}

struct Run {
    random: Random,
    model: Model,
    queue: Queue<u64>,
    held: Vec<Processing<u64>>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let (consume, charge_duplicates) = (seed & 1 == 0, seed & 2 == 0);
        let counted = seed & 8 == 0;
        let queue = with_limiter(counted)
            .pending_delay(if consume { PendingDelay::Consume } else { PendingDelay::Keep })
            .charge_duplicates(charge_duplicates)
            .build();
        if seed & 4 == 0 {
            // So many others that an addition need not be entered at once. They never come.
            (0..10_000).for_each(|other| queue.add_after(ITEMS + other, Duration::from_secs(1 << 30)));
        }
        let asked = counted.then_some(0);
        let model = Model { consume, charge_duplicates, asked, ..Model::default() };
        Self { random: Random(seed), model, queue, held: Vec::new() }
    }

    /// One random operation other than `get`. Delays differ in their nanoseconds, so that no two end together.
    async fn operate(&mut self, step: u64) {
        let item = self.random.below(ITEMS);
        match self.random.below(100) {
            0..20 => {
                self.queue.add(item);
                self.model.add(item);
            }
            20..45 => {
                let delay = [0, 1, 5, 10, 10, 50, 3000][self.random.below(7) as usize] * 1_000_000;
                let delay = if delay == 0 { 0 } else { delay + 16 * (step + 1) };
                self.queue.add_after(item, Duration::from_nanos(delay));
                self.model.add_after(item, delay);
            }
            45..55 => {
                self.queue.add_rate_limited(item);
                self.model.add_rate_limited(item);
            }
            55..60 => {
                self.queue.forget(&item);
                self.model.failures.remove(&item);
                self.model.charged.remove(&item);
            }
            60..75 => self.advance().await,
            _ if self.held.is_empty() => {}
            _ => {
                let at = self.random.below(self.held.len() as u64) as usize;
                let done = self.held.swap_remove(at);
                self.model.done(*done);
            }
        }
    }

    async fn advance(&mut self) {
        // To the whole millisecond, which is the grain of tokio's timers.
        let by = [1, 2, 10, 60, 700][self.random.below(5) as usize] * 1_000_000;
        tokio::time::advance(Duration::from_nanos(by)).await;
        self.model.advance(by);
    }
}

#[tokio::test(start_paused = true)]
async fn the_queue_does_what_the_model_does() {
    for seed in 0..16 {
        let mut run = Run::new(seed);
        for step in 0..STEPS {
            if step == STEPS - 100 {
                run.queue.shut_down();
                run.model.shut_down();
            }
            run.operate(step).await;
            if run.random.below(3) == 0 {
                let queue = run.queue.clone();
                let answer = Call::new(async move { queue.get().await }).poll();
                let got = match answer {
                    Poll::Ready(got) => got,
                    Poll::Pending => {
                        assert!(!run.model.shut_down, "seed {seed}, step {step}");
                        None
                    }
                };
                assert_eq!(got.as_deref().copied(), run.model.take(), "seed {seed}, step {step}");
                run.held.extend(got);
            }
            if run.random.below(4) > 0 {
                // To ask is to interfere.
                continue;
            }
            assert_eq!(run.queue.len(), run.model.queued.len(), "seed {seed}, step {step}");
            for item in 0..ITEMS {
                let failures = run.model.failures.get(&item).copied().unwrap_or(0);
                assert_eq!(run.queue.num_requeues(&item), failures, "seed {seed}, step {step}");
            }
        }
    }
}

/// Calls of `get` come, wait, and are cancelled at any moment. Those that are woken are polled, and nobody else is;
/// nothing asks the queue anything. Even so an item must never lie in the queue while somebody waits.
#[tokio::test(start_paused = true)]
async fn no_wake_up_is_lost() {
    for seed in 0..16 {
        let mut run = Run::new(seed);
        let mut calls: Vec<Call<Option<Processing<u64>>>> = Vec::new();
        for step in 0..STEPS {
            run.operate(step).await;
            match run.random.below(10) {
                0..4 if calls.len() < 5 => {
                    let queue = run.queue.clone();
                    let mut call = Call::new(async move { queue.get().await });
                    match call.poll() {
                        Poll::Pending => calls.push(call),
                        Poll::Ready(got) => {
                            assert_eq!(got.as_deref().copied(), run.model.take(), "seed {seed}, step {step}");
                            run.held.extend(got);
                        }
                    }
                }
                // Woken or not, with the timer or without.
                4..6 if !calls.is_empty() => {
                    let at = run.random.below(calls.len() as u64) as usize;
                    drop(calls.swap_remove(at));
                }
                // Sometimes a woken call is polled late, after further operations.
                6 => continue,
                _ => {}
            }
            // Timers of tokio end in whole milliseconds, and the model's delays a few nanoseconds after one.
            run.advance_to_the_end_of_the_millisecond().await;
            while let Some(at) = calls.iter().position(Call::is_woken) {
                if let Poll::Ready(got) = calls[at].poll() {
                    drop(calls.remove(at));
                    assert_eq!(got.as_deref().copied(), run.model.take(), "seed {seed}, step {step}");
                    run.held.extend(got);
                }
                // A timer that is set in the past ends when the runtime is next idle.
                tokio::time::advance(Duration::ZERO).await;
            }
            assert!(
                calls.is_empty() || run.model.queued.is_empty(),
                "seed {seed}, step {step}: {:?} queued, {} calls wait",
                run.model.queued,
                calls.len()
            );
        }
    }
}

impl Run {
    async fn advance_to_the_end_of_the_millisecond(&mut self) {
        tokio::time::advance(Duration::from_millis(1)).await;
        self.model.advance(1_000_000);
    }
}
