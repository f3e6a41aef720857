//! The queue as a synchronous state machine: no lock, no waiting, no clock of its own.
//!
//! An item that the queue knows is in one or more of these states:
//!
//! * *dirty*: it needs processing. A dirty item that is not being processed is in `ready`, exactly once.
//! * *processing*: it was handed out and is not done.
//! * *delayed*: it becomes dirty at some instant.
//!
//! Delays are promoted lazily. Every operation is told the time and first moves what is due into the queue, so the
//! state is at any moment what it would be if a timer had moved each entry at its instant.
//!
//! Invariants:
//!
//! * An item is in `ready` if and only if it is dirty and not processing. Hence it is never with two workers.
//! * An item has at most one delay.
//! * An item without any state has no entry.
//! * Nothing is delayed once the queue is shutting down, and nothing becomes dirty from outside.

use std::collections::VecDeque;
use std::hash::Hash;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;
use tokio::time::Instant;

use crate::PendingDelay;
use crate::delays::{DelayId, Delays};
use crate::limits::{LONGEST_DELAY, is_sparse};

#[derive(Debug)]
pub(crate) struct State<T> {
    ready: VecDeque<T>,
    entries: HashMap<T, Entry, FixedState>,
    delays: Delays<T>,
    processing: usize,
    shutting_down: bool,
    pending_delay: PendingDelay,
}

/// Why an item is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The caller chose the delay.
    Asked,
    /// The rate limiter chose it and has charged the item for it.
    RateLimited,
}

#[derive(Debug, Default)]
struct Entry {
    dirty: bool,
    processing: bool,
    delay: Option<DelayId>,
    /// The rate limiter was charged for the delay that is pending.
    charged: bool,
}

impl<T: Hash + Eq + Clone> State<T> {
    pub(crate) fn new(pending_delay: PendingDelay) -> Self {
        Self {
            ready: VecDeque::new(),
            entries: HashMap::with_hasher(FixedState::default()),
            delays: Delays::new(),
            processing: 0,
            shutting_down: false,
            pending_delay,
        }
    }

    pub(crate) fn add(&mut self, item: T, now: Instant) {
        self.promote(now);
        if self.shutting_down {
            return;
        }
        match self.entries.entry(item) {
            Slot::Vacant(slot) => {
                self.ready.push_back(slot.key().clone());
                slot.insert(Entry { dirty: true, ..Entry::default() });
            }
            Slot::Occupied(mut slot) => {
                if self.pending_delay == PendingDelay::Consume
                    && let Some(id) = slot.get_mut().take_delay()
                {
                    self.delays.remove(id);
                }
                if slot.get_mut().mark_dirty() {
                    self.ready.push_back(slot.key().clone());
                }
            }
        }
    }

    pub(crate) fn add_after(&mut self, item: T, delay: Duration, cause: Cause, now: Instant) {
        if delay.is_zero() {
            return self.add(item, now);
        }
        self.promote(now);
        if self.shutting_down {
            return;
        }
        let at = now + delay.min(LONGEST_DELAY);
        let slot = self.entries.entry(item);
        let mut slot = match slot {
            Slot::Occupied(slot) => slot,
            Slot::Vacant(slot) => slot.insert_entry(Entry::default()),
        };
        match slot.get().delay {
            Some(id) => self.delays.hasten(id, at),
            None => {
                let id = self.delays.insert(at, slot.key().clone());
                slot.get_mut().delay = Some(id);
            }
        }
        slot.get_mut().charged |= cause == Cause::RateLimited;
    }

    /// Whether a delay is pending for which the rate limiter was charged.
    pub(crate) fn is_charged(&mut self, item: &T, now: Instant) -> bool {
        self.promote(now);
        self.entries.get(item).is_some_and(|entry| entry.charged)
    }

    /// The rate limiter forgets what it charged, so the next failure is the first one and no duplicate.
    pub(crate) fn discharge(&mut self, item: &T) {
        if let Some(entry) = self.entries.get_mut(item) {
            entry.charged = false;
        }
    }

    /// Hands out the next item.
    pub(crate) fn take(&mut self, now: Instant) -> Option<T> {
        self.promote(now);
        let item = self.ready.pop_front()?;
        let entry = self.entries.get_mut(&item);
        debug_assert!(entry.is_some(), "a queued item has an entry");
        if let Some(entry) = entry {
            debug_assert!(entry.dirty && !entry.processing, "a queued item is dirty and with no worker");
            entry.dirty = false;
            entry.processing = true;
        }
        self.processing += 1;
        if is_sparse(self.ready.len(), self.ready.capacity()) {
            self.ready.shrink_to(2 * self.ready.len());
        }
        Some(item)
    }

    /// Takes back an item that [`take`](Self::take) handed out.
    pub(crate) fn done(&mut self, item: &T, now: Instant) {
        self.promote(now);
        self.processing -= 1;
        let entry = self.entries.get_mut(item);
        debug_assert!(entry.as_ref().is_some_and(|entry| entry.processing), "an item is done once");
        let Some(entry) = entry else { return };
        entry.processing = false;
        if entry.dirty {
            self.ready.push_back(item.clone());
        } else {
            self.forget_if_idle(item);
        }
    }

    /// Closes the intake and drops what is delayed. The items are returned, so that they can be dropped elsewhere than
    /// under the lock.
    pub(crate) fn shut_down(&mut self, now: Instant) -> Vec<T> {
        self.promote(now);
        self.shutting_down = true;
        let dropped: Vec<T> = self.delays.drain().collect();
        for item in &dropped {
            if let Some(entry) = self.entries.get_mut(item) {
                entry.take_delay();
                self.forget_if_idle(item);
            }
        }
        dropped
    }

    /// How many items are queued: neither those with a worker nor those delayed.
    pub(crate) fn len(&mut self, now: Instant) -> usize {
        self.promote(now);
        self.ready.len()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// How many items are queued as of the last operation.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Nothing queued, nothing processing, and therefore nothing dirty.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.processing == 0
    }

    /// When the first delayed item is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.delays.earliest()
    }

    /// What a log line should say of this queue: queued, processing, delayed.
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        (self.ready.len(), self.processing, self.delays.len())
    }

    fn promote(&mut self, now: Instant) {
        while let Some(item) = self.delays.pop_due(now) {
            let entry = self.entries.get_mut(&item);
            debug_assert!(entry.is_some(), "a delayed item has an entry");
            if let Some(entry) = entry {
                entry.take_delay();
                if entry.mark_dirty() {
                    self.ready.push_back(item);
                }
            }
        }
    }

    fn forget_if_idle(&mut self, item: &T) {
        if self.entries.get(item).is_some_and(Entry::is_idle) {
            self.entries.remove(item);
            if is_sparse(self.entries.len(), self.entries.capacity()) {
                self.entries.shrink_to(2 * self.entries.len());
            }
        }
    }
}

// === impl Entry ===

impl Entry {
    /// Returns whether the item has to be queued.
    fn mark_dirty(&mut self) -> bool {
        let queue = !self.dirty && !self.processing;
        self.dirty = true;
        queue
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
