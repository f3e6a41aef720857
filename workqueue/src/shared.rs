//! What all handles of one queue share: the state under its lock, those who wait, and the rate limiter.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::{Metrics, Notes};
use crate::state::{Cause, Hashed, Now, Policies, State, Taken};
use crate::sync::{Arc, Mutex, MutexGuard};
use crate::waiters::{WaiterId, Waiters, Wakes};
use crate::{NotDrained, RateLimiter};

pub(crate) struct Shared<T: Hash + Eq + Clone> {
    pub(crate) name: Option<Box<str>>,
    limiter: Arc<dyn RateLimiter<T>>,
    charge_duplicates: bool,
    /// Whether the limiter leaves it to the queue what it has to know of an item.
    is_by_failures: bool,
    pub(crate) time_limit: Option<Duration>,
    metrics: Option<Arc<dyn Metrics>>,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    state: State<T>,
    waiters: Waiters,
    /// Those who are woken when the operation has ended.
    wakes: Wakes,
    drains: Drains,
}

/// Those who wait for the queue to be drained.
#[derive(Default)]
struct Drains {
    next: u64,
    waiting: BTreeMap<u64, Waker>,
    /// How often `shut_down` was called. A drain that began before the last call is released.
    releases: u64,
}

/// The outcome of an attempt to get something that may have to be waited for.
pub(crate) enum Attempt<R> {
    Done(R),
    /// Wait to be woken, and at most until this instant.
    Wait(Option<Instant>),
}

impl<T: Hash + Eq + Clone> Shared<T> {
    pub(crate) fn new(
        policies: Policies<T>,
        notes: Option<Notes>,
        name: Option<Box<str>>,
        metrics: Option<Arc<dyn Metrics>>,
    ) -> Self {
        let Policies { limiter, charge_duplicates, .. } = &policies;
        let (limiter, charge_duplicates) = (Arc::clone(limiter), *charge_duplicates);
        let is_by_failures = policies.by_failures().is_some();
        let state = State::new(policies, notes);
        let inner =
            Inner { state, waiters: Waiters::default(), wakes: Wakes::default(), drains: Drains::default() };
        let inner = Mutex::new(inner);
        Self { name, limiter, charge_duplicates, is_by_failures, time_limit: None, metrics, inner }
    }

    /// Runs one operation on the state and wakes whom its outcome concerns.
    pub(crate) fn operate<R>(&self, operation: impl FnOnce(&mut State<T>, &Now) -> R) -> R {
        self.session(|inner| operation(&mut inner.state, &Now::default()))
    }

    pub(crate) fn add(&self, item: T, priority: i32) {
        let hash = Hashed::of(&item);
        self.operate(|state, now| state.add(item, hash, priority, now));
    }

    pub(crate) fn add_after(&self, item: T, delay: Duration, priority: i32) {
        let hash = Hashed::of(&item);
        self.operate(|state, now| state.add_after(item, hash, delay, priority, Cause::Asked, now));
    }

    pub(crate) fn add_rate_limited(&self, item: T, priority: i32, most: Option<Duration>) {
        let hash = Hashed::of(&item);
        if self.is_by_failures {
            return self.operate(|state, now| state.add_failed(item, hash, priority, most, now));
        }
        self.operate(|state, now| {
            if state.is_shutting_down() || (!self.charge_duplicates && state.is_charged(&item, hash, now)) {
                return;
            }
            // Under the lock, so that no two callers can both find the item uncharged.
            let delay = self.limiter.when_at(&item, now.instant());
            let delay = most.map_or(delay, |most| delay.min(most));
            state.add_after(item, hash, delay, priority, Cause::RateLimited, now);
        });
    }

    pub(crate) fn forget(&self, item: &T) {
        // Then nobody asks whether a pending delay was charged for, and the lock can be spared.
        if self.charge_duplicates && !self.is_by_failures {
            return self.limiter.forget(item);
        }
        let hash = Hashed::of(item);
        let _item = self.operate(|state, _| {
            if !self.is_by_failures {
                self.limiter.forget(item);
            }
            state.forget(item, hash)
        });
    }

    pub(crate) fn num_requeues(&self, item: &T) -> u32 {
        if !self.is_by_failures {
            return self.limiter.num_requeues(item);
        }
        let hash = Hashed::of(item);
        self.operate(|state, _| state.failures(item, hash))
    }

    pub(crate) fn shut_down(&self) {
        let _dropped = self.session(|inner| {
            inner.drains.releases += 1;
            inner.wake_drains();
            inner.state.shut_down(&Now::default())
        });
    }

    /// Closes the intake. The return value is to be given to [`Drainer::new`].
    pub(crate) fn begin_drain(&self) -> u64 {
        let (releases, _dropped) =
            self.session(|inner| (inner.drains.releases, inner.state.shut_down(&Now::default())));
        releases
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.inner.lock().state.is_shutting_down()
    }

    /// How many items are queued, processing and delayed, without moving what is due.
    pub(crate) fn unfinished(&self) -> (Duration, Duration) {
        self.inner.lock().state.unfinished(&Now::default())
    }

