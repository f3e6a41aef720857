//! The places of items by their hashes.
//!
//! There are tables of a fixed size, and the first bits of a hash say which of them has an item, through a *directory*. A table is
//! cells in a row, of which the one for an item is the first free one from where the last bits of its hash point. A table that
//! is full is cut in two by one more bit. So the index grows by little at a time, however large it is: nobody waits
//! until a million items have moved.
//!
//! A look at a large index is a wait for memory, so there is one: hash and place are next to each other, and the free cell at
//! which a search in vain ends is the one that is then filled. And a cell is not emptied when its item goes. It stays until its table
//! is full; then what was left behind is weeded out, and the table is cut only if enough is left. So removing is free.
//!
//! Whoever looks for an item is asked whether a place holds it, and of what was left behind none does: its place is empty, or
//! has another item. If the same item comes again to the same place, what was left behind is right again.
//!
//! Where so many hashes begin alike that cutting is of no use, there is a *crowd* that is searched from one end to the other. So it is
//! only with items whose hashes are bad.

use std::hint;

use crate::limits::{DIRECTORY_SHARE, INDEX_TABLE, LARGE_INDEX, MOST_IN_TABLE};
use crate::slots::Place;
use crate::state::Hashed;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The tables by the first bits of hashes: a power of two, or nothing while there is one table.
    directory: Vec<u32>,
    /// How many bits those are.
    depth: u32,
    tables: Vec<[Option<Known>; INDEX_TABLE]>,
    /// What is known of each table.
    kept: Vec<Kept>,
    crowd: Vec<Known>,
    /// How many cells are filled, and how many are in the crowd.
    filled: usize,
    /// For what is left of a table that is weeded, to be entered again.
    left: Vec<Known>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    filled: u16,
    /// In how many first bits all of its hashes are alike.
    depth: u8,
    /// Whether some of them are in the crowd.
    is_crowded: bool,
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
    table: usize,
    cell: usize,
    /// Whether there is an item with the same hash, or was.
    has_alike: bool,
}

impl Index {
    /// The place with this hash that `holds` the item.
    #[inline]
    pub(crate) fn find(&self, hash: Hashed, mut holds: impl FnMut(Place) -> bool) -> Result<Place, Vacant> {
        let table = self.table_of(hash);
        let mut vacant = Vacant { hash, table, cell: hash.bits() % INDEX_TABLE, has_alike: false };
        let Some(cells) = self.tables.get(table) else { return Err(vacant) };
        // Some of the cells are always free.
        while let Some(known) = cells[vacant.cell] {
            if known.hash == hash {
                if holds(known.place) {
                    return Ok(known.place);
                }
                vacant.has_alike = true;
            }
            vacant.cell = (vacant.cell + 1) % INDEX_TABLE;
        }
        if !self.crowd.is_empty() {
            for known in self.crowd.iter().filter(|known| known.hash == hash) {
                if holds(known.place) {
                    return Ok(known.place);
                }
                vacant.has_alike = true;
            }
        }
        Err(vacant)
    }

    /// Whether a look at it is likely to be a wait for memory.
    pub(crate) fn is_large(&self) -> bool {
        self.tables.len() >= LARGE_INDEX
    }

    /// Looks at the cells for these hashes without using what is there. The next look finds them in the nearest cache, and these
    /// looks need not wait for each other.
    pub(crate) fn fetch(&self, hashes: impl Iterator<Item = Hashed>) {
        let cells = hashes.filter_map(|hash| {
            self.tables.get(self.table_of(hash)).map(|cells| cells[hash.bits() % INDEX_TABLE])
        });
        hint::black_box(cells.fold(0, |filled, cell| filled + usize::from(cell.is_some())));
    }

