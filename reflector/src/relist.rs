//! A list on its way into the cache.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use lariat_api::{Object, ObjectKey};

use crate::cache::{Cache, Fresh};

/// What a list brought, against what the cache held.
///
/// An object that the cache holds in the same version is dropped as soon as it came, so a relist of what did not change takes no
/// memory but for the keys.
pub(crate) struct Relist<K> {
    /// Objects that the cache did not hold in this version, in the order of the list.
    changed: Vec<Fresh<K>>,
    /// The keys of all objects in the list. Empty if the cache was empty, when nothing can be missing.
    present: HashSet<ObjectKey, FixedState>,
    cache_was_empty: bool,
    /// Whether objects that did not change count as changed.
    keeps_unchanged: bool,
    objects: usize,
    /// Where in `changed` an object is, once that was asked for.
    places: Option<HashMap<ObjectKey, usize, FixedState>>,
}

impl<K: Object> Relist<K> {
    pub(crate) fn new(cache: &Cache<K>) -> Self {
        Self {
            changed: Vec::new(),
            present: HashSet::default(),
            cache_was_empty: cache.store().is_empty(),
            keeps_unchanged: cache.audience().tell_unchanged,
            objects: 0,
            places: None,
        }
    }

    /// Takes an object of the list.
    pub(crate) fn take(&mut self, fresh: Fresh<K>, cache: &Cache<K>) {
        self.objects += 1;
        if !self.cache_was_empty {
            let (known, held) = cache.store().get_key_value(fresh.key.as_str()).unzip();
            self.present.insert(known.unwrap_or_else(|| fresh.key.clone()));
            if !self.keeps_unchanged && cache.is_same(held.as_ref(), &fresh) {
                return;
            }
        }
        if let Some(places) = &mut self.places {
            places.insert(fresh.key.clone(), self.changed.len());
        }
        self.changed.push(fresh);
    }

    /// Takes an object that changed since it was listed, in the place of what it was.
    pub(crate) fn change(&mut self, fresh: Fresh<K>, cache: &Cache<K>) {
        match self.place(&fresh.key) {
            Some(place) => self.changed[place] = fresh,
            None => self.take(fresh, cache),
        }
    }

    /// Takes note that an object was deleted since it was listed.
    pub(crate) fn remove(&mut self, key: &ObjectKey) {
        self.present.remove(key.as_str());
        if let Some(place) = self.place(key) {
            self.changed.remove(place);
            // The places behind it are others now.
            self.places = None;
        }
    }

    /// Takes note that an object is in the list, though it cannot be used: what the cache holds stays.
    pub(crate) fn keep(&mut self, key: ObjectKey) {
        self.present.insert(key);
    }

    /// How many objects there were.
    pub(crate) fn objects(&self) -> usize {
        self.objects
    }

    pub(crate) fn into_parts(self) -> (Vec<Fresh<K>>, HashSet<ObjectKey, FixedState>) {
        (self.changed, self.present)
    }

    fn place(&mut self, key: &ObjectKey) -> Option<usize> {
        let changed = &self.changed;
        let places = self.places.get_or_insert_with(|| {
            changed.iter().enumerate().map(|(place, fresh)| (fresh.key.clone(), place)).collect()
        });
        places.get(key.as_str()).copied()
    }
}
