//! The queue as a synchronous state machine: no lock, no waiting, no clock of its own.
//!
//! An item that the queue knows is in one or more of these states:
//!
//! * *dirty*: it needs processing. A dirty item that is not being processed is in `ready`, exactly once.
//! * *processing*: it was handed out and is not done.
//! * *delayed*: it becomes dirty at some instant.
//! * *failing*: it failed and was not forgotten since. Only where the limiter lets the queue count failures.
//!
//! Delays are promoted lazily. While anything is delayed, every operation looks at the clock and first moves what is due into
//! the queue, so the state is at any moment what it would be if a timer had moved each entry at its instant. While nothing is,
//! nobody looks at the clock.
//!
//! While there are very many items, an addition need not be entered at once. It stays pending until something else is asked for, or
//! there are enough of them: entered together, they wait for memory together. Nobody can tell the difference.
//!
//! An item is kept once, in a slot. Everything else knows it by the slot's number, so that an item is hashed when it is added
//! and never again: not when it is handed out, and not when it is done.
//!
//! Invariants:
//!
//! * An item is in `ready` if and only if it is dirty and not processing. Hence it is never with two workers.
//! * An item has at most one delay.
//! * An item without any state has no slot.
//! * Nothing is delayed once the queue is shutting down, and nothing becomes dirty from outside.

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::FixedState;
use tokio::time::Instant;

use crate::delays::{Delays, Time};
use crate::index::Index;
use crate::limits::{LONGEST_DELAY, MOST_PENDING, is_sparse};
use crate::metrics::{Fact, Notes};
use crate::ready::Ready;
use crate::slots::{Entry, Place, Slot, Slots};
use crate::sync::Arc;
use crate::{ByFailures, PendingDelay, RateLimiter};

pub(crate) struct State<T> {
    /// The slots of items that are dirty and not processing.
    ready: Ready,
    slots: Slots<T>,
    /// Slots without an item.
    free: Vec<Place>,
    index: Index,
    /// What was added and is not yet in a slot.
    pending: VecDeque<Pending<T>>,
    /// When the first delay ends of those, at the earliest.
    pending_due: Option<Time>,
    delays: Delays,
    /// What delays are counted from: when the first of those that are pending was added.
    epoch: Option<Instant>,
    processing: usize,
    shutting_down: bool,
    policies: Policies<T>,
    /// Whether the limiter wants to know how often an item has failed, and leaves it to the queue to count.
    counts_failures: bool,
    /// None if nobody wants to know.
    notes: Option<Notes>,
}

/// What the builder was told.
pub(crate) struct Policies<T> {
    pub(crate) limiter: Arc<dyn RateLimiter<T>>,
    pub(crate) pending_delay: PendingDelay,
    pub(crate) charge_duplicates: bool,
}

/// The hash of an item. Computed by the caller, so that it costs no time under a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hashed(u32);

/// Why an item is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Asked,
    RateLimited,
}

/// The time, looked at when it is needed and then for a whole operation.
#[derive(Debug, Default)]
pub(crate) struct Now(Cell<Option<Instant>>);

/// An item that was handed out.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) place: Place,
    pub(crate) item: T,
    pub(crate) priority: i32,
}

/// An addition that nobody has asked for yet.
#[derive(Debug)]
struct Pending<T> {
    item: T,
    hash: Hashed,
    priority: i32,
    when: When,
}

/// When an item is to be queued.
#[derive(Debug)]
enum When {
    Now,
    At(Time),
    /// When the limiter says, which is to be told that the item failed then.
    Limited(Time),
}

impl<T: Hash + Eq + Clone> State<T> {
    pub(crate) fn new(policies: Policies<T>, notes: Option<Notes>) -> Self {
        let counts_failures = policies.by_failures().is_some_and(|limiter| limiter.counts());
        Self {
            ready: Ready::default(),
            slots: Slots::default(),
            free: Vec::new(),
            index: Index::default(),
            pending: VecDeque::new(),
            pending_due: None,
            delays: Delays::new(),
            epoch: None,
            processing: 0,
            shutting_down: false,
            policies,
            counts_failures,
            notes,
        }
    }

