//! The items that can be handed out, in the order in which they will be.
//!
//! Items of a higher priority come first, and items of one priority in the order in which they were queued. So that a flow of
//! important items does not starve the others, every [`AGEING`]th item is the one that has waited longest, whatever its priority.
//!
//! An item that is queued again with a higher priority leaves its old entry behind, whose ticket is then not the item's any
//! more. The plain queue, in which all have one priority, is one ring of entries.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use crate::limits::{AGEING, KEPT_LEVELS, is_sparse};
use crate::slots::Place;

#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// By descending priority. Some may be empty: they keep their memory for the next item.
    levels: Vec<Level>,
    /// How many items are queued.
    len: usize,
    /// The last ticket that was given.
    last_ticket: u32,
    /// How many items were handed out while another level had entries too.
    handed: u32,
}

#[derive(Debug)]
struct Level {
    priority: i32,
    entries: VecDeque<(Place, Ticket)>,
}

/// The number of an entry. They begin anew after four billion, which are far more than wait at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(NonZeroU32);

impl Ready {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues an item behind those of its priority.
    pub(crate) fn push(&mut self, place: Place, priority: i32) -> Ticket {
        self.last_ticket = self.last_ticket.wrapping_add(1);
        let ticket = Ticket(NonZeroU32::new(self.last_ticket).unwrap_or(NonZeroU32::MIN));
        self.last_ticket = ticket.0.get();
        self.len += 1;
        let level = match self.levels.first() {
            Some(first) if first.priority == priority => 0,
            _ => self.level(priority),
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
        let mut level = if self.levels.len() > 1 { self.next_level(&is_current) } else { 0 };
        loop {
            let Level { entries, .. } = self.levels.get_mut(level)?;
            match entries.pop_front() {
                Some(entry) if is_current(&entry) => {
                    self.len -= 1;
                    if is_sparse(entries.len(), entries.capacity()) {
                        entries.shrink_to(2 * entries.len());
                    }
                    return Some(entry.0);
                }
                Some(_) => {}
                // Only what was left behind was in it.
                None => level += 1,
            }
        }
    }

    /// The level of this priority, which may be a new one.
    fn level(&mut self, priority: i32) -> usize {
        let place = |levels: &[Level]| levels.binary_search_by(|level| priority.cmp(&level.priority));
        match place(&self.levels) {
            Ok(level) => level,
            Err(level) if self.levels.len() < KEPT_LEVELS => {
                self.levels.insert(level, Level { priority, entries: VecDeque::new() });
                level
            }
            Err(_) => {
                self.levels.retain(|level| !level.entries.is_empty());
                let level = place(&self.levels).unwrap_or_else(|level| level);
                self.levels.insert(level, Level { priority, entries: VecDeque::new() });
                level
            }
        }
    }

    /// The level of the next item: the highest, or now and then that of the oldest item.
    fn next_level(&mut self, is_current: &impl Fn(&(Place, Ticket)) -> bool) -> usize {
        let mut filled =
            self.levels.iter().enumerate().filter(|(_, level)| !level.entries.is_empty()).map(|(at, _)| at);
        let first = filled.next().unwrap_or(0);
        if filled.next().is_none() {
            return first;
        }
        self.handed = (self.handed + 1) % AGEING;
        if self.handed != 0 {
            return first;
        }
        for Level { entries, .. } in &mut self.levels {
            while entries.front().is_some_and(|entry| !is_current(entry)) {
                entries.pop_front();
            }
        }
        let age = |ticket: Ticket| self.last_ticket.wrapping_sub(ticket.0.get());
        let ages = self.levels.iter().map(|level| level.entries.front().map(|(_, ticket)| age(*ticket)));
        ages.enumerate().max_by_key(|(_, age)| *age).map_or(0, |(level, _)| level)
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
