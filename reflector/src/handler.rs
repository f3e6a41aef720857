use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::ObjectKey;

/// Is told what changed in an informer's cache.
///
/// The calls for one handler come one after another, in order. The cache already holds what they speak of, and may be
/// ahead. Objects are shared with everybody else; to change one, clone it. A call should be quick: usually it puts a key
/// into a queue.
///
/// A handler that panics is caught; its later calls still come.
pub trait EventHandler<K>: Send + Sync + 'static {
    /// An object appeared. `is_in_initial_list` if it was there when the informer, or this handler, began.
    fn on_add(&self, object: &Arc<K>, is_in_initial_list: bool) {
        let _ = (object, is_in_initial_list);
    }

    /// An object changed.
    fn on_update(&self, old: &Arc<K>, new: &Arc<K>) {
        let _ = (old, new);
    }

    /// An object went away.
    fn on_delete(&self, deleted: &Deleted<K>) {
        let _ = deleted;
    }
}

/// An object that went away.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Deleted<K> {
    /// The deletion was watched: this is the last state.
    Final {
        /// Its key.
        key: ObjectKey,
        /// Its last state.
        object: Arc<K>,
    },
    /// The deletion was missed and is known from a later list: a tombstone, with what the cache held before. The last
    /// state may have been another.
    Tombstone {
        /// Its key.
        key: ObjectKey,
        /// What the cache held.
        last_known: Arc<K>,
    },
}

/// A handler made of closures.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Object};
/// use lariat_reflector::HandlerFns;
///
/// let handler = HandlerFns::<DynamicObject>::new()
///     .on_add(|object, _| println!("{} appeared", object.name()))
///     .on_delete(|deleted| println!("{} went away", deleted.key()));
/// # let _: HandlerFns<DynamicObject> = handler;
/// ```
pub struct HandlerFns<K> {
    add: Option<Box<AddFn<K>>>,
    update: Option<Box<UpdateFn<K>>>,
    delete: Option<Box<DeleteFn<K>>>,
}

type AddFn<K> = dyn Fn(&Arc<K>, bool) + Send + Sync;
type UpdateFn<K> = dyn Fn(&Arc<K>, &Arc<K>) + Send + Sync;
type DeleteFn<K> = dyn Fn(&Deleted<K>) + Send + Sync;

// === impl Deleted ===

impl<K> Deleted<K> {
    /// The key of the object.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Final { key, .. } | Self::Tombstone { key, .. } => key,
        }
    }

    /// The last state that is known.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Final { object, .. } => object,
            Self::Tombstone { last_known, .. } => last_known,
        }
    }

    /// Whether the last state may have been another than [`object`](Self::object).
    pub fn is_tombstone(&self) -> bool {
        matches!(self, Self::Tombstone { .. })
    }
}

impl<K> Clone for Deleted<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Final { key, object } => Self::Final { key: key.clone(), object: object.clone() },
            Self::Tombstone { key, last_known } => {
                Self::Tombstone { key: key.clone(), last_known: last_known.clone() }
            }
        }
    }
}

// === impl HandlerFns ===

impl<K> HandlerFns<K> {
    /// A handler that does nothing.
    pub fn new() -> Self {
        Self { add: None, update: None, delete: None }
    }

    /// Calls `f` when an object appears.
    #[must_use]
    pub fn on_add(mut self, f: impl Fn(&Arc<K>, bool) + Send + Sync + 'static) -> Self {
        self.add = Some(Box::new(f));
        self
    }

    /// Calls `f` with the old and the new state when an object changes.
    #[must_use]
    pub fn on_update(mut self, f: impl Fn(&Arc<K>, &Arc<K>) + Send + Sync + 'static) -> Self {
        self.update = Some(Box::new(f));
        self
    }

    /// Calls `f` when an object goes away.
    #[must_use]
    pub fn on_delete(mut self, f: impl Fn(&Deleted<K>) + Send + Sync + 'static) -> Self {
        self.delete = Some(Box::new(f));
        self
    }
}

impl<K> Default for HandlerFns<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Debug for HandlerFns<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerFns").finish_non_exhaustive()
    }
}

impl<K: Send + Sync + 'static> EventHandler<K> for HandlerFns<K> {
    fn on_add(&self, object: &Arc<K>, is_in_initial_list: bool) {
        if let Some(add) = &self.add {
            add(object, is_in_initial_list);
        }
    }

    fn on_update(&self, old: &Arc<K>, new: &Arc<K>) {
        if let Some(update) = &self.update {
            update(old, new);
        }
    }

    fn on_delete(&self, deleted: &Deleted<K>) {
        if let Some(delete) = &self.delete {
            delete(deleted);
        }
    }
}
