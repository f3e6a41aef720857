use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use lariat_api::ObjectKey;

/// Named functions that say under which values an object is found.
///
/// A function hands every value to the closure that it is given; it may give none, one or many, and the same one twice.
/// It must give the same values for the same object each time.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Object};
/// use lariat_store::Indexers;
///
/// let indexers = Indexers::<DynamicObject>::new()
///     .with("namespace", |object, emit| emit(object.namespace()))
///     .with("finalizer", |object, emit| object.metadata.finalizers.iter().for_each(|finalizer| emit(finalizer)));
/// assert_eq!(indexers.names().collect::<Vec<_>>(), ["namespace", "finalizer"]);
/// ```
pub struct Indexers<V: ?Sized>(Vec<(Arc<str>, IndexFn<V>)>);

type IndexFn<V> = Arc<dyn Fn(&V, &mut dyn FnMut(&str)) + Send + Sync>;

/// An index that the store does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("index {0:?} does not exist: add it with add_indexers before asking for it")]
pub struct UnknownIndex(pub String);

/// An index that the store has already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("index {0:?} exists already")]
pub struct DuplicateIndex(pub String);

/// One index: its function and the keys of the objects under each value.
pub(crate) struct Index<V: ?Sized> {
    name: Arc<str>,
    function: IndexFn<V>,
    sets: HashMap<String, HashSet<ObjectKey, FixedState>, FixedState>,
}

/// The values of one object, in buffers that are used again.
#[derive(Debug, Default)]
pub(crate) struct Values {
    text: String,
    ends: Vec<usize>,
}

// === impl Indexers ===

impl<V: ?Sized> Indexers<V> {
    /// No indexes.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// The same indexes and one more. One of the same name is replaced.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<Arc<str>>,
        function: impl Fn(&V, &mut dyn FnMut(&str)) + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, Arc::new(function)));
        self
    }

    /// The names of the indexes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn into_indexes(self) -> impl Iterator<Item = Index<V>> {
        self.0.into_iter().map(|(name, function)| Index { name, function, sets: HashMap::default() })
    }
}

impl<V: ?Sized> Default for Indexers<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: ?Sized> Clone for Indexers<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V: ?Sized> Debug for Indexers<V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

// === impl Index ===

impl<V: ?Sized> Index<V> {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Puts the values of an object into `values`.
    pub(crate) fn values(&self, object: &V, values: &mut Values) {
        values.clear();
        (self.function)(object, &mut |value| values.push(value));
    }

    /// Moves a key from the sets of the old values to those of the new ones.
    pub(crate) fn update(&mut self, key: &ObjectKey, old: &Values, new: &Values) {
        if old == new {
            return;
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            if let Some(set) = self.sets.get_mut(value) {
                set.remove(key.as_str());
                if set.is_empty() {
                    self.sets.remove(value);
                }
            }
        }
        for value in new.iter().filter(|value| !old.contains(value)) {
            self.sets.entry_ref(value).or_default().insert(key.clone());
        }
    }

    pub(crate) fn clear(&mut self) {
        self.sets.clear();
    }

    pub(crate) fn keys(&self, value: &str) -> impl Iterator<Item = &ObjectKey> {
        self.sets.get(value).into_iter().flatten()
    }

    pub(crate) fn all_values(&self) -> impl Iterator<Item = &str> {
        self.sets.keys().map(String::as_str)
    }
}

// === impl Values ===

impl Values {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn push(&mut self, value: &str) {
        self.text.push_str(value);
        self.ends.push(self.text.len());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }

    fn contains(&self, wanted: &str) -> bool {
        self.iter().any(|value| value == wanted)
    }
}

/// The same values in the same order.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}