    pub(crate) fn add(&mut self, item: T, hash: Hashed, priority: i32, now: &Now) {
        self.promote(now);
        if self.shutting_down {
            return;
        }
        if self.can_wait() {
            return self.enter_later(Pending { item, hash, priority, when: When::Now }, None);
        }
        self.enter(item, hash, priority, now);
    }

    fn enter(&mut self, item: T, hash: Hashed, priority: i32, now: &Now) {
        let place = self.place(item, hash);
        self.enter_now(place, priority, now);
    }

    fn enter_now(&mut self, place: Place, priority: i32, now: &Now) {
        let entry = self.slots.entry(place);
        entry.prioritize(priority);
        if entry.delay.is_pending() && self.policies.pending_delay == PendingDelay::Consume {
            entry.charged = false;
            self.delays.remove(place, &mut self.slots);
        }
        if self.slots.entry(place).dirty {
            self.raise(place);
        } else {
            self.mark_dirty(place, now);
        }
    }

    pub(crate) fn add_after(
        &mut self,
        item: T,
        hash: Hashed,
        delay: Duration,
        priority: i32,
        cause: Cause,
        now: &Now,
    ) {
        if let Some(notes) = self.notes.as_mut().filter(|_| !self.shutting_down) {
            notes.note(Fact::Retried);
        }
        if delay.is_zero() {
            return self.add(item, hash, priority, now);
        }
        self.promote(now);
        if self.shutting_down {
            return;
        }
        let at = self.time_after(now.instant(), delay);
        if self.can_wait() && cause == Cause::Asked {
            return self.enter_later(Pending { item, hash, priority, when: When::At(at) }, Some(at));
        }
        self.enter_pending();
        let place = self.place(item, hash);
        self.enter_at(at, place, priority, cause);
    }

    fn enter_at(&mut self, at: Time, place: Place, priority: i32, cause: Cause) {
        let entry = self.slots.entry(place);
        entry.prioritize(priority);
        entry.charged |= cause == Cause::RateLimited;
        if entry.delay.is_pending() {
            self.delays.hasten(at, place, &mut self.slots);
        } else {
            self.delays.insert(at, place, &mut self.slots);
        }
        self.raise(place);
    }

    /// Adds an item that has failed when the limiter says, which is asked unless that was done for a delay that is pending.
    ///
    /// Not for a limiter that counts failures itself.
    pub(crate) fn add_failed(
        &mut self,
        item: T,
        hash: Hashed,
        priority: i32,
        most: Option<Duration>,
        now: &Now,
    ) {
        self.promote(now);
        if self.shutting_down {
            return;
        }
        let now = now.instant();
        if self.can_wait() && most.is_none() {
            let at_least = self.policies.by_failures().map(|limiter| limiter.at_least());
            let due = self.time_after(now, at_least.unwrap_or_default());
            let when = When::Limited(self.time(now));
            return self.enter_later(Pending { item, hash, priority, when }, Some(due));
        }
        self.enter_pending();
        self.enter_failed(now, item, hash, priority, most);
    }

    fn enter_failed(&mut self, now: Instant, item: T, hash: Hashed, priority: i32, most: Option<Duration>) {
        let place = self.place(item, hash);
        let Self { slots, policies, counts_failures, notes, .. } = self;
        let entry = slots.entry(place);
        if entry.charged && !policies.charge_duplicates {
            return;
        }
        let failures = entry.failures;
        entry.failures = if *counts_failures { failures.saturating_add(1) } else { 0 };
        let delay = policies.by_failures().map(|limiter| limiter.delay(failures, now));
        let delay = delay.unwrap_or_default().min(most.unwrap_or(Duration::MAX));
        if let Some(notes) = notes {
            notes.note(Fact::Retried);
        }
        if delay.is_zero() {
            return self.enter_now(place, priority, &Now::at(now));
        }
        let at = self.time_after(now, delay);
        self.enter_at(at, place, priority, Cause::RateLimited);
    }

