//! The bounds of this crate, each with its reason.

use std::time::Duration;

/// The longest delay: 200 years. Adding more than this to a clock reading could overflow on some platform, and nobody
/// will be there to notice the difference.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(200 * 366 * 24 * 3600);

/// How often the item that has waited longest is handed out before those of a higher priority: every so many items. Its wait
/// is bounded, and the important ones lose little.
pub(crate) const AGEING: u32 = 16;

/// For how many turns of a spinning core one stays away from a lock that is taken, and then again: some microseconds each time.
pub(crate) const PATIENCE: [u32; 5] = [128, 256, 512, 512, 512];

/// How many priorities keep their memory while nothing is queued in them. More than these are seldom in use.
pub(crate) const KEPT_LEVELS: usize = 8;

/// How many cells a table of an index has: 4 KiB, so that a small queue takes little memory and cutting one is no pause.
pub(crate) const INDEX_TABLE: usize = 512;

/// How many cells of a table are filled at most. With more, a search would look at more than one line of memory.
pub(crate) const MOST_IN_TABLE: usize = INDEX_TABLE / 8 * 5;

/// How many parts the directory of an index has for each table at most: far more than hashes need that are spread evenly.
pub(crate) const DIRECTORY_SHARE: usize = 16;

/// From how many tables on an index is larger than the nearest cache of a core: 128 KiB.
pub(crate) const LARGE_INDEX: usize = 32;

/// How many additions are entered together at most: as many as a core can wait for at once.
pub(crate) const MOST_PENDING: usize = 32;

/// How many delayed items are kept in order: few enough that they stay in the cache of a core, and that bringing in so many at once
/// is no pause.
pub(crate) const NEAR: usize = 1024;

/// A collection smaller than this is never shrunk: the memory is not worth the copying.
const KEPT_CAPACITY: usize = 1024;

/// Whether a collection holds so little that its memory should be given back. A factor of eight keeps the copying a
/// small share of the removals that led here; shrinking to twice the length leaves room to grow again.
pub(crate) fn is_sparse(len: usize, capacity: usize) -> bool {
    capacity > KEPT_CAPACITY && len < capacity / 8
}
