use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use lariat_api::ObjectKey;

use crate::index::{DuplicateIndex, Index, Indexers, UnknownIndex, Values};

/// A thread-safe map from keys to shared objects, with indexes.
///
/// A clone is another handle to the same store. Lists are snapshots in no particular order.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use lariat_api::{DynamicObject, Object, ObjectKey};
/// use lariat_store::{Indexers, Store};
///
/// let store = Store::with_indexers(Indexers::new().with("namespace", |o: &DynamicObject, emit| emit(o.namespace())));
/// let mut object = DynamicObject::default();
/// object.metadata.name = "a".into();
/// object.metadata.namespace = "games".into();
/// store.insert(object.key()?, Arc::new(object));
///
/// assert_eq!(store.get("games/a").unwrap().name(), "a");
/// assert_eq!(store.by_index("namespace", "games")?.len(), 1);
/// assert!(store.by_index("node", "n1").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store<V>(Arc<RwLock<Contents<V>>>);

/// Several writes that readers see as one.
pub struct Transaction<'a, V>(RwLockWriteGuard<'a, Contents<V>>);

struct Contents<V> {
    objects: HashMap<ObjectKey, Arc<V>, FixedState>,
    indexes: Vec<Index<V>>,
    /// Buffers for the values of one object before and after a write, for each index.
    scratch: Vec<(Values, Values)>,
}

impl<V> Store<V> {
    /// An empty store without indexes.
    pub fn new() -> Self {
        Self::with_indexers(Indexers::new())
    }

    /// An empty store with indexes.
    pub fn with_indexers(indexers: Indexers<V>) -> Self {
        let indexes: Vec<_> = indexers.into_indexes().collect();
        let scratch = indexes.iter().map(|_| Default::default()).collect();
        Self(Arc::new(RwLock::new(Contents { objects: HashMap::default(), indexes, scratch })))
    }

    /// Adds indexes and fills them with what is stored.
    ///
    /// # Errors
    ///
    /// If an index of one of the names exists; then nothing is added.
    pub fn add_indexers(&self, indexers: Indexers<V>) -> Result<(), DuplicateIndex> {
        let mut contents = self.write();
        if let Some(name) = indexers.names().find(|name| contents.index(name).is_ok()) {
            return Err(DuplicateIndex(name.to_owned()));
        }
        let (nothing, mut values) = (Values::default(), Values::default());
        // Built aside, so that a function that panics leaves the store as it was.
        let mut added: Vec<_> = indexers.into_indexes().collect();
        for index in &mut added {
            for (key, object) in &contents.objects {
                index.values(object, &mut values);
                index.update(key, &nothing, &values);
            }
        }
        contents.scratch.extend(added.iter().map(|_| Default::default()));
        contents.indexes.extend(added);
        Ok(())
    }

    /// The object with a key.
    pub fn get(&self, key: &str) -> Option<Arc<V>> {
        self.read().objects.get(key).cloned()
    }

    /// The object with a key, together with the store's own copy of the key.
    pub fn get_key_value(&self, key: &str) -> Option<(ObjectKey, Arc<V>)> {
        self.read().objects.get_key_value(key).map(|(key, object)| (key.clone(), object.clone()))
    }

    /// All objects.
    pub fn list(&self) -> Vec<Arc<V>> {
        self.read().objects.values().cloned().collect()
    }

    /// All objects for which a predicate holds. The store is locked for reading meanwhile.
    pub fn list_where(&self, mut predicate: impl FnMut(&V) -> bool) -> Vec<Arc<V>> {
        self.read().objects.values().filter(|object| predicate(object)).cloned().collect()
    }

    /// All keys.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds or replaces an object and returns the former one.
    pub fn insert(&self, key: ObjectKey, object: Arc<V>) -> Option<Arc<V>> {
        self.transaction(|writes| writes.insert(key, object))
    }

    /// Removes an object and returns it.
    pub fn remove(&self, key: &str) -> Option<Arc<V>> {
        self.transaction(|writes| writes.remove(key))
    }

    /// Replaces everything.
    pub fn replace(&self, objects: impl IntoIterator<Item = (ObjectKey, Arc<V>)>) {
        self.transaction(|writes| {
            writes.clear();
            for (key, object) in objects {
                writes.insert(key, object);
            }
        });
    }

    /// Carries out several writes under one lock: readers see all of them or none.
    ///
    /// The closure must not use the store itself, which is locked.
    pub fn transaction<R>(&self, writes: impl FnOnce(&mut Transaction<'_, V>) -> R) -> R {
        writes(&mut Transaction(self.write()))
    }

    /// The objects that share a value of an index with `object`, each once.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index(&self, name: &str, object: &V) -> Result<Vec<Arc<V>>, UnknownIndex> {
        let contents = self.read();
        let index = contents.index(name)?;
        let mut values = Values::default();
        index.values(object, &mut values);
        let keys: HashSet<&ObjectKey, FixedState> =
            values.iter().flat_map(|value| index.keys(value)).collect();
        Ok(contents.objects_of(keys.into_iter()))
    }

