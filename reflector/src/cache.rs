//! The store of an informer together with the handlers that hear of its changes.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lariat_api::{Kind, Object, ObjectKey};
use lariat_store::Store;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::delivery::{Event, Listener};
use crate::error::{ReflectorError, TransformError};
use crate::handler::Deleted;
use crate::relist::Relist;
use crate::sync::{Mutex, MutexGuard};
use crate::version::{SyncVersion, advance};

pub(crate) struct Cache<K> {
    store: Store<K>,
    kind: Kind,
    transform: Option<Transform<K>>,
    /// The versions of objects whose transform changed theirs.
    versions: Mutex<HashMap<ObjectKey, Arc<str>, FixedState>>,
    /// Up to which version of the server the store has come.
    pub(crate) version: SyncVersion,
    /// Held while a change is applied and handed out, so that a handler that is added meanwhile hears of it either as
    /// part of the store or as a change.
    audience: Mutex<Audience<K>>,
}

/// Changes an object before it is stored.
pub(crate) type Transform<K> = Arc<dyn Fn(&mut K) -> Result<(), TransformError> + Send + Sync>;

pub(crate) struct Audience<K> {
    pub(crate) listeners: Vec<Listener<K>>,
    /// Whether the first list is in the store.
    pub(crate) synced: watch::Sender<bool>,
    /// Whether handlers are told of updates from a version to the same.
    pub(crate) tell_unchanged: bool,
    /// Whether an object that was created again while nobody looked is an update to handlers.
    pub(crate) recreation_is_update: bool,
    /// How often it is looked which handlers are to be told of everything again; zero for never.
    pub(crate) resync_check: Duration,
}

/// An object, ready to be stored.
pub(crate) struct Fresh<K> {
    pub(crate) key: ObjectKey,
    pub(crate) object: Arc<K>,
    /// Its version, if the transform has changed it.
    version: Option<Arc<str>>,
}

/// What a watch said of an object.
pub(crate) enum Change<K> {
    /// It was added or modified. What it is to the handlers depends on the store. The cache has come to its version then, if
    /// versions count.
    Put { fresh: Fresh<K>, version_counts: bool },
    /// It was deleted.
    Delete(Gone<K>),
}

/// An object that is no more, ready to be handed out.
pub(crate) struct Gone<K> {
    key: ObjectKey,
    version: String,
    /// None if the transform failed.
    object: Option<Arc<K>>,
}

/// How many changes are handed to the handlers under one lock.
const HANDED_OUT_AT_ONCE: usize = 256;

impl<K: Object> Cache<K> {
    pub(crate) fn new(kind: Kind, store: Store<K>, transform: Option<Transform<K>>) -> Self {
        Self {
            store,
            kind,
            transform,
            versions: Mutex::default(),
            version: SyncVersion::new(),
            audience: Mutex::new(Audience {
                listeners: Vec::new(),
                synced: watch::Sender::new(false),
                tell_unchanged: false,
                recreation_is_update: false,
                resync_check: Duration::ZERO,
            }),
        }
    }

    pub(crate) fn store(&self) -> &Store<K> {
        &self.store
    }

    pub(crate) fn audience(&self) -> MutexGuard<'_, Audience<K>> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks and transforms an object that came from the server.
    pub(crate) fn prepare(&self, mut object: K) -> Result<Fresh<K>, ReflectorError> {
        self.check_kind(&object)?;
        let key = object.key().map_err(ReflectorError::NoKey)?;
        let mut version = None;
        if let Some(transform) = &self.transform {
            let before = object.resource_version().to_owned();
            transform(&mut object).map_err(|cause| ReflectorError::Transform { key: key.clone(), cause })?;
            if object.resource_version() != before {
                version = Some(before.into());
            }
        }
        Ok(Fresh { key, object: Arc::new(object), version })
    }

    fn check_kind(&self, object: &K) -> Result<(), ReflectorError> {
        let Some((api_version, kind)) = object.type_meta() else { return Ok(()) };
        if kind == self.kind.kind() && api_version == self.kind.api_version() {
            return Ok(());
        }
        Err(ReflectorError::WrongKind {
            wanted: format!("{} {}", self.kind.api_version(), self.kind.kind()),
            found: format!("{api_version} {kind}"),
            name: object.name().to_owned(),
        })
    }

    /// Checks and transforms the last state of an object that was deleted.
    pub(crate) fn prepare_deletion(&self, mut object: K) -> Result<Gone<K>, ReflectorError> {
        self.check_kind(&object)?;
        let key = object.key().map_err(ReflectorError::NoKey)?;
        let version = object.resource_version().to_owned();
        let transformed = self.transform.as_ref().map_or(Ok(()), |transform| transform(&mut object));
        if let Err(error) = &transformed {
            // It is gone all the same. What handlers may see of it is what they have seen before.
            tracing::warn!(%key, %error, "transform of a deleted object failed");
        }
        Ok(Gone { key, version, object: transformed.is_ok().then(|| Arc::new(object)) })
    }