    /// Enters a place in which an item is now, one of `current` items. `hash_of` says with which hash an item is in a place.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        Vacant { hash, table, cell, has_alike }: Vacant,
        place: Place,
        current: usize,
        hash_of: impl Fn(Place) -> Option<Hashed>,
    ) {
        if has_alike && self.find(hash, |known| known == place).is_ok() {
            return;
        }
        match self.kept.get_mut(table) {
            Some(kept) if usize::from(kept.filled) < MOST_IN_TABLE => {
                kept.filled += 1;
                self.filled += 1;
                self.tables[table][cell] = Some(Known { hash, place });
            }
            _ => {
                // With the new one all would be current, so none was left behind.
                let is_clean = self.filled + 1 == current;
                self.make_room(table, is_clean, |known| hash_of(known.place) == Some(known.hash));
                self.enter(Known { hash, place });
            }
        }
    }

    #[inline]
    fn table_of(&self, hash: Hashed) -> usize {
        self.directory.get(self.first_bits(hash)).map_or(0, |table| *table as usize)
    }

    #[inline]
    fn first_bits(&self, hash: Hashed) -> usize {
        ((hash.bits() as u64) >> (u32::BITS - self.depth)) as usize
    }

    /// Removes what was left behind from a table that is full, and cuts it in two if that is not enough.
    #[cold]
    fn make_room(&mut self, table: usize, is_clean: bool, is_current: impl Fn(&Known) -> bool) {
        if self.tables.is_empty() {
            return self.push_table(0);
        }
        if is_clean && !self.can_cut(table) {
            return;
        }
        let mut left = std::mem::take(&mut self.left);
        let Kept { depth, is_crowded, .. } = self.kept[table];
        take_all(&mut self.tables[table], &mut left);
        if is_crowded {
            let mut crowd = std::mem::take(&mut self.crowd);
            left.extend(crowd.extract_if(.., |known| self.table_of(known.hash) == table));
            self.crowd = crowd;
        }
        self.filled -= left.len();
        if !is_clean {
            left.retain(is_current);
        }
        self.kept[table] = Kept { filled: 0, depth, is_crowded: false };
        let is_cut = left.len() > MOST_IN_TABLE / 2 && self.can_cut(table);
        if is_cut {
            self.cut(table, left[0].hash);
        }
        if left.len() > MOST_IN_TABLE {
            left.iter().for_each(|known| self.enter(*known));
        } else {
            let new = if is_cut { self.tables.len() - 1 } else { table };
            self.enter_all(&left, [table, new]);
        }
        self.left = left;
    }

    /// Enters what belongs to one of two tables, or of one, where there is room for all.
    fn enter_all(&mut self, left: &[Known], tables: [usize; 2]) {
        let mut filled = [0, 0];
        let last_bit = u32::BITS - u32::from(self.kept[tables[1]].depth);
        for known in left {
            let side = if tables[0] == tables[1] { 1 } else { (known.hash.bits() >> last_bit) & 1 };
            let cells = &mut self.tables[tables[side]];
            let mut cell = known.hash.bits() % INDEX_TABLE;
            while cells[cell].is_some() {
                cell = (cell + 1) % INDEX_TABLE;
            }
            cells[cell] = Some(*known);
            filled[side] += 1;
        }
        for (table, filled) in tables.into_iter().zip(filled) {
            self.kept[table].filled += filled;
        }
        self.filled += left.len();
    }

    /// A directory may not become much larger than what it leads to.
    fn can_cut(&self, table: usize) -> bool {
        u32::from(self.kept[table].depth) < self.depth
            || (self.depth < u32::BITS && self.directory.len() <= DIRECTORY_SHARE * self.tables.len())
    }

    /// Lets a new table have half of the hashes of an empty one, of which `hash` is any.
    fn cut(&mut self, table: usize, hash: Hashed) {
        if self.directory.is_empty() {
            self.directory.push(0);
        }
        if u32::from(self.kept[table].depth) == self.depth {
            self.directory = self.directory.iter().flat_map(|table| [*table, *table]).collect();
            self.depth += 1;
        }
        let depth = self.kept[table].depth + 1;
        self.kept[table].depth = depth;
        let new = self.tables.len();
        self.push_table(depth);
        // The parts of the directory that led to it are next to each other.
        let parts = 1 << (self.depth - u32::from(depth));
        let first = self.first_bits(hash) / (2 * parts) * (2 * parts);
        self.directory[first + parts..first + 2 * parts].fill(new as u32);
    }

    fn push_table(&mut self, depth: u8) {
        self.tables.push([None; INDEX_TABLE]);
        self.kept.push(Kept { filled: 0, depth, is_crowded: false });
    }

    /// Fills a cell with what no other says.
    fn enter(&mut self, known: Known) {
        let Err(Vacant { table, cell, .. }) = self.find(known.hash, |_| false) else { return };
        self.filled += 1;
        let kept = &mut self.kept[table];
        if usize::from(kept.filled) < MOST_IN_TABLE {
            kept.filled += 1;
            self.tables[table][cell] = Some(known);
        } else {
            kept.is_crowded = true;
            self.crowd.push(known);
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        INDEX_TABLE * self.tables.capacity()
            + self.left.capacity()
            + self.crowd.capacity()
            + self.directory.capacity()
    }
}

/// Moves what is in the cells to an empty vector, without a branch that nobody could foresee.
fn take_all(cells: &mut [Option<Known>; INDEX_TABLE], left: &mut Vec<Known>) {
    const NOTHING: Known = Known { hash: Hashed::ZERO, place: Place::FIRST };
    left.resize(INDEX_TABLE, NOTHING);
    let mut count = 0;
    for cell in cells {
        left[count] = cell.unwrap_or(NOTHING);
        count += usize::from(cell.is_some());
        *cell = None;
    }
    left.truncate(count);
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
                    known.insert(item, place);
                    index.insert(vacant, Place::last_of(place + 1), known.len(), |place| {
                        places[place.index()].map(hash)
                    });
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
            index.insert(vacant, place, 1, |_| Some(hash));
        }
        assert!(index.capacity() <= 2 * INDEX_TABLE, "{}", index.capacity());
    }

    /// Hashes that are all the same can be told apart by no bit. The directory does not grow for them, and all are found.
    #[test]
    fn a_crowd_is_found() {
        let mut index = Index::default();
        let hash = Hashed::of(&1);
        for item in 1..=2_000 {
            let Err(vacant) = index.find(hash, |_| false) else { continue };
            index.insert(vacant, Place::last_of(item), item, |_| Some(hash));
        }
        for item in 1..=2_000 {
            let place = Place::last_of(item);
            assert_eq!(index.find(hash, |known| known == place).ok(), Some(place));
        }
        assert!(
            index.crowd.len() > 1_000 && index.directory.len() <= 2 * DIRECTORY_SHARE * index.tables.len()
        );
        // When half of them have gone, they make room.
        let is_there = |place: Place| (place.index() < 1_000).then_some(hash);
        let Err(vacant) = index.find(hash, |_| false) else { return };
        index.insert(vacant, Place::last_of(2_001), 1_001, is_there);
        assert!(index.crowd.len() < 1_001, "{}", index.crowd.len());
    }
}
