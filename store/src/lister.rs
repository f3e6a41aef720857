use std::sync::Arc;

use lariat_api::labels::Selector;
use lariat_api::{Kind, Object, ObjectKey};

use crate::Store;

/// The name of the index that [`NamespaceLister`] reads, by `metadata.namespace`.
pub const NAMESPACE_INDEX: &str = "namespace";

/// A read-only view of a store of objects of one kind.
///
/// The objects are shared with everybody else who reads them. To change one, clone it.
///
/// # Example
///
/// ```
/// use lariat_api::labels::Selector;
/// use lariat_api::{DynamicObject, Kind, ObjectKey};
/// use lariat_store::{Lister, Store};
///
/// let pods = Lister::new(Kind::namespaced("", "v1", "Pod", "pods"), Store::<DynamicObject>::new());
/// assert!(pods.list(&Selector::everything()).is_empty());
/// let missing = pods.get(&ObjectKey::new("default", "a")).unwrap_err();
/// assert_eq!(missing.to_string(), "pods \"default/a\" not found");
/// ```
#[derive(Debug, Clone)]
pub struct Lister<K> {
    kind: Kind,
    store: Store<K>,
}

/// A read-only view of the objects of one kind in one namespace.
///
/// # Example
///
/// ```
/// use lariat_api::labels::Selector;
/// use lariat_api::{DynamicObject, Kind};
/// use lariat_store::{Indexers, Lister, NAMESPACE_INDEX, Store};
///
/// let by_namespace = Indexers::new().with(NAMESPACE_INDEX, |object: &DynamicObject, emit| {
///     emit(&object.metadata.namespace);
/// });
/// let pods = Lister::new(Kind::namespaced("", "v1", "Pod", "pods"), Store::with_indexers(by_namespace));
/// let games = pods.namespace("games");
/// assert!(games.list(&Selector::everything()).is_empty());
/// assert!(games.get("a").is_err());
/// ```
#[derive(Debug, Clone)]
pub struct NamespaceLister<K> {
    lister: Lister<K>,
    namespace: String,
}

/// An object that the cache does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{resource} \"{key}\" not found")]
pub struct NotFound {
    /// The kind, as `plural.group`.
    pub resource: String,
    /// The key.
    pub key: ObjectKey,
}

impl<K: Object> Lister<K> {
    /// A view of a store.
    pub fn new(kind: Kind, store: Store<K>) -> Self {
        Self { kind, store }
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The store behind the view, for its indexes.
    pub fn store(&self) -> &Store<K> {
        &self.store
    }

    /// The objects whose labels match, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        self.store.list_where(|object| selector.matches(object.meta()))
    }

    /// The object with a key.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get(&self, key: &ObjectKey) -> Result<Arc<K>, NotFound> {
        self.store
            .get(key.as_str())
            .ok_or_else(|| NotFound { resource: self.kind.to_string(), key: key.clone() })
    }

    /// The objects of one namespace.
    pub fn namespace(&self, namespace: impl Into<String>) -> NamespaceLister<K>
    where
        K: Object,
    {
        NamespaceLister {
            lister: Self { kind: self.kind.clone(), store: self.store.clone() },
            namespace: namespace.into(),
        }
    }
}

impl<K: Object> NamespaceLister<K> {
    /// The objects whose labels match, in no particular order.
    ///
    /// They are found through the index [`NAMESPACE_INDEX`]. A store without it is searched from end to end, with a
    /// warning.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        let Lister { kind, store } = &self.lister;
        match store.by_index(NAMESPACE_INDEX, &self.namespace) {
            Ok(mut objects) => {
                objects.retain(|object| selector.matches(object.meta()));
                objects
            }
            Err(error) => {
                tracing::warn!(resource = %kind, %error, "listing a namespace by searching the whole store");
                store.list_where(|object| {
                    object.namespace() == self.namespace && selector.matches(object.meta())
                })
            }
        }
    }

    /// The object with a name.
    ///
    /// # Errors
    ///
    /// If there is none in this namespace.
    pub fn get(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.lister.get(&ObjectKey::new(&self.namespace, name))
    }
}
