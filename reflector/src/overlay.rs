//! What somebody wrote and the cache may not know yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lariat_api::{Object, ObjectKey, ResourceVersion};
use tokio::time::Instant;

use crate::version::is_older;

/// Own writes, a bounded number of them, each for a time.
pub(crate) struct Overlay<K> {
    entries: HashMap<ObjectKey, Entry<K>, FixedState>,
    /// The keys by when they were used last.
    by_use: BTreeMap<u64, ObjectKey>,
    uses: u64,
}

struct Entry<K> {
    own: Own<K>,
    /// None for never.
    expires: Option<Instant>,
    used: u64,
}

/// An own write.
pub(crate) enum Own<K> {
    Written(Arc<K>),
    Deleted {
        uid: String,
        /// The last one that is known to be gone.
        version: String,
    },
}

impl<K: Object> Overlay<K> {
    pub(crate) fn new() -> Self {
        Self { entries: HashMap::default(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Those that were not used for longest first: whoever uses all in this order leaves it as it is.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_use.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes a write, unless a newer one is known, and forgets what was not used for longest beyond so many.
    pub(crate) fn note(
        &mut self,
        key: ObjectKey,
        own: Own<K>,
        now: Instant,
        expires: Option<Instant>,
        capacity: usize,
    ) {
        let own = match self.fresh(&key, now) {
            Some(known) => match known.superseded_by(own) {
                Some(own) => own,
                None => return,
            },
            None => own,
        };
        self.remove(&key);
        let used = self.next_use();
        self.by_use.insert(used, key.clone());
        self.entries.insert(key, Entry { own, expires, used });
        while self.entries.len() > capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    /// What is to be seen under a key, of what the cache holds there. The cache had come to `version` before it was asked.
    pub(crate) fn resolve(
        &mut self,
        key: &ObjectKey,
        stored: Option<Arc<K>>,
        version: &str,
        now: Instant,
        include_adds: bool,
    ) -> Option<Arc<K>> {
        let Some(own) = self.fresh(key, now) else { return stored };
        let is_known = has_reached(version, own.version());
        let seen = match (own, &stored) {
            (Own::Written(written), Some(stored)) => {
                is_older(stored.resource_version(), written.resource_version()).then(|| Some(written.clone()))
            }
            // The cache knew it, so somebody has deleted it since, or it is not of the selection any more.
            (Own::Written(_), None) if is_known => None,
            (Own::Written(written), None) => Some(include_adds.then(|| written.clone())),
            (Own::Deleted { uid, version }, Some(stored)) => is_gone(&**stored, uid, version).then_some(None),
            // It may be that the cache is yet to hear of what is gone already.
            (Own::Deleted { .. }, None) => (!is_known).then_some(None),
        };
        seen.unwrap_or_else(|| {
            self.remove(key);
            stored
        })
    }

    /// The write of a key, which is in use by that. One whose time is over is forgotten.
    fn fresh(&mut self, key: &ObjectKey, now: Instant) -> Option<&Own<K>> {
        if self.entries.get(key)?.expires.is_some_and(|expires| now > expires) {
            self.remove(key);
            return None;
        }
        let used = self.next_use();
        let entry = self.entries.get_mut(key)?;
        if let Some(key) = self.by_use.remove(&entry.used) {
            self.by_use.insert(used, key);
        }
        entry.used = used;
        Some(&entry.own)
    }

    fn remove(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used);
        }
    }

    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }
}

impl<K: Object> Own<K> {
    fn version(&self) -> &str {
        match self {
            Self::Written(object) => object.resource_version(),
            Self::Deleted { version, .. } => version,
        }
    }

    fn uid(&self) -> &str {
        match self {
            Self::Written(object) => object.uid(),
            Self::Deleted { uid, .. } => uid,
        }
    }

    /// What is to be kept in the place of this one; none if this is the newer.
    fn superseded_by(&self, new: Self) -> Option<Self> {
        let is_older = is_older(new.version(), self.version());
        let is_same_object = new.uid() == self.uid();
        match (self, new) {
            // Whatever version of it was deleted, the object is gone.
            (_, Self::Deleted { uid, .. }) if is_older && is_same_object => {
                Some(Self::Deleted { uid, version: self.version().to_owned() })
            }
            (_, _) if is_older => None,
            // An answer that comes late, of what was deleted.
            (Self::Deleted { version, .. }, Self::Written(object))
                if is_same_object && object.resource_version() == version =>
            {
                None
            }
            (_, new) => Some(new),
        }
    }
}

/// Whether an object is what was deleted, or was there before that.
fn is_gone<K: Object>(object: &K, uid: &str, version: &str) -> bool {
    is_older(object.resource_version(), version)
        || object.uid() == uid && object.resource_version() == version
}

/// Whether a cache at `version` knows what happened up to `wanted`.
fn has_reached(version: &str, wanted: &str) -> bool {
    ResourceVersion::compare(version, wanted).is_ok_and(|order| order.is_ge())
}
