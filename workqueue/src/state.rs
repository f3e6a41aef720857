//! The queue as a synchronous state machine: no lock, no waiting, no clock of its own.
//!
//! An item that the queue knows is in one or more of these states:
//!
//! * *dirty*: it needs processing. A dirty item that is not being processed is in `ready`, exactly once.
//! * *processing*: it was handed out and is not done.
//! * *delayed*: it becomes dirty at some instant.
//!
//! Delays are promoted lazily. While anything is delayed, every operation looks at the clock and first moves what is due into
//! the queue, so the state is at any moment what it would be if a timer had moved each entry at its instant. While nothing is,
//! nobody looks at the clock.
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
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use tokio::time::Instant;

use crate::PendingDelay;
use crate::delays::{DelayId, Delays};
use crate::limits::{LONGEST_DELAY, is_sparse};
use crate::metrics::{Fact, Notes};
use crate::ready::{Ready, Ticket};

#[derive(Debug)]
pub(crate) struct State<T> {
    /// The slots of items that are dirty and not processing.
    ready: Ready,
    slots: Vec<Slot<T>>,
    /// Slots without an item.
    free: Vec<Place>,
    /// The slots by the hashes of their items.
    table: HashTable<Place>,
    hasher: FixedState,
    delays: Delays<Place>,
    processing: usize,
    shutting_down: bool,
    pending_delay: PendingDelay,
    /// None if nobody wants to know.
    notes: Option<Notes>,
}

/// The number of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

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

#[derive(Debug)]
struct Slot<T> {
    /// None if the slot is free.
    item: Option<T>,
    hash: u64,
    entry: Entry,
}

/// What is known about one item.
#[derive(Debug, Default)]
struct Entry {
    dirty: bool,
    processing: bool,
    delay: Option<DelayId>,
    /// Whether a rate limiter was asked for the pending delay.
    charged: bool,
    /// Of what is queued or delayed, or else of what is processed.
    priority: i32,
    /// Its entry in the queue, if it is there, and the priority in which it was queued.
    queued: Option<(Ticket, i32)>,
    /// When it became dirty, if somebody is to be told.
    added: Option<Instant>,
}

impl<T: Hash + Eq + Clone> State<T> {
    pub(crate) fn new(pending_delay: PendingDelay, notes: Option<Notes>) -> Self {
        Self {
            ready: Ready::default(),
            slots: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            hasher: FixedState::default(),
            delays: Delays::new(),
            processing: 0,
            shutting_down: false,
            pending_delay,
            notes,
        }
    }

    pub(crate) fn add(&mut self, item: T, priority: i32, now: &Now) {
        self.promote(now);
        if self.shutting_down {
            return;
        }
        let place = self.place(item);
        let entry = &mut self.slots[place.index()].entry;
        entry.prioritize(priority);
        if self.pending_delay == PendingDelay::Consume
            && let Some(id) = entry.take_delay()
        {
            self.delays.remove(id);
        }
        if !entry.dirty {
            self.mark_dirty(place, now);
        } else {
            self.raise(place);
        }
    }

    pub(crate) fn add_after(&mut self, item: T, delay: Duration, priority: i32, cause: Cause, now: &Now) {
        if let Some(notes) = self.notes.as_mut().filter(|_| !self.shutting_down) {
            notes.note(Fact::Retried);
        }
        if delay.is_zero() {
            return self.add(item, priority, now);
        }
        self.promote(now);
        if self.shutting_down {
            return;
        }
        let at = now.instant() + delay.min(LONGEST_DELAY);
        let place = self.place(item);
        let entry = &mut self.slots[place.index()].entry;
        entry.prioritize(priority);
        match entry.delay {
            Some(id) => self.delays.hasten(id, at),
            None => entry.delay = Some(self.delays.insert(at, place)),
        }
        entry.charged |= cause == Cause::RateLimited;
        self.raise(place);
    }

    /// Whether a rate limiter was asked for a delay that is pending.
    pub(crate) fn is_charged(&mut self, item: &T, now: &Now) -> bool {
        self.promote(now);
        self.find(item).is_some_and(|place| self.slots[place.index()].entry.charged)
    }

    /// The limiter has forgotten the item, so that it may be asked again.
    pub(crate) fn discharge(&mut self, item: &T) {
        if let Some(place) = self.find(item) {
            self.slots[place.index()].entry.charged = false;
        }
    }

    /// Hands out the first item, which is then being processed.
    pub(crate) fn take(&mut self, now: &Now) -> Option<Taken<T>> {
        self.promote(now);
        let Self { ready, slots, .. } = self;
        let place = ready.pop(|place| slots[place.index()].entry.ticket())?;
        let slot = &mut slots[place.index()];
        debug_assert!(
            slot.entry.dirty && !slot.entry.processing,
            "a queued item is dirty and with no worker"
        );
        slot.entry.dirty = false;
        slot.entry.processing = true;
        slot.entry.queued = None;
        let item = slot.item.clone();
        debug_assert!(item.is_some(), "a queued item has a slot");
        self.processing += 1;
        let priority = slot.entry.priority;
        if let Some(notes) = &mut self.notes {
            let now = now.instant();
            let waited =
                slot.entry.added.take().map_or(Duration::ZERO, |added| now.saturating_duration_since(added));
            notes.note(Fact::Taken { priority, waited });
            notes.began(place, now);
        }
        item.map(|item| Taken { place, item, priority })
    }

