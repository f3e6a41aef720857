use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use lariat_api::{KeyError, Object, ObjectKey};
use lariat_store::UnknownIndex;
use tokio::time::Instant;

use crate::cache::Cache;
use crate::informer::Informer;
use crate::limits::{MUTATION_CACHE_CAPACITY, MUTATION_CACHE_TTL};
use crate::overlay::{Overlay, Own};

/// An informer's cache with one's own writes laid over it, so that one reads what one wrote before the watch brings it.
///
/// Tell it of each answer to a write, and read from it in place of the lister. Under each key it gives the newer of the two by
/// resourceVersion, and forgets the write once the cache has caught up. That needs versions which the transform leaves alone;
/// writes are kept as they are told, without the transform.
///
/// client-go's goes on showing a written object that somebody else has deleted since, until its time is over. This one looks up
/// to which version the cache has come, and does not.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Kind, ObjectKey};
/// use lariat_client::Api;
/// use lariat_reflector::{Informer, MutationCache};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = lariat_fixtures::ScriptedServer::new([]).client()?;
/// let nodes = Kind::cluster("", "v1", "Node", "nodes");
/// let informer = Informer::<DynamicObject>::builder(Api::of_kind(client, nodes, "")).build();
/// let cache = MutationCache::new(&informer).include_adds(true);
///
/// let created = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"7"}}"#;
/// let created: DynamicObject = serde_json::from_str(created)?;
/// cache.mutated(created.clone())?;
/// assert!(informer.lister().store().is_empty());
/// assert_eq!(cache.get(&ObjectKey::new("", "a")).as_deref(), Some(&created));
///
/// cache.deleted(&created)?;
/// assert_eq!(cache.get(&ObjectKey::new("", "a")), None);
/// # Ok(())
/// # }
/// ```
pub struct MutationCache<K> {
    cache: Arc<Cache<K>>,
    capacity: usize,
    ttl: Duration,
    include_adds: bool,
    overlay: Mutex<Overlay<K>>,
}

impl<K: Object> MutationCache<K> {
    /// Own writes over the cache of an informer: 100 of them, each for 5 minutes, and without objects that the informer does not
    /// know.
    pub fn new(informer: &Informer<K>) -> Self {
        Self {
            cache: informer.0.cache.clone(),
            capacity: MUTATION_CACHE_CAPACITY,
            ttl: MUTATION_CACHE_TTL,
            include_adds: false,
            overlay: Mutex::new(Overlay::new()),
        }
    }

    /// How many writes are kept at most. Those that were not read or written for longest are forgotten.
    #[must_use]
    pub fn capacity(mut self, writes: usize) -> Self {
        self.capacity = writes;
        self
    }

    /// For how long a write is kept, if the cache does not catch up before.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Whether to show objects that were written and that the cache does not hold yet.
    #[must_use]
    pub fn include_adds(mut self, include: bool) -> Self {
        self.include_adds = include;
        self
    }

    /// Notes what a server answered to a create, an update or a patch. An answer that is older than what is known is ignored.
    ///
    /// # Errors
    ///
    /// If the object has no name.
    pub fn mutated(&self, object: impl Into<Arc<K>>) -> Result<(), KeyError> {
        let object = object.into();
        self.note(object.key()?, Own::Written(object));
        Ok(())
    }

    /// Notes that an object was deleted, which is to say gone: one that finalizers hold is still there, marked for deletion, and
    /// that is an [update](Self::mutated). `last_known` is what was known of it.
    ///
    /// An object that is created under its name later is not hidden by this, nor is a later version of it.
    ///
    /// # Errors
    ///
    /// If the object has no name.
    pub fn deleted(&self, last_known: &K) -> Result<(), KeyError> {
        let (uid, version) = (last_known.uid().to_owned(), last_known.resource_version().to_owned());
        self.note(last_known.key()?, Own::Deleted { uid, version });
        Ok(())
    }

