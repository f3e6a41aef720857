//! Items that wait for their time.
//!
//! What is due soon is *near*: in a binary heap, whose entries know their positions, so that they can be moved and removed in
//! place. What is due after the *horizon* is *far*: in segments, each for a part of time and in no order, to which an entry is
//! appended wherever its time belongs. When nothing near is left, the next segment becomes near. So adding, moving and removing
//! take the same time however much waits, and each entry is put in order among a thousand others once, when its time has nearly
//! come.
//!
//! Segments are not searched. What is moved or removed leaves its far entry behind, which is known by not being what the item
//! says of itself, and dropped when its segment becomes near or is cut in two.
//!
//! Up to a thousand entries are near, however late they are. Those of the very same instant leave in the order in which the
//! plain textbook heap gives them up, which is neither first-in-first-out nor last-in-first-out; the recorded answers of
//! client-go come from such a heap too.
//!
//! Invariants:
//!
//! * All that is near is due before the horizon, all that is far is not.
//! * If nothing is near, nothing is far: the first entry is always known exactly.
//! * A segment begins where the one before it ends, the first at the horizon.

use std::num::NonZeroU64;

use crate::limits::{NEAR, is_sparse};
use crate::slots::Place;

#[derive(Debug)]
pub(crate) struct Delays {
    near: Vec<Node>,
    /// Segments, the latest one first.
    far: Vec<Vec<Node>>,
    /// Where they begin: on their own, so that a search among many finds all in the nearest cache.
    starts: Vec<Time>,
    /// How many of the far entries are what their items say.
    far_len: usize,
    /// How many there are with those that were left behind.
    far_nodes: usize,
    /// Where the first segment begins; the end of time without any.
    horizon: Time,
    /// With how many near entries some become far.
    overfull: usize,
    /// The memory of what was near before.
    spare: Vec<Node>,
}

/// An instant: nanoseconds since some other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(NonZeroU64);

/// What an item knows of its delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delay {
    /// None without a delay.
    at: Option<Time>,
    position: Position,
}

/// The index in the heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Position(u32);

const FAR: Position = Position(u32::MAX);

/// Those who keep what their items know.
pub(crate) trait Owner {
    fn delay(&self, place: Place) -> Delay;
    fn set_delay(&mut self, place: Place, delay: Delay);
}

#[derive(Debug, Clone, Copy)]
struct Node {
    at: Time,
    place: Place,
}

// === impl Delays ===