    /// Applies what a watch said, in one step, then tells the handlers. Returns how far the slowest of them is behind.
    pub(crate) fn apply(&self, changes: impl IntoIterator<Item = Change<K>>) -> usize {
        let audience = self.audience();
        let mut story = Vec::new();
        let mut reached = self.version.current();
        self.store.transaction(|writes| {
            for change in changes {
                match change {
                    Change::Put { fresh, version_counts } => {
                        let is_unchanged = self.is_same(writes.get(fresh.key.as_str()), &fresh);
                        if version_counts {
                            advance(&mut reached, fresh.version());
                        }
                        let Fresh { key, object: new, version } = fresh;
                        self.note_version(&key, version);
                        let old = writes.insert(key.clone(), new.clone());
                        audience.tell_change(&key, old, new, is_unchanged, &mut story);
                    }
                    Change::Delete(Gone { key, version, object }) => {
                        self.note_version(&key, None);
                        let last_known = writes.remove(key.as_str());
                        advance(&mut reached, &version);
                        // Handlers hear of it even if the cache did not hold it.
                        let deleted = match (object, last_known) {
                            (Some(object), _) => Deleted::Final { key, object },
                            (None, Some(last_known)) => Deleted::Tombstone { key, last_known },
                            (None, None) => continue,
                        };
                        story.push(Event::Deleted(deleted));
                    }
                }
            }
        });
        self.version.advance(&reached);
        audience.tell(story)
    }

    /// Makes the cache equal to a list in one step, then tells of the deletions and of the changes in the list's order.
    pub(crate) fn finish_relist(&self, relist: Relist<K>, version: &str) {
        let (changed, present) = relist.into_parts();
        let audience = self.audience();
        let mut missing: Vec<ObjectKey> = self.store.keys();
        missing.retain(|key| !present.contains(key));
        missing.sort_unstable();
        let (deleted, changed) = self.store.transaction(|writes| {
            let deleted: Vec<_> =
                missing.into_iter().filter_map(|key| Some((writes.remove(key.as_str())?, key))).collect();
            let changed: Vec<_> = changed
                .into_iter()
                .map(|fresh| {
                    // What the cache held in this version was left out, but an object may come twice.
                    let is_unchanged = self.is_same(writes.get(fresh.key.as_str()), &fresh);
                    let Fresh { key, object, version } = fresh;
                    self.note_version(&key, version);
                    (writes.insert(key.clone(), object.clone()), key, object, is_unchanged)
                })
                .collect();
            (deleted, changed)
        });
        self.version.set(version);
        let mut story = Vec::with_capacity(HANDED_OUT_AT_ONCE);
        for (last_known, key) in deleted {
            self.note_version(&key, None);
            story.push(Event::Deleted(Deleted::Tombstone { key, last_known }));
        }
        for (old, key, new, is_unchanged) in changed {
            audience.tell_change(&key, old, new, is_unchanged, &mut story);
            if story.len() >= HANDED_OUT_AT_ONCE {
                audience.tell(std::mem::take(&mut story));
            }
        }
        if !audience.synced.send_replace(true) {
            story.push(Event::Synced);
        }
        audience.tell(story);
    }

    /// Whether what is held is an object in this very version, as it was before the transform.
    pub(crate) fn is_same(&self, held: Option<&Arc<K>>, fresh: &Fresh<K>) -> bool {
        let Some(held) = held else { return false };
        if held.uid() != fresh.object.uid() {
            return false;
        }
        let version = fresh.version();
        let is_same =
            match self.transform.as_ref().and_then(|_| self.versions().get(fresh.key.as_str()).cloned()) {
                Some(held) => *held == *version,
                None => held.resource_version() == version,
            };
        is_same && !version.is_empty()
    }

    /// Tells the handlers that are due of everything.
    pub(crate) fn resync(&self, now: Instant) {
        let mut audience = self.audience();
        let due: Vec<u64> =
            audience.listeners.iter_mut().filter_map(|one| one.is_due(now).then_some(one.id)).collect();
        if due.is_empty() {
            return;
        }
        let objects = self.store.list();
        for listener in audience.listeners.iter().filter(|listener| due.contains(&listener.id)) {
            let again = |object: &Arc<K>| Event::Updated { old: object.clone(), new: object.clone() };
            listener.send(objects.iter().map(again));
        }
    }

    fn note_version(&self, key: &ObjectKey, version: Option<Arc<str>>) {
        if self.transform.is_none() {
            return;
        }
        match version {
            Some(version) => drop(self.versions().insert(key.clone(), version)),
            None => drop(self.versions().remove(key.as_str())),
        }
    }

    fn versions(&self) -> MutexGuard<'_, HashMap<ObjectKey, Arc<str>, FixedState>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> Fresh<K> {
    /// The version, as it was before the transform.
    pub(crate) fn version(&self) -> &str {
        self.version.as_deref().unwrap_or_else(|| self.object.resource_version())
    }
}

impl<K: Object> Audience<K> {
    /// Tells all of what is a story, in order. Returns how far the slowest is behind.
    fn tell(&self, story: Vec<Event<K>>) -> usize {
        let Some((last, others)) = self.listeners.split_last() else { return 0 };
        let behind = others.iter().map(|listener| listener.send(story.iter().cloned())).max().unwrap_or(0);
        behind.max(last.send(story))
    }

    /// Adds to a story that `new` took the place of `old`.
    fn tell_change(
        &self,
        key: &ObjectKey,
        old: Option<Arc<K>>,
        new: Arc<K>,
        is_unchanged: bool,
        story: &mut Vec<Event<K>>,
    ) {
        let is_in_initial_list = !*self.synced.borrow();
        match old {
            None => story.push(Event::Added { object: new, is_in_initial_list }),
            Some(_) if is_unchanged && !self.tell_unchanged => {}
            Some(old) if old.uid() == new.uid() || self.recreation_is_update => {
                story.push(Event::Updated { old, new });
            }
            // Deleted and created again under the same name while nobody looked.
            Some(last_known) => {
                story.push(Event::Deleted(Deleted::Tombstone { key: key.clone(), last_known }));
                story.push(Event::Added { object: new, is_in_initial_list });
            }
        }
    }
}
