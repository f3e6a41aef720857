use std::collections::BTreeMap;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A map that forgets what was not used for longest beyond so many entries.
#[derive(Debug)]
pub(super) struct Lru<V> {
    capacity: usize,
    entries: HashMap<String, (V, u64), FixedState>,
    by_use: BTreeMap<u64, String>,
    uses: u64,
}

impl<V> Lru<V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, entries: HashMap::default(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// The value of a key, which is in use by that.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let (value, used) = self.entries.get_mut(key)?;
        if let Some(key) = self.by_use.remove(used) {
            self.uses += 1;
            *used = self.uses;
            self.by_use.insert(self.uses, key);
        }
        Some(value)
    }

    pub(super) fn insert(&mut self, key: String, value: V) {
        if let Some(known) = self.get_mut(&key) {
            *known = value;
            return;
        }
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, (value, self.uses));
        while self.entries.len() > self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let mut lru = Lru::new(2);
        lru.insert("a".into(), 1);
        lru.insert("b".into(), 2);
        assert_eq!(lru.get_mut("a"), Some(&mut 1));
        lru.insert("c".into(), 3);
        assert_eq!((lru.get_mut("a").copied(), lru.get_mut("b").copied()), (Some(1), None));
        lru.insert("c".into(), 4);
        assert_eq!((lru.entries.len(), lru.by_use.len(), lru.get_mut("c").copied()), (2, 2, Some(4)));
    }
}
