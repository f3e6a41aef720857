use std::any::{Any, TypeId};
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Kind, Metadata, Object, ObjectKey, ResourceVersion};
use lariat_reflector::Informer;
use tokio::time::sleep;

use crate::boxed::Boxed;

/// The cache of a kind that a controller reads, of whatever type.
pub(crate) trait Cache: Send + Sync {
    fn kind(&self) -> &Kind;

    fn object_type(&self) -> TypeId;

    fn synced(&self) -> Boxed<'_, ()>;

    /// Why it has not synced, if so.
    fn trouble(&self) -> Option<String>;

    /// What can be said of it.
    fn inspect(&self) -> CacheState;

    /// Whether the cache shows a write.
    fn shows(&self, write: &Write) -> bool;

    /// Waits until the cache shows a write; for ever if it never does.
    fn shown<'a>(&'a self, write: &'a Write) -> Boxed<'a, ()>;

    fn as_any(&self) -> &dyn Any;
}

/// A write that a handler has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Write {
    /// An object was written and has this version now.
    Written { key: ObjectKey, version: String },
    /// An object was deleted; finalizers may hold it.
    Deleted { key: ObjectKey, uid: String },
    /// An object that is being deleted was written and has no finalizers any more: it is gone, unless something else holds it.
    LetGo { key: ObjectKey, uid: String, version: String },
}

/// What can be said of a cache.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CacheState {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) synced: bool,
    pub(crate) objects: usize,
    pub(crate) resource_version: String,
    /// How long ago the last bytes came; a server that has nothing to say sends a bookmark about once a minute.
    pub(crate) silent_seconds: Option<f64>,
    /// How many changes the handler that is furthest behind has yet to hear of.
    pub(crate) pending: usize,
    /// How many changes were told together with others, since a handler was behind.
    pub(crate) coalesced: u64,
    pub(crate) last_error: Option<String>,
}

/// How often it is looked whether a deleted object is gone: nobody knows at which version it will be.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl<K: Object> Cache for Informer<K> {
    fn kind(&self) -> &Kind {
        Self::kind(self)
    }

    fn object_type(&self) -> TypeId {
        TypeId::of::<K>()
    }

    fn synced(&self) -> Boxed<'_, ()> {
        Box::pin(self.wait_for_sync())
    }

    fn trouble(&self) -> Option<String> {
        if self.has_synced() {
            return None;
        }
        let error = self.last_error().map_or_else(|| "no error so far".to_owned(), |error| error.text);
        Some(format!("{} ({error})", self.name()))
    }

    fn inspect(&self) -> CacheState {
        CacheState {
            name: self.name().to_owned(),
            kind: self.kind().to_string(),
            synced: self.has_synced(),
            objects: self.lister().store().len(),
            resource_version: self.last_sync_resource_version(),
            silent_seconds: None,
            pending: self.pending(),
            coalesced: self.coalesced(),
            last_error: self.last_error().map(|error| error.text),
        }
    }

    fn shows(&self, write: &Write) -> bool {
        let stored = |key: &ObjectKey| self.lister().store().get(key.as_str());
        match write {
            Write::Written { key, version } => {
                is_at(&self.last_sync_resource_version(), version)
                    || stored(key).is_some_and(|object| is_at(object.resource_version(), version))
            }
            Write::Deleted { key, uid } => {
                stored(key).is_none_or(|object| object.uid() != uid || object.meta().is_being_deleted())
            }
            Write::LetGo { key, uid, version } => stored(key).is_none_or(|object| {
                // A server may return it in the version that it had before.
                let is_later =
                    object.resource_version() != version && is_at(object.resource_version(), version);
                let is_that = object.resource_version() == version && object.meta().finalizers().is_empty();
                object.uid() != uid || is_later || is_that
            }),
        }
    }

    fn shown<'a>(&'a self, write: &'a Write) -> Boxed<'a, ()> {
        Box::pin(async move {
            match write {
                Write::Written { version, .. } => self.wait_for(version).await,
                Write::Deleted { .. } | Write::LetGo { .. } => {
                    while !self.shows(write) {
                        sleep(LOOK_AGAIN).await;
                    }
                }
            }
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Whether a version is another or later. Versions that are no numbers must be the same.
fn is_at(version: &str, wanted: &str) -> bool {
    version == wanted || ResourceVersion::compare(version, wanted).is_ok_and(|order| order.is_ge())
}

/// Finds the cache of a type and kind.
pub(crate) fn find<K: Object>(caches: &[Arc<dyn Cache>], kind: &Kind) -> Option<Informer<K>> {
    let of_type = |cache: &&Arc<dyn Cache>| {
        cache.object_type() == TypeId::of::<K>() && is_same_resource(cache.kind(), kind)
    };
    caches.iter().find(of_type)?.as_any().downcast_ref::<Informer<K>>().cloned()
}

/// Whether two kinds are served as one resource, in the same version.
pub(crate) fn is_same_resource(a: &Kind, b: &Kind) -> bool {
    (a.group(), a.version(), a.plural()) == (b.group(), b.version(), b.plural())
}