    /// Takes back an item that was handed out. Returns it if nobody else needs it, to be dropped without the lock.
    pub(crate) fn done(&mut self, place: Place, now: &Now) -> Option<T> {
        self.promote(now);
        self.processing -= 1;
        let entry = &mut self.slots[place.index()].entry;
        debug_assert!(entry.processing, "an item is done once");
        entry.processing = false;
        if let Some(notes) = &mut self.notes {
            notes.ended(place, now.instant());
        }
        if entry.dirty {
            entry.queued = Some((self.ready.push(place, entry.priority), entry.priority));
            return None;
        }
        self.forget_if_idle(place)
    }

    /// Lets nothing in any more and forgets what is delayed. Returns what was, to be dropped without the lock.
    pub(crate) fn shut_down(&mut self, now: &Now) -> Vec<T> {
        self.promote(now);
        self.shutting_down = true;
        let delayed: Vec<Place> = self.delays.drain().collect();
        let dropped = delayed.into_iter().filter_map(|place| {
            self.slots[place.index()].entry.take_delay();
            self.forget_if_idle(place)
        });
        dropped.collect()
    }

    pub(crate) fn len(&mut self, now: &Now) -> usize {
        self.promote(now);
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
        self.delays.earliest()
    }

    /// How many items are queued, processed and delayed.
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
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
        let item = |(place, time): (Place, Duration)| Some((self.slots[place.index()].item.clone()?, time));
        let mut running: Vec<_> = long.filter_map(item).collect();
        running.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        running
    }

    /// Moves what is due into the queue.
    fn promote(&mut self, now: &Now) {
        if self.delays.is_empty() {
            return;
        }
        while let Some(place) = self.delays.pop_due(now.instant()) {
            let entry = &mut self.slots[place.index()].entry;
            entry.take_delay();
            if !entry.dirty {
                self.mark_dirty(place, now);
            }
        }
    }

    /// An item that is not dirty needs processing: at once, or when its worker is done.
    fn mark_dirty(&mut self, place: Place, now: &Now) {
        let entry = &mut self.slots[place.index()].entry;
        entry.dirty = true;
        if let Some(notes) = &mut self.notes {
            entry.added = Some(now.instant());
            notes.note(Fact::Added { priority: entry.priority });
        }
        if !entry.processing {
            entry.queued = Some((self.ready.push(place, entry.priority), entry.priority));
        }
    }

    /// Lets an item that is queued have a higher priority, if it has one now.
    fn raise(&mut self, place: Place) {
        let Self { ready, slots, .. } = self;
        if let Some(raised) = slots[place.index()].entry.raised() {
            if let (Some(notes), Some((_, from))) = (&mut self.notes, slots[place.index()].entry.queued) {
                notes.note(Fact::Raised { from, to: raised });
            }
            let ticket = ready.raise(place, raised, |place| slots[place.index()].entry.ticket());
            slots[place.index()].entry.queued = Some((ticket, raised));
        }
    }

    fn find(&self, item: &T) -> Option<Place> {
        let hash = self.hasher.hash_one(item);
        self.table.find(hash, |place| self.slots[place.index()].item.as_ref() == Some(item)).copied()
    }

    /// The slot of an item, which may be a new one.
    fn place(&mut self, item: T) -> Place {
        let Self { slots, free, table, hasher, .. } = self;
        let hash = hasher.hash_one(&item);
        if let Some(place) = table.find(hash, |place| slots[place.index()].item.as_ref() == Some(&item)) {
            return *place;
        }
        let filled = Slot { item: Some(item), hash, entry: Entry::default() };
        let place = match free.pop() {
            Some(place) => {
                slots[place.index()] = filled;
                place
            }
            None => {
                slots.push(filled);
                Place::last_of(slots.len())
            }
        };
        table.insert_unique(hash, place, |place| slots[place.index()].hash);
        place
    }

    /// Frees the slot of an item that has no state any more, and returns the item.
    fn forget_if_idle(&mut self, place: Place) -> Option<T> {
        let slot = &mut self.slots[place.index()];
        if !slot.entry.is_idle() {
            return None;
        }
        let item = slot.item.take();
        if let Ok(known) = self.table.find_entry(slot.hash, |known| *known == place) {
            known.remove();
        }
        self.free.push(place);
        if self.table.is_empty() && is_sparse(0, self.slots.capacity()) {
            // Slots are known by their numbers, so only when there are none can they move.
            (self.slots, self.free, self.table) = (Vec::new(), Vec::new(), HashTable::new());
        }
        item
    }
}

// === impl Place ===

impl Place {
    /// # Panics
    ///
    /// With more than 4 billion different items, whose slots alone would take 100 GiB and more.
    fn last_of(slots: usize) -> Self {
        #[allow(clippy::expect_used, reason = "memory ends long before")]
        Self(u32::try_from(slots - 1).expect("a queue holds at most u32::MAX items"))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

// === impl Now ===

impl Now {
    #[cfg(test)]
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

// === impl Entry ===

impl Entry {
    /// Takes note of a priority. Of several additions the highest counts.
    fn prioritize(&mut self, priority: i32) {
        let is_pending = self.dirty || self.delay.is_some();
        self.priority = if is_pending { self.priority.max(priority) } else { priority };
    }

    /// The priority, if it is higher than that in which the item is queued.
    fn raised(&self) -> Option<i32> {
        self.queued.filter(|(_, priority)| self.priority > *priority).map(|_| self.priority)
    }

    fn ticket(&self) -> Option<Ticket> {
        self.queued.map(|(ticket, _)| ticket)
    }

    fn take_delay(&mut self) -> Option<DelayId> {
        self.charged = false;
        self.delay.take()
    }

    fn is_idle(&self) -> bool {
        !self.dirty && !self.processing && self.delay.is_none()
    }
}

#[cfg(test)]
mod tests;