impl Delays {
    pub(crate) fn new() -> Self {
        Self {
            near: Vec::new(),
            far: Vec::new(),
            starts: Vec::new(),
            far_len: 0,
            far_nodes: 0,
            horizon: Time::END,
            overfull: 2 * NEAR,
            spare: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far_len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.near.is_empty()
    }

    /// When the first entry is due.
    pub(crate) fn earliest(&self) -> Option<Time> {
        self.near.first().map(|node| node.at)
    }

    /// Enters an item that has no delay.
    pub(crate) fn insert(&mut self, at: Time, place: Place, owner: &mut impl Owner) {
        if at >= self.horizon {
            return self.insert_far(Node { at, place }, owner);
        }
        let position = self.near.len();
        self.near.push(Node { at, place });
        self.sift_up(position, owner);
        if self.near.len() > self.overfull {
            self.spill(owner);
        }
    }

    /// Moves an entry forward in time; an instant that is not earlier changes nothing.
    pub(crate) fn hasten(&mut self, at: Time, place: Place, owner: &mut impl Owner) {
        let known = owner.delay(place);
        if known.at.is_none_or(|known| known <= at) {
            return;
        }
        if known.position == FAR {
            self.far_len -= 1;
            self.insert(at, place, owner);
            self.tidy(owner);
        } else if let Some(node) = self.near.get_mut(known.position.index()) {
            node.at = at;
            self.sift_up(known.position.index(), owner);
        }
    }

    /// Takes out the first entry if it is due.
    pub(crate) fn pop_due(&mut self, now: Time, owner: &mut impl Owner) -> Option<Place> {
        if self.earliest()? > now {
            return None;
        }
        self.remove_near(0, owner)
    }

    /// Takes out the entry of an item, if it has one.
    pub(crate) fn remove(&mut self, place: Place, owner: &mut impl Owner) {
        let Delay { at: Some(_), position } = owner.delay(place) else { return };
        if position == FAR {
            owner.set_delay(place, Delay::default());
            self.far_len -= 1;
            self.tidy(owner);
        } else {
            self.remove_near(position.index(), owner);
        }
    }

    /// Takes out all entries, in no order.
    pub(crate) fn drain(&mut self, owner: &mut impl Owner) -> Vec<Place> {
        let emptied = std::mem::replace(self, Self::new());
        let nodes = emptied.near.into_iter().chain(emptied.far.into_iter().flatten());
        let mut places = Vec::new();
        for Node { place, .. } in nodes {
            // One that was left behind belongs to an item that is taken out elsewhere, or was before.
            if owner.delay(place).at.is_some() {
                owner.set_delay(place, Delay::default());
                places.push(place);
            }
        }
        places
    }

    // === The heap ===

    fn remove_near(&mut self, position: usize, owner: &mut impl Owner) -> Option<Place> {
        if position >= self.near.len() {
            return None;
        }
        let node = self.near.swap_remove(position);
        if position < self.near.len() {
            // The entry that came from the end may belong on either side of the gap that it fills.
            if self.sift_down(position, owner) == position {
                self.sift_up(position, owner);
            }
        }
        owner.set_delay(node.place, Delay::default());
        self.refill(owner);
        Some(node.place)
    }

    /// Lets the node at `position` rise to where it belongs, and its item know where that is.
    fn sift_up(&mut self, mut position: usize, owner: &mut impl Owner) {
        let node = self.near[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if node.at >= self.near[parent].at {
                break;
            }
            self.put(position, self.near[parent], owner);
            position = parent;
        }
        self.put(position, node, owner);
    }

    /// Lets the node at `position` sink to where it belongs, and returns where that is.
    fn sift_down(&mut self, mut position: usize, owner: &mut impl Owner) -> usize {
        let node = self.near[position];
        loop {
            let left = 2 * position + 1;
            if left >= self.near.len() {
                break;
            }
            let right = left + 1;
            let right_is_first = right < self.near.len() && self.near[right].at < self.near[left].at;
            let child = if right_is_first { right } else { left };
            if self.near[child].at >= node.at {
                break;
            }
            self.put(position, self.near[child], owner);
            position = child;
        }
        self.put(position, node, owner);
        position
    }

    fn put(&mut self, position: usize, node: Node, owner: &mut impl Owner) {
        self.near[position] = node;
        owner.set_delay(node.place, Delay { at: Some(node.at), position: Position::of(position) });
    }

    // === What is far ===

    fn insert_far(&mut self, node: Node, owner: &mut impl Owner) {
        owner.set_delay(node.place, Delay { at: Some(node.at), position: FAR });
        self.far_len += 1;
        self.far_nodes += 1;
        let segment = self.starts.partition_point(|start| *start > node.at);
        let nodes = &mut self.far[segment];
        nodes.push(node);
        if nodes.len() >= 2 * NEAR && nodes.len() == nodes.capacity() {
            self.split(segment, owner);
        }
    }

    /// Cuts a segment in two of about the same size, unless all in it are due at once.
    fn split(&mut self, segment: usize, owner: &mut impl Owner) {
        self.drop_stale(segment, owner);
        let nodes = &mut self.far[segment];
        if nodes.len() < 2 * NEAR {
            return;
        }
        let Some(start) = middle(nodes) else { return };
        let mut later = std::mem::take(&mut self.spare);
        later.reserve_exact(2 * NEAR);
        later.extend(nodes.extract_if(.., |node| node.at >= start));
        self.far.insert(segment, later);
        self.starts.insert(segment, start);
    }

    /// Makes a later part of what is near the first segment.
    #[cold]
    fn spill(&mut self, owner: &mut impl Owner) {
        let Some(start) = middle(&mut self.near) else {
            self.overfull = 2 * self.near.len();
            return self.restore(owner);
        };
        let mut nodes = std::mem::take(&mut self.spare);
        nodes.reserve_exact(2 * NEAR);
        nodes.extend(self.near.extract_if(.., |node| node.at >= start));
        for Node { at, place } in &nodes {
            owner.set_delay(*place, Delay { at: Some(*at), position: FAR });
        }
        self.far_len += nodes.len();
        self.far_nodes += nodes.len();
        self.far.push(nodes);
        self.starts.push(start);
        self.horizon = start;
        self.overfull = 2 * NEAR;
        self.restore(owner);
    }

    /// Brings in the next segments until something is near again.
    fn refill(&mut self, owner: &mut impl Owner) {
        let has_grown = self.near.capacity() > 4 * NEAR;
        if has_grown && is_sparse(self.near.len(), self.near.capacity()) {
            self.near.shrink_to(2 * NEAR);
        }
        while self.near.is_empty()
            && let Some(mut nodes) = self.far.pop()
        {
            self.starts.pop();
            self.far_nodes -= nodes.len();
            nodes.retain(|node| {
                let known = owner.delay(node.place);
                let is_current = known == Delay { at: Some(node.at), position: FAR };
                if is_current {
                    // The very same entry may be there twice, if it was removed and entered again.
                    owner.set_delay(node.place, Delay { position: Position::default(), ..known });
                }
                is_current
            });
            self.far_len -= nodes.len();
            self.spare = std::mem::replace(&mut self.near, nodes);
            self.horizon = self.starts.last().copied().unwrap_or(Time::END);
            self.overfull = 2 * NEAR.max(self.near.len());
            self.restore(owner);
        }
        if self.far.is_empty() && self.near.is_empty() {
            self.spare = Vec::new();
        }
    }

    /// Makes a heap of what is near.
    fn restore(&mut self, owner: &mut impl Owner) {
        self.near.sort_unstable_by_key(|node| node.at);
        for position in 0..self.near.len() {
            self.put(position, self.near[position], owner);
        }
    }

    /// Removes from a segment what was left behind.
    fn drop_stale(&mut self, segment: usize, owner: &impl Owner) {
        if self.far_nodes == self.far_len {
            // To ask the items is to wait for memory.
            return;
        }
        let nodes = &mut self.far[segment];
        let before = nodes.len();
        nodes.retain(|node| owner.delay(node.place) == Delay { at: Some(node.at), position: FAR });
        self.far_nodes -= before - nodes.len();
    }

    /// Removes from all segments what was left behind, if it is most of what there is.
    fn tidy(&mut self, owner: &mut impl Owner) {
        if self.far_nodes / 2 > self.far_len + NEAR {
            (0..self.far.len()).for_each(|segment| self.drop_stale(segment, owner));
        }
    }
}

/// When the later half of some nodes begins. None if all are of one instant.
fn middle(nodes: &mut [Node]) -> Option<Time> {
    let half = nodes.len() / 2;
    let (before, node, after) = nodes.select_nth_unstable_by_key(half, |node| node.at);
    let at = node.at;
    if before.iter().any(|node| node.at < at) {
        return Some(at);
    }
    after.iter().map(|node| node.at).filter(|later| *later > at).min()
}

// === impl Delay ===

impl Delay {
    pub(crate) fn is_pending(self) -> bool {
        self.at.is_some()
    }
}

// === impl Position ===

impl Position {
    /// A queue holds fewer than `u32::MAX` items.
    fn of(index: usize) -> Self {
        debug_assert!(index < FAR.index(), "so many items have no places");
        Self(index as u32)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

// === impl Time ===

impl Time {
    const END: Self = Self(NonZeroU64::MAX);

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos.min(u64::MAX - 2)))
    }

    pub(crate) fn nanos(self) -> u64 {
        self.0.get() - 1
    }
}

#[cfg(test)]
mod tests;