    pub(crate) fn running_for(&self, least: Duration) -> Vec<(T, Duration)> {
        self.inner.lock().state.running_for(least, &Now::default())
    }

    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        self.inner.lock().state.sizes()
    }

    /// Runs one operation under the lock. However it ends, even in a panic of a rate limiter, the invariants of those who wait
    /// are restored, then the lock is released, then they are woken.
    #[inline]
    fn session<R>(&self, operation: impl FnOnce(&mut Inner<T>) -> R) -> R {
        let unless_panicking = EndSession(self);
        let mut inner = self.inner.lock();
        let result = operation(&mut inner);
        std::mem::forget(unless_panicking);
        if self.metrics.is_some() || !inner.is_quiet() {
            self.end_session(inner);
        }
        result
    }

    #[inline(never)]
    fn end_session(&self, mut inner: MutexGuard<'_, Inner<T>>) {
        inner.settle();
        let wakes = std::mem::take(&mut inner.wakes);
        let facts = if self.metrics.is_some() { inner.state.take_facts() } else { Vec::new() };
        drop(inner);
        drop(wakes);
        if let Some(metrics) = &self.metrics {
            let queue = self.name.as_deref().unwrap_or_default();
            facts.into_iter().for_each(|fact| fact.tell(&**metrics, queue));
        }
    }
}

/// Ends a session whose operation has panicked.
struct EndSession<'a, T: Hash + Eq + Clone>(&'a Shared<T>);

impl<T: Hash + Eq + Clone> Drop for EndSession<'_, T> {
    fn drop(&mut self) {
        self.0.end_session(self.0.inner.lock());
    }
}

impl<T: Hash + Eq + Clone> Inner<T> {
    /// Whether nobody has to be woken, whatever was done to the state.
    fn is_quiet(&self) -> bool {
        self.waiters.is_empty() && self.wakes.is_empty() && !self.state.is_shutting_down()
    }

    /// Restores the invariants of those who wait.
    fn settle(&mut self) {
        let Self { state, waiters, wakes, .. } = self;
        state.enter_pending();
        waiters.settle(state.ready(), state.deadline(), wakes);
        if state.is_shutting_down() {
            waiters.dismiss(wakes);
            if state.is_idle() {
                self.wake_drains();
            }
        }
    }

    fn wake_drains(&mut self) {
        self.wakes.extend(std::mem::take(&mut self.drains.waiting).into_values());
    }
}

// === impl Getter ===

/// One call of `get`. Dropping it withdraws the call: a wake-up or a timer that it held goes to another.
pub(crate) struct Getter<'a, T: Hash + Eq + Clone> {
    shared: &'a Shared<T>,
    id: Option<WaiterId>,
}

impl<'a, T: Hash + Eq + Clone> Getter<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>) -> Self {
        Self { shared, id: None }
    }

    /// Takes the next item, or `None` if there will be none, or else registers the waker.
    #[inline]
    pub(crate) fn attempt(&mut self, waker: &Waker) -> Attempt<Option<Taken<T>>> {
        let id = &mut self.id;
        self.shared.session(|Inner { state, waiters, wakes, .. }| {
            let item = state.take(&Now::default());
            if item.is_none() && !state.is_shutting_down() {
                return Attempt::Wait(waiters.wait(id, waker, state.deadline(), wakes));
            }
            if let Some(id) = id.take() {
                waiters.leave(id, wakes);
            }
            Attempt::Done(item)
        })
    }

    /// As [`attempt`](Self::attempt), for up to so many items; none if there will be none.
    pub(crate) fn attempt_batch(&mut self, waker: &Waker, most: usize) -> Attempt<Vec<Taken<T>>> {
        let id = &mut self.id;
        self.shared.session(|Inner { state, waiters, wakes, .. }| {
            let now = Now::default();
            let mut batch = Vec::new();
            while batch.len() < most
                && let Some(taken) = state.take(&now)
            {
                if batch.is_empty() {
                    batch.reserve(most.min(state.ready() + 1));
                }
                batch.push(taken);
            }
            if batch.is_empty() && !state.is_shutting_down() {
                return Attempt::Wait(waiters.wait(id, waker, state.deadline(), wakes));
            }
            if let Some(id) = id.take() {
                waiters.leave(id, wakes);
            }
            Attempt::Done(batch)
        })
    }
}

impl<T: Hash + Eq + Clone> Drop for Getter<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.shared.session(|inner| inner.waiters.leave(id, &mut inner.wakes));
        }
    }
}

// === impl Drainer ===

/// One wait for the queue to be drained.
pub(crate) struct Drainer<'a, T: Hash + Eq + Clone> {
    shared: &'a Shared<T>,
    began: u64,
    id: Option<u64>,
}

impl<'a, T: Hash + Eq + Clone> Drainer<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>, began: u64) -> Self {
        Self { shared, began, id: None }
    }

    pub(crate) fn attempt(&mut self, waker: &Waker) -> Attempt<()> {
        let Self { shared, began, id } = self;
        shared.session(|Inner { state, drains, wakes, .. }| {
            if state.is_idle() || drains.releases != *began {
                return Attempt::Done(());
            }
            let id = *id.get_or_insert_with(|| {
                drains.next += 1;
                drains.next
            });
            if let Some(former) = drains.waiting.insert(id, waker.clone()) {
                wakes.discard(former);
            }
            Attempt::Wait(None)
        })
    }
}

impl<T: Hash + Eq + Clone> Drainer<'_, T> {
    /// As [`attempt`](Self::attempt), until some instant.
    pub(crate) fn attempt_until(
        &mut self,
        waker: &Waker,
        deadline: Instant,
    ) -> Attempt<Result<(), NotDrained>> {
        match self.attempt(waker) {
            Attempt::Done(()) => Attempt::Done(Ok(())),
            Attempt::Wait(_) if Instant::now() < deadline => Attempt::Wait(Some(deadline)),
            Attempt::Wait(_) => {
                let (queued, processing, _) = self.shared.sizes();
                Attempt::Done(Err(NotDrained { queued, processing }))
            }
        }
    }
}

impl<T: Hash + Eq + Clone> Drop for Drainer<'_, T> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.shared.session(|inner| {
                if let Some(waker) = inner.drains.waiting.remove(&id) {
                    inner.wakes.discard(waker);
                }
            });
        }
    }
}
