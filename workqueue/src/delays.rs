//! Items that wait for their time: a binary heap whose entries can be moved and removed in place.
//!
//! Every entry has a slot that knows its position in the heap, so that the owner of a [`DelayId`] finds it without a
//! search, and the heap never holds anything stale. Entries of the very same instant leave in the order in which the
//! plain textbook heap gives them up, which is neither first-in-first-out nor last-in-first-out; the recorded answers
//! of client-go come from such a heap too.

use tokio::time::Instant;

use crate::limits::is_sparse;

/// Names a waiting entry until it is popped or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DelayId(usize);

#[derive(Debug)]
pub(crate) struct Delays<T> {
    heap: Vec<Node>,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    at: Instant,
    slot: usize,
}

#[derive(Debug)]
struct Slot<T> {
    position: usize,
    item: Option<T>,
}

impl<T> Delays<T> {
    pub(crate) fn new() -> Self {
        Self { heap: Vec::new(), slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// When the first entry is due.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.heap.first().map(|node| node.at)
    }

    pub(crate) fn insert(&mut self, at: Instant, item: T) -> DelayId {
        let position = self.heap.len();
        let filled = Slot { position, item: Some(item) };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = filled;
                slot
            }
            None => {
                self.slots.push(filled);
                self.slots.len() - 1
            }
        };
        self.heap.push(Node { at, slot });
        self.sift_up(position);
        DelayId(slot)
    }

    /// Moves an entry forward in time; an instant that is not earlier changes nothing.
    pub(crate) fn hasten(&mut self, id: DelayId, at: Instant) {
        let position = self.slots[id.0].position;
        if at < self.heap[position].at {
            self.heap[position].at = at;
            self.sift_up(position);
        }
    }

    /// Takes out the first entry if it is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<T> {
        if self.earliest()? > now {
            return None;
        }
        self.remove_at(0)
    }

    /// Takes out one entry, wherever it is.
    pub(crate) fn remove(&mut self, id: DelayId) -> Option<T> {
        self.remove_at(self.slots[id.0].position)
    }

    /// Takes out all entries, in no order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let emptied = std::mem::replace(self, Self::new());
        emptied.slots.into_iter().filter_map(|slot| slot.item)
    }

    fn remove_at(&mut self, position: usize) -> Option<T> {
        let node = self.heap.swap_remove(position);
        if position < self.heap.len() {
            self.slots[self.heap[position].slot].position = position;
            // The entry that came from the end may belong on either side of the gap that it fills.
            if !self.sift_down(position) {
                self.sift_up(position);
            }
        }
        let item = self.slots[node.slot].item.take();
        debug_assert!(item.is_some(), "a node of the heap owns a filled slot");
        self.free.push(node.slot);
        self.release_memory();
        item
    }

    fn sift_up(&mut self, mut position: usize) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[position].at >= self.heap[parent].at {
                break;
            }
            self.swap(position, parent);
            position = parent;
        }
    }

    /// Returns whether the entry moved.
    fn sift_down(&mut self, start: usize) -> bool {
        let mut position = start;
        loop {
            let left = 2 * position + 1;
            if left >= self.heap.len() {
                break;
            }
            let right = left + 1;
            let right_is_first = right < self.heap.len() && self.heap[right].at < self.heap[left].at;
            let child = if right_is_first { right } else { left };
            if self.heap[child].at >= self.heap[position].at {
                break;
            }
            self.swap(position, child);
            position = child;
        }
        position > start
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.slots[self.heap[a].slot].position = a;
        self.slots[self.heap[b].slot].position = b;
    }

    fn release_memory(&mut self) {
        if self.heap.is_empty() && is_sparse(0, self.slots.capacity()) {
            // Slots are named by their index, so only an empty set of them can move.
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    fn pop_all(delays: &mut Delays<u64>, now: Instant) -> Vec<u64> {
        std::iter::from_fn(|| delays.pop_due(now)).collect()
    }

    #[test]
    fn entries_leave_in_the_order_of_their_time_and_never_early() {
        let start = Instant::now();
        let mut delays = Delays::new();
        for ms in [50, 10, 40, 20, 30] {
            delays.insert(at(start, ms), ms);
        }
        assert_eq!(delays.earliest(), Some(at(start, 10)));
        assert_eq!(delays.pop_due(at(start, 9)), None);
        assert_eq!(pop_all(&mut delays, at(start, 30)), [10, 20, 30]);
        assert_eq!(pop_all(&mut delays, at(start, 99)), [40, 50]);
    }

    #[test]
    fn an_entry_can_only_be_hastened() {
        let start = Instant::now();
        let mut delays = Delays::new();
        let a = delays.insert(at(start, 50), 1);
        delays.insert(at(start, 40), 2);
        delays.hasten(a, at(start, 60));
        assert_eq!(delays.earliest(), Some(at(start, 40)));
        delays.hasten(a, at(start, 30));
        assert_eq!(pop_all(&mut delays, at(start, 55)), [1, 2]);
    }

    #[test]
    fn entries_of_one_instant_leave_as_in_the_textbook() {
        let start = Instant::now();
        for (times, order) in [([1, 1, 1, 1], [0, 3, 2, 1]), ([1, 2, 2, 3], [0, 1, 2, 3])] {
            let mut delays = Delays::new();
            for (item, ms) in times.into_iter().enumerate() {
                delays.insert(at(start, ms), item as u64);
            }
            assert_eq!(pop_all(&mut delays, at(start, 9)), order);
        }
    }

    #[test]
    fn any_entry_can_be_removed_and_the_order_of_the_rest_holds() {
        let start = Instant::now();
        let mut seed = 1_u64;
        let mut random = move |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for _ in 0..200 {
            let mut delays = Delays::new();
            let mut known = Vec::new();
            for item in 0..50 {
                let ms = random(1000);
                known.push((ms, item, delays.insert(at(start, ms), item)));
                if item % 3 == 0 {
                    let (_, item, id) = known.swap_remove(random(known.len() as u64) as usize);
                    assert_eq!(delays.remove(id), Some(item));
                }
            }
            let mut times: Vec<u64> = known.iter().map(|entry| entry.0).collect();
            times.sort_unstable();
            let left: Vec<u64> = pop_all(&mut delays, at(start, 1000))
                .into_iter()
                .filter_map(|item| known.iter().find(|entry| entry.1 == item).map(|entry| entry.0))
                .collect();
            assert_eq!(left, times);
        }
    }

    #[test]
    fn memory_of_a_burst_is_given_back() {
        let start = Instant::now();
        let mut delays = Delays::new();
        for n in 0..100_000 {
            delays.insert(at(start, n), n);
        }
        pop_all(&mut delays, at(start, 100_000));
        assert!(delays.slots.capacity() + delays.heap.capacity() + delays.free.capacity() < 4096);
    }
}
