//! The objects of all resources, in every version that is still known.
//!
//! One counter, the revision, grows with every write. The last writes are kept in a window of bounded size, each with
//! the object before and after it: a watch that begins in the window goes on from there, and a list at an older
//! revision is found by taking writes back. What lies before the window is compacted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::meta;

/// `plural.group`, or the plural alone for the core group. All versions of a resource share it.
pub(crate) type ResourceName = Arc<str>;

/// `namespace/name`, or `name` for cluster-wide resources. Lists are in this order.
pub(crate) type Key = String;

/// An object in one version.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) object: Value,
}

/// A write.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) resource: ResourceName,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Stored>>,
    /// None if the object was deleted.
    pub(crate) after: Option<Arc<Stored>>,
    /// The object as a watch shows it: `after`, or the last state with the revision of the deletion.
    pub(crate) shown: Arc<Stored>,
}

/// A revision that is not known any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compacted {
    /// The oldest revision that is known.
    pub(crate) oldest: u64,
}

#[derive(Debug)]
pub(crate) struct Storage {
    revision: u64,
    tables: BTreeMap<ResourceName, BTreeMap<Key, Arc<Stored>>>,
    window: VecDeque<Arc<Change>>,
    window_size: u64,
    /// All writes after this revision are in the window.
    compacted: u64,
}

/// A revision is an `int64` in etcd.
const MAX_REVISION: u64 = i64::MAX as u64;

impl Storage {
    /// An empty storage whose window holds so many writes, at least one. The first revision is 1, as etcd's.
    pub(crate) fn new(window_size: usize) -> Self {
        let window_size = u64::try_from(window_size.max(1)).unwrap_or(u64::MAX);
        Self { revision: 1, tables: BTreeMap::new(), window: VecDeque::new(), window_size, compacted: 1 }
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, resource: &str, key: &str) -> Option<&Arc<Stored>> {
        self.tables.get(resource)?.get(key)
    }

    /// The objects of a resource in the order of their keys: those of one namespace, or all for `""`.
    pub(crate) fn list(&self, resource: &str, namespace: &str) -> Vec<(Key, Arc<Stored>)> {
        let Some(table) = self.tables.get(resource) else { return Vec::new() };
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let from_prefix = table.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        from_prefix.map(|(key, stored)| (key.clone(), stored.clone())).collect()
    }

    /// The same at an earlier revision.
    pub(crate) fn list_at(
        &self,
        resource: &str,
        namespace: &str,
        revision: u64,
    ) -> Result<Vec<(Key, Arc<Stored>)>, Compacted> {
        if revision >= self.revision {
            return Ok(self.list(resource, namespace));
        }
        if revision < self.compacted {
            return Err(Compacted { oldest: self.compacted });
        }
        let mut objects: BTreeMap<Key, Arc<Stored>> = self.list(resource, namespace).into_iter().collect();
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let later = self.window.iter().rev().take_while(|change| change.revision > revision);
        for change in later.filter(|change| &*change.resource == resource && change.key.starts_with(&prefix))
        {
            match &change.before {
                Some(before) => drop(objects.insert(change.key.clone(), before.clone())),
                None => drop(objects.remove(&change.key)),
            }
        }
        Ok(objects.into_iter().collect())
    }

    /// Writes an object, whose resourceVersion becomes that of the write.
    pub(crate) fn put(&mut self, resource: &ResourceName, key: Key, mut object: Value) -> Arc<Change> {
        self.revision += 1;
        let revision = self.revision;
        meta::set_resource_version(&mut object, revision);
        let after = Arc::new(Stored { object });
        let before = self.tables.entry(resource.clone()).or_default().insert(key.clone(), after.clone());
        self.record(Change {
            revision,
            resource: resource.clone(),
            key,
            before,
            after: Some(after.clone()),
            shown: after,
        })
    }

    /// Removes an object; none if there is none.
    pub(crate) fn delete(&mut self, resource: &ResourceName, key: &str) -> Option<Arc<Change>> {
        let before = self.tables.get_mut(resource)?.remove(key)?;
        self.revision += 1;
        let revision = self.revision;
        let mut last = before.object.clone();
        meta::set_resource_version(&mut last, revision);
        let shown = Arc::new(Stored { object: last });
        let (resource, key) = (resource.clone(), key.to_owned());
        Some(self.record(Change { revision, resource, key, before: Some(before), after: None, shown }))
    }

