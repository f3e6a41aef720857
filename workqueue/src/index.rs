//! The places of items by their hashes: cells in a row, of which the one for an item is the first free one from where its hash
//! points.
//!
//! A look at a large table is a wait for memory, so there is one: hash and place are next to each other, and the free cell at
//! which a search in vain ends is the one that is then filled. And a cell is not emptied when its item goes. It stays until half
//! of all cells are filled; then what is left behind is weeded out, and the table grows if more than a quarter is current. So
//! removing is free.
//!
//! Whoever looks for an item is asked whether a place holds it, and of what was left behind none does: its place is empty, or
//! has another item. If the same item comes again to the same place, what was left behind is right again.

use std::hint;

use crate::limits::{LARGE_INDEX, LEAST_INDEX};
use crate::state::{Hashed, Place};

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// None, or a power of two.
    cells: Vec<Option<Known>>,
    filled: usize,
    /// For what is left of a table that is weeded, to be entered again.
    left: Vec<Known>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    hash: Hashed,
    place: Place,
}

/// Where an item would be entered that is not there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vacant {
    hash: Hashed,
    cell: usize,
    /// Whether there is an item with the same hash, or was.
    has_alike: bool,
}

impl Index {
    /// The place with this hash that `holds` the item.
    #[inline]
    pub(crate) fn find(&self, hash: Hashed, mut holds: impl FnMut(Place) -> bool) -> Result<Place, Vacant> {
        let mask = self.cells.len().wrapping_sub(1);
        let mut cell = hash.bits() & mask;
        let mut has_alike = false;
        // At least half of the cells are free.
        while let Some(Some(known)) = self.cells.get(cell) {
            if known.hash == hash {
                if holds(known.place) {
                    return Ok(known.place);
                }
                has_alike = true;
            }
            cell = (cell + 1) & mask;
        }
        Err(Vacant { hash, cell, has_alike })
    }

    /// Whether a look at it is likely to be a wait for memory.
    pub(crate) fn is_large(&self) -> bool {
        self.cells.len() >= LARGE_INDEX
    }

    /// Looks at the cells for these hashes without using what is there. The next look finds them in the nearest cache, and these
    /// looks need not wait for each other.
    pub(crate) fn fetch(&self, hashes: impl Iterator<Item = Hashed>) {
        let mask = self.cells.len().wrapping_sub(1);
        let cells = hashes.filter_map(|hash| self.cells.get(hash.bits() & mask));
        hint::black_box(cells.fold(0, |filled, cell| filled + usize::from(cell.is_some())));
    }

    /// Enters a place in which an item is now. `hash_of` says with which hash an item is in a place.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        Vacant { hash, cell, has_alike }: Vacant,
        place: Place,
        hash_of: impl Fn(Place) -> Option<Hashed>,
    ) {
        if has_alike && self.find(hash, |known| known == place).is_ok() {
            return;
        }
        if 2 * (self.filled + 1) > self.cells.len() {
            self.weed(hash_of);
            return self.enter(Known { hash, place });
        }
        self.cells[cell] = Some(Known { hash, place });
        self.filled += 1;
    }

    /// Removes what was left behind.
    #[cold]
    fn weed(&mut self, hash_of: impl Fn(Place) -> Option<Hashed>) {
        let is_current = |known: &Known| hash_of(known.place) == Some(known.hash);
        self.left.extend(self.cells.iter().flatten().copied().filter(is_current));
        let cells = self.cells.len();
        let enough = if self.left.len() > cells / 4 { 2 * cells } else { cells.max(LEAST_INDEX) };
        if enough > cells {
            self.cells = vec![None; enough];
        } else {
            self.cells.fill(None);
        }
        self.filled = 0;
        let mut left = std::mem::take(&mut self.left);
        left.drain(..).for_each(|known| self.enter(known));
        left.shrink_to(LEAST_INDEX);
        self.left = left;
    }

    /// Fills a cell with what no other says.
    fn enter(&mut self, known: Known) {
        if let Err(Vacant { cell, .. }) = self.find(known.hash, |_| false) {
            self.cells[cell] = Some(known);
            self.filled += 1;
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.cells.capacity() + self.left.capacity()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Items come and go in places that are used again, many with the same hash.
    #[test]
    fn what_is_there_is_found_and_nothing_else() {
        let mut index = Index::default();
        let mut places: Vec<Option<u64>> = vec![None; 600];
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        let hash = |item: u64| Hashed::of(&(item % 500));
        let mut seed = 3_u64;
        let mut largest = 0;
        for _ in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let item = (seed >> 33) % 1_000;
            let found = index.find(hash(item), |place| places[place.index()] == Some(item));
            assert_eq!(found.ok().map(Place::index), known.get(&item).copied());
            match found {
                Ok(place) => {
                    places[place.index()] = None;
                    known.remove(&item);
                }
                Err(vacant) => {
                    let Some(place) = places.iter().position(Option::is_none) else { continue };
                    places[place] = Some(item);
                    index.insert(vacant, Place::last_of(place + 1), |place| places[place.index()].map(hash));
                    known.insert(item, place);
                }
            }
            largest = largest.max(index.capacity());
        }
        assert!(largest < 10_000, "{largest}");
    }

    /// What it left behind is right again each time.
    #[test]
    fn an_item_that_comes_and_goes_in_one_place_takes_no_more_room() {
        let mut index = Index::default();
        let (hash, place) = (Hashed::of(&1), Place::last_of(1));
        for _ in 0..100_000 {
            let Err(vacant) = index.find(hash, |_| false) else { continue };
            index.insert(vacant, place, |_| Some(hash));
        }
        assert!(index.capacity() <= 2 * LEAST_INDEX, "{}", index.capacity());
    }
}