    /// The objects with a value of an index.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<V>>, UnknownIndex> {
        let contents = self.read();
        Ok(contents.objects_of(contents.index(name)?.keys(value)))
    }

    /// The keys of the objects with a value of an index, sorted.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index_keys(&self, name: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex> {
        let contents = self.read();
        let mut keys: Vec<ObjectKey> = contents.index(name)?.keys(value).cloned().collect();
        drop(contents);
        keys.sort_unstable();
        Ok(keys)
    }

    /// The values of an index that at least one object has.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index_values(&self, name: &str) -> Result<Vec<String>, UnknownIndex> {
        Ok(self.read().index(name)?.all_values().map(str::to_owned).collect())
    }

    /// The values of an index that an object has, or would have if it were stored; each once, sorted.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_store::{Indexers, Store};
    ///
    /// let words = Indexers::new().with("word", |text: &String, emit| text.split(' ').for_each(emit));
    /// let store = Store::with_indexers(words);
    /// assert_eq!(store.index_values_of("word", &"b a b".to_owned())?, ["a", "b"]);
    /// # Ok::<(), lariat_store::UnknownIndex>(())
    /// ```
    pub fn index_values_of(&self, name: &str, object: &V) -> Result<Vec<String>, UnknownIndex> {
        let mut values = Values::default();
        self.read().index(name)?.values(object, &mut values);
        let mut values: Vec<String> = values.iter().map(str::to_owned).collect();
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents<V>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic of an index function poisons the lock, but it has changed nothing; see [`reindex`].
    fn write(&self) -> RwLockWriteGuard<'_, Contents<V>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Clone for Store<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> Default for Store<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Debug for Store<V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("len", &self.len()).finish_non_exhaustive()
    }
}

// === impl Transaction ===

impl<V> Transaction<'_, V> {
    /// The object with a key, as the writes so far have left it.
    pub fn get(&self, key: &str) -> Option<&Arc<V>> {
        self.0.objects.get(key)
    }

    /// Adds or replaces an object and returns the former one.
    pub fn insert(&mut self, key: ObjectKey, object: Arc<V>) -> Option<Arc<V>> {
        self.0.insert(key, object)
    }

    /// Removes an object and returns it.
    pub fn remove(&mut self, key: &str) -> Option<Arc<V>> {
        self.0.remove(key)
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.0.objects.clear();
        self.0.indexes.iter_mut().for_each(Index::clear);
    }
}

impl<V> Debug for Transaction<'_, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

// === impl Contents ===

impl<V> Contents<V> {
    fn index(&self, name: &str) -> Result<&Index<V>, UnknownIndex> {
        self.indexes.iter().find(|index| index.name() == name).ok_or_else(|| UnknownIndex(name.to_owned()))
    }

    fn objects_of<'a>(&'a self, keys: impl Iterator<Item = &'a ObjectKey>) -> Vec<Arc<V>> {
        keys.filter_map(|key| self.objects.get(key.as_str()).cloned()).collect()
    }

    fn insert(&mut self, key: ObjectKey, object: Arc<V>) -> Option<Arc<V>> {
        let known = self.objects.get_key_value(key.as_str());
        // The key that is there already is kept, so that it goes on being shared.
        let key = known.map_or(key, |(known, _)| known.clone());
        reindex(&mut self.indexes, &mut self.scratch, &key, known.map(|(_, old)| &**old), Some(&object));
        self.objects.insert(key, object)
    }

    fn remove(&mut self, key: &str) -> Option<Arc<V>> {
        let (known, old) = self.objects.get_key_value(key)?;
        reindex(&mut self.indexes, &mut self.scratch, known, Some(old), None);
        self.objects.remove(key)
    }
}

/// All index functions are called before anything is changed, since they may panic.
fn reindex<V>(
    indexes: &mut [Index<V>],
    scratch: &mut [(Values, Values)],
    key: &ObjectKey,
    old: Option<&V>,
    new: Option<&V>,
) {
    for (index, (old_values, new_values)) in indexes.iter().zip(&mut *scratch) {
        for (object, values) in [(old, old_values), (new, new_values)] {
            match object {
                Some(object) => index.values(object, values),
                None => values.clear(),
            }
        }
    }
    for (index, (old_values, new_values)) in indexes.iter_mut().zip(scratch) {
        index.update(key, old_values, new_values);
    }
}
