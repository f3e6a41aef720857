//! Which texts were decoded to which values.
//!
//! A table for the whole process, in parts with a lock each. It holds values weakly and forgets those that nobody has any more.
//! A text is taken in when it comes for the second time: what differs from object to object leaves no trace but a hash in a
//! slot that the next one takes.

use std::any::{Any, TypeId};
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use crate::limits::{INTERNED_IN_PART, INTERNED_PARTS, INTERNED_SEEN, MAX_INTERNED_TEXT};

static TABLE: [Mutex<Part>; INTERNED_PARTS] = [const { Mutex::new(Part::new()) }; INTERNED_PARTS];

/// Values that are absent everywhere need to be there only once.
static DEFAULTS: RwLock<Option<Defaults>> = RwLock::new(None);

type Defaults = HashMap<TypeId, &'static (dyn Any + Send + Sync), FixedState>;

/// With fewer entries no part is looked through for those that nobody has.
const FEWEST: usize = 16;

struct Part {
    entries: HashTable<Entry>,
    /// How many entries there have to be for another look at which of them nobody has.
    full: usize,
    /// Hashes of texts that came once, each in the slot that it belongs to.
    seen: [u64; INTERNED_SEEN],
}

struct Entry {
    hash: u64,
    kind: TypeId,
    text: Box<str>,
    value: Weak<dyn Any + Send + Sync>,
}

/// The value of a text, or a new one. `M` marks what the text is: the same text can be different things to different types.
pub(super) fn find_or_make<T: Send + Sync + 'static, M: ?Sized + 'static, E>(
    text: &str,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    if text.len() > MAX_INTERNED_TEXT {
        return make().map(Arc::new);
    }
    let kind = TypeId::of::<M>();
    let hash = hash(kind, text);
    let mut part = part(hash);
    if let Some(value) = part.find(hash, kind, text) {
        return Ok(value);
    }
    let came_before = part.note(hash);
    // Decoding may intern what is within.
    drop(part);
    let value = Arc::new(make()?);
    if came_before {
        self::part(hash).add(Entry { hash, kind, text: text.into(), value: Arc::downgrade(&value) as _ });
    }
    Ok(value)
}

/// The default value of a type, made once and never given back.
pub(super) fn default_of<T: Default + Send + Sync + 'static>() -> &'static T {
    let kind = TypeId::of::<T>();
    if let Some(value) = known_default(kind).and_then(|value| (value as &dyn Any).downcast_ref()) {
        return value;
    }
    // Made before the lock is taken: a default may look at other defaults.
    let made: &'static T = Box::leak(Box::default());
    let mut defaults = DEFAULTS.write().unwrap_or_else(PoisonError::into_inner);
    let first = *defaults.get_or_insert_default().entry(kind).or_insert(made);
    (first as &dyn Any).downcast_ref().unwrap_or(made)
}

fn known_default(kind: TypeId) -> Option<&'static (dyn Any + Send + Sync)> {
    DEFAULTS.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&kind).copied()
}

fn hash(kind: TypeId, text: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text.as_bytes());
    std::hash::Hash::hash(&kind, &mut hasher);
    hasher.finish()
}

fn part(hash: u64) -> MutexGuard<'static, Part> {
    // The lowest and the highest bits are what hash tables look at.
    let at = (hash >> 32) as usize % INTERNED_PARTS;
    TABLE[at].lock().unwrap_or_else(PoisonError::into_inner)
}

impl Part {
    const fn new() -> Self {
        Self { entries: HashTable::new(), full: FEWEST, seen: [0; INTERNED_SEEN] }
    }

    fn find<T: Send + Sync + 'static>(&self, hash: u64, kind: TypeId, text: &str) -> Option<Arc<T>> {
        let entry = self
            .entries
            .find(hash, |entry| entry.hash == hash && entry.kind == kind && *entry.text == *text)?;
        entry.value.upgrade()?.downcast().ok()
    }

    /// Takes note of a text that is not here; true if it came before.
    fn note(&mut self, hash: u64) -> bool {
        let slot = &mut self.seen[(hash >> 40) as usize % INTERNED_SEEN];
        std::mem::replace(slot, hash) == hash
    }

    fn add(&mut self, entry: Entry) {
        self.make_room();
        let same =
            |known: &Entry| known.hash == entry.hash && known.kind == entry.kind && known.text == entry.text;
        match self.entries.find_mut(entry.hash, same) {
            Some(known) => *known = entry,
            None => {
                self.entries.insert_unique(entry.hash, entry, |entry| entry.hash);
            }
        }
    }

    /// Forgets what nobody has; if the part is full nonetheless, half of the rest: whoever has that goes on having it, and those
    /// who come later share another copy. Looks at all only when there are twice as many as were found the last time.
    fn make_room(&mut self) {
        if self.entries.len() < self.full {
            return;
        }
        self.entries.retain(|entry| entry.value.strong_count() > 0);
        if self.entries.len() >= INTERNED_IN_PART {
            let mut keep = false;
            self.entries.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.full = (2 * self.entries.len()).clamp(FEWEST, INTERNED_IN_PART);
    }
}
