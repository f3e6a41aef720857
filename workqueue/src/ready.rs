//! The items that can be handed out, in the order in which they will be.
//!
//! Items of a higher priority come first, and items of one priority in the order in which they were queued. So that a flow of
//! important items does not starve the others, every [`AGEING`]th item is the one that has waited longest, whatever its priority.
//!
//! An item that is queued again with a higher priority leaves its old entry behind, whose ticket is then not the item's any
//! more. The plain queue, in which all have one priority, is one ring of entries.

use std::collections::VecDeque;

use crate::limits::{AGEING, is_sparse};
use crate::state::Place;

#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// By descending priority. Only the last that is left may be empty.
    levels: Vec<Level>,
    /// How many items are queued.
    len: usize,
    next_ticket: u64,
    /// How many items were handed out while there was more than one level.
    handed: u32,
}

#[derive(Debug)]
struct Level {
    priority: i32,
    entries: VecDeque<(Place, Ticket)>,
}

/// The number of an entry. Smaller ones came earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

impl Ready {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues an item behind those of its priority.
    pub(crate) fn push(&mut self, place: Place, priority: i32) -> Ticket {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        self.len += 1;
        let level = match self.levels.binary_search_by(|level| priority.cmp(&level.priority)) {
            Ok(level) => level,
            // A level without entries can have any priority.
            Err(_) if self.levels.len() == 1 && self.levels[0].entries.is_empty() => {
                self.levels[0].priority = priority;
                0
            }
            Err(level) => {
                self.levels.insert(level, Level { priority, entries: VecDeque::new() });
                level
            }
        };
        self.levels[level].entries.push_back((place, ticket));
        ticket
    }

    /// Queues an item again, in a higher priority. `ticket` says which ticket an item has now.
    pub(crate) fn raise(
        &mut self,
        place: Place,
        priority: i32,
        ticket: impl Fn(Place) -> Option<Ticket>,
    ) -> Ticket {
        let entries: usize = self.levels.iter().map(|level| level.entries.len()).sum();
        if is_sparse(self.len, entries) {
            // Nearly all of them were left behind.
            for level in &mut self.levels {
                level.entries.retain(|(place, held)| ticket(*place) == Some(*held));
            }
            self.drop_empty();
        }
        self.len -= 1;
        self.push(place, priority)
    }

    /// Takes the next item. `ticket` says which ticket an item has now.
    pub(crate) fn pop(&mut self, ticket: impl Fn(Place) -> Option<Ticket>) -> Option<Place> {
        if self.len == 0 {
            return None;
        }
        let is_current = |(place, held): &(Place, Ticket)| ticket(*place) == Some(*held);
        if self.levels.len() > 1 {
            self.drop_stale(&is_current);
        }
        let level = self.next_level();
        loop {
            let Level { entries, .. } = self.levels.get_mut(level)?;
            let entry = entries.pop_front()?;
            if is_current(&entry) {
                self.len -= 1;
                self.tidy(level);
                return Some(entry.0);
            }
        }
    }

    /// Removes what was left behind at the head of each level, and levels with nothing else.
    fn drop_stale(&mut self, is_current: &impl Fn(&(Place, Ticket)) -> bool) {
        for Level { entries, .. } in &mut self.levels {
            while entries.front().is_some_and(|entry| !is_current(entry)) {
                entries.pop_front();
            }
        }
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        self.levels.retain(|level| !level.entries.is_empty());
    }

    /// The level of the next item: the highest, or now and then that of the oldest item.
    fn next_level(&mut self) -> usize {
        if self.levels.len() < 2 {
            return 0;
        }
        self.handed = (self.handed + 1) % AGEING;
        if self.handed != 0 {
            return 0;
        }
        let heads = self.levels.iter().map(|level| level.entries.front().map(|(_, ticket)| *ticket));
        heads.enumerate().min_by_key(|(_, ticket)| *ticket).map_or(0, |(level, _)| level)
    }

    fn tidy(&mut self, level: usize) {
        let Level { entries, .. } = &mut self.levels[level];
        if is_sparse(entries.len(), entries.capacity()) {
            entries.shrink_to(2 * entries.len());
        }
        if entries.is_empty() && self.levels.len() > 1 {
            self.levels.remove(level);
        }
    }

    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Place, Ticket)> + '_ {
        self.levels.iter().flat_map(|level| level.entries.iter().copied())
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.levels.iter().map(|level| level.entries.capacity()).sum()
    }
}