    fn note(&self, key: ObjectKey, own: Own<K>) {
        let now = Instant::now();
        self.overlay().note(key, own, now, now.checked_add(self.ttl), self.capacity);
    }

    /// The resourceVersion up to which the informer's cache follows the server; `""` before the first list. What was written up to
    /// then and is not in the cache is gone.
    ///
    /// ```
    /// # use lariat_api::DynamicObject;
    /// # use lariat_reflector::MutationCache;
    /// /// Whether an object that was created at a version has come and gone.
    /// fn is_gone(cache: &MutationCache<DynamicObject>, created_at: u64) -> bool {
    ///     cache.last_sync_resource_version().parse::<u64>().is_ok_and(|version| version >= created_at)
    /// }
    /// ```
    pub fn last_sync_resource_version(&self) -> String {
        self.cache.version.current()
    }

    /// The object with a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let view = View::of(self);
        view.get(&mut self.overlay(), key)
    }

    /// All objects, in no particular order.
    pub fn list(&self) -> Vec<Arc<K>> {
        let view = View::of(self);
        let mut overlay = self.overlay();
        let stored = self.cache.store().list();
        let own = view.own(&mut overlay);
        own.over(stored, |_| true)
    }

    /// The objects with a value of an index of the informer's cache, in no particular order. Written objects are found under
    /// the values that they have now.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndex> {
        let view = View::of(self);
        let mut overlay = self.overlay();
        let store = self.cache.store();
        let stored = store.by_index(name, value)?;
        if overlay.is_empty() {
            return Ok(stored);
        }
        let own = view.own(&mut overlay);
        // The index is there: it was asked just now, and none is ever removed.
        let has_value = |object: &K| {
            store.index_values_of(name, object).is_ok_and(|values| values.iter().any(|known| known == value))
        };
        Ok(own.over(stored, has_value))
    }

    fn overlay(&self) -> MutexGuard<'_, Overlay<K>> {
        self.overlay.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> Debug for MutationCache<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { cache: _, capacity, ttl, include_adds, overlay: _ } = self;
        f.debug_struct("MutationCache")
            .field("capacity", capacity)
            .field("ttl", ttl)
            .field("include_adds", include_adds)
            .finish_non_exhaustive()
    }
}

/// One look at the cache.
struct View<'a, K> {
    cache: &'a Cache<K>,
    include_adds: bool,
    /// Read before any object is: so all that is not there at this version was deleted.
    version: String,
    now: Instant,
}

/// What is to be seen under the keys of the overlay.
struct Seen<K> {
    keys: Vec<ObjectKey>,
    objects: Vec<Arc<K>>,
}

impl<'a, K: Object> View<'a, K> {
    fn of(cache: &'a MutationCache<K>) -> Self {
        let MutationCache { cache, include_adds, .. } = cache;
        Self { cache, include_adds: *include_adds, version: cache.version.current(), now: Instant::now() }
    }

    fn get(&self, overlay: &mut Overlay<K>, key: &ObjectKey) -> Option<Arc<K>> {
        let stored = self.cache.store().get(key.as_str());
        overlay.resolve(key, stored, &self.version, self.now, self.include_adds)
    }

    fn own(&self, overlay: &mut Overlay<K>) -> Seen<K> {
        let keys: Vec<ObjectKey> = overlay.keys().cloned().collect();
        let objects = keys.iter().filter_map(|key| self.get(overlay, key)).collect();
        Seen { keys, objects }
    }
}

impl<K: Object> Seen<K> {
    /// Lays those of which a predicate holds over what was read from the store.
    fn over(self, mut stored: Vec<Arc<K>>, holds: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        let Self { keys, objects } = self;
        let keys: HashSet<(&str, &str), FixedState> =
            keys.iter().map(|key| (key.namespace(), key.name())).collect();
        stored.retain(|object| !keys.contains(&(object.namespace(), object.name())));
        stored.extend(objects.into_iter().filter(|object| holds(object)));
        stored
    }
}
