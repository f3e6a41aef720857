//! The slots of items: what is known of each. Everything else knows an item by the number of its slot.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use crate::delays::{Delay, Owner};
use crate::ready::Ticket;
use crate::state::Hashed;

/// All slots, in a row. In chunks that never move there would be no pause when a very long row is copied, but every operation
/// would take a tenth more instructions.
#[derive(Debug)]
pub(crate) struct Slots<T>(Vec<Slot<T>>);

#[derive(Debug)]
pub(crate) struct Slot<T> {
    /// None if the slot is free.
    pub(crate) item: Option<T>,
    pub(crate) entry: Entry,
}

/// What is known about one item.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) hash: Hashed,
    pub(crate) dirty: bool,
    pub(crate) processing: bool,
    /// Whether a rate limiter was asked for the pending delay.
    pub(crate) charged: bool,
    /// How often it has failed, if it is the queue that counts.
    pub(crate) failures: u32,
    pub(crate) delay: Delay,
    /// Of what is queued or delayed, or else of what is processed.
    pub(crate) priority: i32,
    /// The priority in which it was queued, and its entry in the queue, if it is there.
    pub(crate) queued_in: i32,
    pub(crate) ticket: Option<Ticket>,
}

/// The number of a slot: its index and one, so that there can be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

// === impl Slots ===

impl<T> Slots<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Adds a slot.
    #[inline]
    pub(crate) fn push(&mut self, slot: Slot<T>) -> Place {
        self.0.push(slot);
        Place::last_of(self.0.len())
    }

    #[inline]
    pub(crate) fn entry(&mut self, place: Place) -> &mut Entry {
        &mut self[place].entry
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot<T>> {
        self.0.iter()
    }

    /// The hash of the item in a slot, if there is one.
    pub(crate) fn hash(&self, place: Place) -> Option<Hashed> {
        let slot = &self[place];
        slot.item.as_ref().map(|_| slot.entry.hash)
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Index<Place> for Slots<T> {
    type Output = Slot<T>;

    #[inline]
    fn index(&self, place: Place) -> &Slot<T> {
        &self.0[place.index()]
    }
}

impl<T> IndexMut<Place> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, place: Place) -> &mut Slot<T> {
        &mut self.0[place.index()]
    }
}

impl<T: Eq> Slots<T> {
    pub(crate) fn holds(&self, place: Place, item: &T) -> bool {
        self[place].item.as_ref() == Some(item)
    }
}

impl<T> Owner for Slots<T> {
    fn delay(&self, place: Place) -> Delay {
        // What was left behind may be from before all slots were given back.
        self.0.get(place.index()).map(|slot| slot.entry.delay).unwrap_or_default()
    }

    fn set_delay(&mut self, place: Place, delay: Delay) {
        self[place].entry.delay = delay;
    }
}

// === impl Entry ===

impl Entry {
    pub(crate) fn new(hash: Hashed) -> Self {
        Self {
            hash,
            dirty: false,
            processing: false,
            charged: false,
            failures: 0,
            delay: Delay::default(),
            priority: 0,
            queued_in: 0,
            ticket: None,
        }
    }

    /// Takes note of a priority. Of several additions the highest counts.
    pub(crate) fn prioritize(&mut self, priority: i32) {
        let is_pending = self.dirty || self.delay.is_pending();
        self.priority = if is_pending { self.priority.max(priority) } else { priority };
    }

    pub(crate) fn is_idle(&self) -> bool {
        !self.dirty && !self.processing && !self.delay.is_pending() && self.failures == 0
    }
}

// === impl Place ===

impl Place {
    pub(crate) const FIRST: Self = Self(NonZeroU32::MIN);

    /// # Panics
    ///
    /// With more than 4 billion different items, whose slots alone would take 100 GiB and more.
    pub(crate) fn last_of(slots: usize) -> Self {
        #[allow(clippy::expect_used, reason = "memory ends long before")]
        Self(u32::try_from(slots).ok().and_then(NonZeroU32::new).expect("a queue holds 1 to u32::MAX items"))
    }

    pub(crate) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}
