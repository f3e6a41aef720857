//! The store of an informer together with the handlers that hear of its changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use lariat_api::{KeyError, Object, ObjectKey};
use lariat_store::Store;
use tokio::sync::watch;

use crate::handler::Deleted;
use crate::listener::{Listener, Notification};

pub(crate) struct Cache<K> {
    store: Store<K>,
    /// Held while a change is applied and handed out, so that a handler that is added meanwhile hears of it either as
    /// part of the store or as a change.
    audience: Mutex<Audience<K>>,
}

pub(crate) struct Audience<K> {
    pub(crate) listeners: Vec<Listener<K>>,
    /// Whether the first list is in the store.
    pub(crate) synced: watch::Sender<bool>,
}

/// What a list brought, against what the cache held.
pub(crate) struct Relist<K> {
    /// Objects that the cache did not hold in this version, in the order of the list.
    changed: Vec<(ObjectKey, Arc<K>)>,
    /// The keys of all objects in the list. Empty if the cache was empty, when nothing can be missing.
    present: HashSet<ObjectKey, FixedState>,
    cache_was_empty: bool,
}

impl<K: Object> Cache<K> {
    pub(crate) fn new(store: Store<K>) -> Self {
        Self {
            store,
            audience: Mutex::new(Audience { listeners: Vec::new(), synced: watch::Sender::new(false) }),
        }
    }

    pub(crate) fn store(&self) -> &Store<K> {
        &self.store
    }

    pub(crate) fn audience(&self) -> MutexGuard<'_, Audience<K>> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies an object that a watch said was added or modified. What it is to the handlers depends on the store.
    pub(crate) fn apply(&self, object: K) -> Result<(), KeyError> {
        let (key, new) = (object.key()?, Arc::new(object));
        let audience = self.audience();
        let old = self.store.insert(key.clone(), new.clone());
        audience.tell_change(&key, old, new);
        Ok(())
    }

    /// Applies an object that a watch said was deleted. Handlers hear of it even if the cache did not hold it.
    pub(crate) fn delete(&self, object: K) -> Result<(), KeyError> {
        let (key, object) = (object.key()?, Arc::new(object));
        let audience = self.audience();
        self.store.remove(key.as_str());
        audience.tell(|| Notification::Deleted(Deleted::Final { key: key.clone(), object: object.clone() }));
        Ok(())
    }

    pub(crate) fn begin_relist(&self) -> Relist<K> {
        Relist { changed: Vec::new(), present: HashSet::default(), cache_was_empty: self.store.is_empty() }
    }

    /// Makes the cache equal to a list in one step, then tells of the deletions and of the changes in the list's order.
    pub(crate) fn finish_relist(&self, relist: Relist<K>) {
        let Relist { changed, present, .. } = relist;
        let audience = self.audience();
        let mut missing: Vec<ObjectKey> = self.store.keys();
        missing.retain(|key| !present.contains(key));
        missing.sort_unstable();
        let (deleted, changed) = self.store.transaction(|writes| {
            let deleted: Vec<_> =
                missing.into_iter().filter_map(|key| Some((writes.remove(key.as_str())?, key))).collect();
            let changed: Vec<_> = changed
                .into_iter()
                .map(|(key, new)| (writes.insert(key.clone(), new.clone()), key, new))
                .collect();
            (deleted, changed)
        });
        for (last_known, key) in deleted {
            audience.tell(|| {
                Notification::Deleted(Deleted::Tombstone { key: key.clone(), last_known: last_known.clone() })
            });
        }
        for (old, key, new) in changed {
            audience.tell_change(&key, old, new);
        }
        if !audience.synced.send_replace(true) {
            audience.tell(|| Notification::Synced);
        }
    }
}

impl<K: Object> Relist<K> {
    /// Takes note of an object of the list. One that the cache holds in the same version is dropped at once, so that a
    /// relist of what did not change takes no memory.
    pub(crate) fn take(&mut self, object: K, cache: &Cache<K>) -> Result<(), KeyError> {
        let key = object.key()?;
        if !self.cache_was_empty {
            if let Some((known, held)) = cache.store.get_key_value(key.as_str())
                && same_version(&*held, &object)
            {
                self.present.insert(known);
                return Ok(());
            }
            self.present.insert(key.clone());
        }
        self.changed.push((key, Arc::new(object)));
        Ok(())
    }

    /// Takes note that an object is in the list, though it cannot be used: what the cache holds stays.
    pub(crate) fn keep(&mut self, key: ObjectKey) {
        self.present.insert(key);
    }
}

impl<K: Object> Audience<K> {
    pub(crate) fn tell(&self, notification: impl Fn() -> Notification<K>) {
        for listener in &self.listeners {
            listener.send(notification());
        }
    }

    /// Tells that `new` took the place of `old`.
    fn tell_change(&self, key: &ObjectKey, old: Option<Arc<K>>, new: Arc<K>) {
        let is_in_initial_list = !*self.synced.borrow();
        let added = || Notification::Added { object: new.clone(), is_in_initial_list };
        match old {
            None => self.tell(added),
            Some(old) if same_version(&*old, &*new) => {}
            Some(old) if old.uid() == new.uid() => {
                self.tell(|| Notification::Updated { old: old.clone(), new: new.clone() });
            }
            // Deleted and created again under the same name while nobody looked.
            Some(old) => {
                let deleted = || Deleted::Tombstone { key: key.clone(), last_known: old.clone() };
                self.tell(|| Notification::Deleted(deleted()));
                self.tell(added);
            }
        }
    }
}

/// Whether two objects under one key are the same object in the same version.
fn same_version<K: Object>(a: &K, b: &K) -> bool {
    !a.resource_version().is_empty() && a.resource_version() == b.resource_version() && a.uid() == b.uid()
}