    /// The writes after a revision.
    pub(crate) fn changes_since(
        &self,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Arc<Change>> + use<'_>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted { oldest: self.compacted });
        }
        let start = self.window.partition_point(|change| change.revision <= revision);
        Ok(self.window.range(start..))
    }

    /// Counts writes that nothing else is known of. They take their places in the window.
    pub(crate) fn advance(&mut self, writes: u64) {
        self.revision = self.revision.saturating_add(writes).min(MAX_REVISION.max(self.revision));
        self.trim();
    }

    /// The objects as they were at a revision, or at the nearest one that is known; without a window.
    pub(crate) fn snapshot(&self, revision: u64) -> Self {
        let revision = revision.clamp(self.compacted, self.revision);
        let mut tables = self.tables.clone();
        for change in self.window.iter().rev().take_while(|change| change.revision > revision) {
            let table = tables.entry(change.resource.clone()).or_default();
            match &change.before {
                Some(before) => drop(table.insert(change.key.clone(), before.clone())),
                None => drop(table.remove(&change.key)),
            }
        }
        let window_size = self.window_size;
        Self { revision, tables, window: VecDeque::new(), window_size, compacted: revision }
    }

    /// Forgets what was before a revision.
    pub(crate) fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision.min(self.revision));
        while self.window.front().is_some_and(|change| change.revision <= self.compacted) {
            self.window.pop_front();
        }
    }

    /// How many writes the window holds.
    pub(crate) fn window_len(&self) -> usize {
        self.window.len()
    }

    fn record(&mut self, change: Change) -> Arc<Change> {
        let change = Arc::new(change);
        self.window.push_back(change.clone());
        self.trim();
        change
    }

    /// Keeps the window to its size: each revision is one write.
    fn trim(&mut self) {
        self.compact(self.revision.saturating_sub(self.window_size));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(name: &str) -> Value {
        json!({"metadata": {"name": name}})
    }

    fn keys(list: &[(Key, Arc<Stored>)]) -> Vec<String> {
        list.iter().map(|(key, stored)| format!("{key}@{}", meta::resource_version(&stored.object))).collect()
    }

    #[test]
    fn every_revision_in_the_window_can_be_listed() {
        let mut storage = Storage::new(100);
        let resource: ResourceName = "widgets".into();
        let mut wants = Vec::new();
        for round in 0..40_u32 {
            let key = format!("{}/{}", ["a", "b"][(round % 2) as usize], round % 7);
            if round % 5 == 4 {
                storage.delete(&resource, &key);
            } else {
                storage.put(&resource, key, named("x"));
            }
            wants.push((
                storage.revision(),
                keys(&storage.list("widgets", "")),
                keys(&storage.list("widgets", "a")),
            ));
        }
        for (revision, all, in_a) in wants {
            assert_eq!(keys(&storage.list_at("widgets", "", revision).unwrap()), all, "at {revision}");
            assert_eq!(keys(&storage.list_at("widgets", "a", revision).unwrap()), in_a, "at {revision}");
            let snapshot = storage.snapshot(revision);
            assert_eq!(snapshot.revision(), revision);
            assert_eq!(keys(&snapshot.list("widgets", "")), all, "at {revision}");
        }
    }

    #[test]
    fn what_lies_before_the_window_is_compacted() {
        let mut storage = Storage::new(3);
        let resource: ResourceName = "widgets".into();
        for _ in 0..5 {
            storage.put(&resource, "a".into(), named("a"));
        }
        assert_eq!((storage.revision(), storage.window_len()), (6, 3));
        assert_eq!(storage.changes_since(3).unwrap().count(), 3);
        assert_eq!(storage.changes_since(2).err(), Some(Compacted { oldest: 3 }));
        assert!(storage.list_at("widgets", "", 2).is_err());
        storage.compact(5);
        assert_eq!(storage.changes_since(5).unwrap().count(), 1);
        assert!(storage.changes_since(4).is_err());
    }

    #[test]
    fn writes_that_are_only_counted_take_places_in_the_window() {
        let mut storage = Storage::new(3);
        let resource: ResourceName = "widgets".into();
        storage.put(&resource, "a".into(), named("a"));
        storage.advance(1);
        assert_eq!((storage.revision(), storage.window_len()), (3, 1));
        storage.put(&resource, "b".into(), named("b"));
        assert_eq!(storage.changes_since(1).unwrap().count(), 2);
        assert_eq!(keys(&storage.list_at("widgets", "", 3).unwrap()), ["a@2"]);
        storage.put(&resource, "b".into(), named("b"));
        assert_eq!(storage.changes_since(1).err(), Some(Compacted { oldest: 2 }));
        assert_eq!(storage.changes_since(2).unwrap().count(), 2);
        storage.advance(u64::MAX);
        assert_eq!((storage.revision(), storage.window_len()), (MAX_REVISION, 0));
        storage.put(&resource, "b".into(), named("b"));
        assert_eq!(storage.list("widgets", "").len(), 2);
    }

    #[test]
    fn a_deleted_object_is_shown_with_the_revision_of_its_deletion() {
        let mut storage = Storage::new(10);
        let resource: ResourceName = "widgets".into();
        storage.put(&resource, "a".into(), named("a"));
        let change = storage.delete(&resource, "a").unwrap();
        assert_eq!(meta::resource_version(&change.shown.object), "3");
        assert!(storage.delete(&resource, "a").is_none());
    }
}