    /// How often an item has failed, if it is the queue that counts.
    pub(crate) fn failures(&mut self, item: &T, hash: Hashed) -> u32 {
        self.enter_pending();
        self.find(item, hash).map_or(0, |place| self.slots.entry(place).failures)
    }

    /// Whether a rate limiter was asked for a delay that is pending.
    pub(crate) fn is_charged(&mut self, item: &T, hash: Hashed, now: &Now) -> bool {
        self.catch_up(now);
        self.find(item, hash).is_some_and(|place| self.slots.entry(place).charged)
    }

    /// Forgets that an item has failed, so that the limiter may be asked again. Returns the item if nobody else needs it, to be
    /// dropped without the lock.
    pub(crate) fn forget(&mut self, item: &T, hash: Hashed) -> Option<T> {
        self.enter_pending();
        let place = self.find(item, hash)?;
        let entry = self.slots.entry(place);
        entry.charged = false;
        entry.failures = 0;
        self.forget_if_idle(place)
    }

    /// Hands out the first item, which is then being processed.
    pub(crate) fn take(&mut self, now: &Now) -> Option<Taken<T>> {
        self.catch_up(now);
        let Self { ready, slots, .. } = self;
        let place = ready.pop(|place| slots[place].entry.ticket)?;
        let Slot { item, entry } = &mut slots[place];
        debug_assert!(entry.dirty && !entry.processing, "a queued item is dirty and with no worker");
        debug_assert!(item.is_some(), "a queued item has a slot");
        let item = item.clone();
        entry.dirty = false;
        entry.processing = true;
        entry.ticket = None;
        self.processing += 1;
        let priority = entry.priority;
        if let Some(notes) = &mut self.notes {
            notes.began(place, priority, now.instant());
        }
        item.map(|item| Taken { place, item, priority })
    }

    /// Takes back an item that was handed out. Returns it if nobody else needs it, to be dropped without the lock.
    pub(crate) fn done(&mut self, place: Place, now: &Now) -> Option<T> {
        self.catch_up(now);
        self.processing -= 1;
        let entry = self.slots.entry(place);
        debug_assert!(entry.processing, "an item is done once");
        entry.processing = false;
        let dirty = entry.dirty;
        if let Some(notes) = &mut self.notes {
            notes.ended(place, now.instant());
        }
        if dirty {
            self.queue(place);
            return None;
        }
        self.forget_if_idle(place)
    }

    /// Lets nothing in any more and forgets what is delayed. Returns what was, to be dropped without the lock.
    pub(crate) fn shut_down(&mut self, now: &Now) -> Vec<T> {
        self.catch_up(now);
        self.shutting_down = true;
        let delayed = self.delays.drain(&mut self.slots);
        let dropped = delayed.into_iter().filter_map(|place| {
            self.slots.entry(place).charged = false;
            self.forget_if_idle(place)
        });
        dropped.collect()
    }

    pub(crate) fn len(&mut self, now: &Now) -> usize {
        self.catch_up(now);
        self.ready.len()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// How many items are queued.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Whether nothing is queued and nothing is processed.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.processing == 0
    }

    /// When the first delay ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.delays.earliest().map(|at| self.instant(at))
    }

    /// How many items are queued, processed and delayed.
    pub(crate) fn sizes(&mut self) -> (usize, usize, usize) {
        self.enter_pending();
        (self.ready.len(), self.processing, self.delays.len())
    }

    /// What is to be told.
    pub(crate) fn take_facts(&mut self) -> Vec<Fact> {
        self.notes.as_mut().map(Notes::take_facts).unwrap_or_default()
    }

    /// For how long what is processed has been so: all together, and the longest. Zero if nobody is to be told.
    pub(crate) fn unfinished(&self, now: &Now) -> (Duration, Duration) {
        self.notes.as_ref().map(|notes| notes.unfinished(now.instant())).unwrap_or_default()
    }

    /// What has been processed for at least so long, longest first.
    pub(crate) fn running_for(&self, least: Duration, now: &Now) -> Vec<(T, Duration)> {
        let Some(notes) = &self.notes else { return Vec::new() };
        let long = notes.running(now.instant()).filter(|(_, time)| *time >= least);
        let item = |(place, time): (Place, Duration)| Some((self.slots[place].item.clone()?, time));
        let mut running: Vec<_> = long.filter_map(item).collect();
        running.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        running
    }

    /// Whether an addition may stay pending. It may if an index that is too large for the nearest cache makes it worth while.
    fn can_wait(&self) -> bool {
        self.index.is_large() && self.notes.is_none()
    }

    /// `due`: when it may be the first one to be due.
    fn enter_later(&mut self, pending: Pending<T>, due: Option<Time>) {
        self.pending_due = self.pending_due.into_iter().chain(due).min();
        self.pending.push_back(pending);
        if self.pending.len() == MOST_PENDING {
            self.enter_pending();
        }
    }

    /// Enters what was added. Whatever asks for more than additions do has to call this first.
    #[inline]
    pub(crate) fn enter_pending(&mut self) {
        if !self.pending.is_empty() {
            self.enter_all_pending();
        }
    }

    fn enter_all_pending(&mut self) {
        self.index.fetch(self.pending.iter().map(|pending| pending.hash));
        // One by one, so that what panics takes no other along.
        while let Some(Pending { item, hash, priority, when }) = self.pending.pop_front() {
            match when {
                When::Now => self.enter(item, hash, priority, &Now::default()),
                When::At(at) => {
                    let place = self.place(item, hash);
                    self.enter_at(at, place, priority, Cause::Asked);
                }
                When::Limited(failed) => {
                    self.enter_failed(self.instant(failed), item, hash, priority, None);
                }
            }
        }
        // Not before: until then it says that there is an epoch.
        self.pending_due = None;
    }

    /// Makes the state what it would be if everything had been done in its time.
    fn catch_up(&mut self, now: &Now) {
        self.enter_pending();
        self.promote(now);
    }

    /// Moves what is due into the queue.
    fn promote(&mut self, now: &Now) {
        if !self.delays.is_empty() || self.pending_due.is_some() {
            self.promote_due(now);
        }
    }

    fn promote_due(&mut self, now: &Now) {
        let until = self.time(now.instant());
        if self.delays.earliest().into_iter().chain(self.pending_due).all(|due| due > until) {
            return;
        }
        // Those that were added before.
        self.enter_pending();
        while let Some(place) = self.delays.pop_due(until, &mut self.slots) {
            let entry = self.slots.entry(place);
            entry.charged = false;
            if !entry.dirty {
                self.mark_dirty(place, now);
            }
        }
    }

    fn time(&self, instant: Instant) -> Time {
        let since = self.epoch.map(|epoch| instant.saturating_duration_since(epoch)).unwrap_or_default();
        Time::from_nanos(since.as_secs().saturating_mul(1_000_000_000) + u64::from(since.subsec_nanos()))
    }

    /// Of a time that there is, so that there is an epoch.
    fn instant(&self, at: Time) -> Instant {
        let since = Duration::from_nanos(at.nanos());
        self.epoch.map_or_else(Instant::now, |epoch| epoch + since)
    }

    /// When a delay ends that begins now.
    fn time_after(&mut self, now: Instant, delay: Duration) -> Time {
        if self.delays.is_empty() && self.pending_due.is_none() {
            self.epoch = Some(now);
        }
        // A clock that is read outside the lock may be behind the epoch; then the delay ends as much later.
        let delay = delay.min(LONGEST_DELAY);
        let nanos = delay.as_secs() * 1_000_000_000 + u64::from(delay.subsec_nanos());
        Time::from_nanos(self.time(now).nanos().saturating_add(nanos))
    }

    /// An item that is not dirty needs processing: at once, or when its worker is done.
    fn mark_dirty(&mut self, place: Place, now: &Now) {
        let entry = self.slots.entry(place);
        entry.dirty = true;
        let processing = entry.processing;
        if let Some(notes) = &mut self.notes {
            notes.added(place, entry.priority, now.instant());
        }
        if !processing {
            self.queue(place);
        }
    }

    fn queue(&mut self, place: Place) {
        let entry = self.slots.entry(place);
        entry.ticket = Some(self.ready.push(place, entry.priority));
        entry.queued_in = entry.priority;
    }

    /// Lets an item that is queued have a higher priority, if it has one now.
    fn raise(&mut self, place: Place) {
        let Self { ready, slots, notes, .. } = self;
        let Entry { priority, queued_in, ticket, .. } = slots[place].entry;
        if ticket.is_none() || priority <= queued_in {
            return;
        }
        if let Some(notes) = notes {
            notes.note(Fact::Raised { from: queued_in, to: priority });
        }
        let ticket = ready.raise(place, priority, |place| slots[place].entry.ticket);
        let entry = slots.entry(place);
        entry.ticket = Some(ticket);
        entry.queued_in = priority;
    }

    fn find(&self, item: &T, hash: Hashed) -> Option<Place> {
        self.index.find(hash, |place| self.slots.holds(place, item)).ok()
    }

    /// The slot of an item, which may be a new one.
    fn place(&mut self, item: T, hash: Hashed) -> Place {
        let Self { slots, free, index, .. } = self;
        let vacant = match index.find(hash, |place| slots.holds(place, &item)) {
            Ok(place) => return place,
            Err(vacant) => vacant,
        };
        let place = match free.pop() {
            Some(place) => {
                slots[place] = Slot { item: Some(item), entry: Entry::new(hash) };
                place
            }
            None => slots.push(Slot { item: Some(item), entry: Entry::new(hash) }),
        };
        let current = slots.len() - free.len();
        index.insert(vacant, place, current, |place| slots.hash(place));
        place
    }

    /// Frees the slot of an item that has no state any more, and returns the item.
    fn forget_if_idle(&mut self, place: Place) -> Option<T> {
        let Slot { item, entry } = &mut self.slots[place];
        if !entry.is_idle() {
            return None;
        }
        let item = item.take();
        self.free.push(place);
        if self.free.len() == self.slots.len() && is_sparse(0, self.slots.capacity()) {
            // Slots are known by their numbers, so only when there are none can they move.
            (self.slots, self.free, self.index) = (Slots::default(), Vec::new(), Index::default());
            if let Some(notes) = &mut self.notes {
                notes.forget_places();
            }
        }
        item
    }
}

// === impl Policies ===

impl<T> Policies<T> {
    /// The limiter, if it lets the queue count failures.
    pub(crate) fn by_failures(&self) -> Option<&dyn ByFailures<T>> {
        // Not what an `Arc` says of itself.
        (*self.limiter).by_failures()
    }
}

// === impl Hashed ===

impl Hashed {
    pub(crate) const ZERO: Self = Self(0);

    pub(crate) fn of<T: Hash>(item: &T) -> Self {
        let hash = FixedState::default().hash_one(item);
        Self((hash ^ (hash >> 32)) as u32)
    }

    pub(crate) fn bits(self) -> usize {
        self.0 as usize
    }
}

// === impl Now ===

impl Now {
    pub(crate) fn at(instant: Instant) -> Self {
        Self(Cell::new(Some(instant)))
    }

    pub(crate) fn instant(&self) -> Instant {
        self.0.get().unwrap_or_else(|| {
            let now = Instant::now();
            self.0.set(Some(now));
            now
        })
    }
}

#[cfg(test)]
mod tests;
