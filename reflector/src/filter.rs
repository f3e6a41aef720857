use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::{Object, ObjectKey};

use crate::handler::{Deleted, EventHandler};

/// A handler that hears only of the objects for which a predicate holds, as if there were no others.
///
/// An object that begins to match is an addition, one that ceases to is a deletion with what it was before.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Object};
/// use lariat_reflector::{FilteringHandler, HandlerFns};
///
/// let print = HandlerFns::new().on_add(|object: &std::sync::Arc<DynamicObject>, _| println!("{}", object.name()));
/// let handler = FilteringHandler::new(|object: &DynamicObject| object.namespace() == "games", print);
/// # let _ = handler;
/// ```
pub struct FilteringHandler<F, H> {
    filter: F,
    handler: H,
}

impl<F, H> FilteringHandler<F, H> {
    /// Lets a handler hear of what the predicate holds for.
    pub fn new<K>(filter: F, handler: H) -> Self
    where
        F: Fn(&K) -> bool,
        H: EventHandler<K>,
    {
        Self { filter, handler }
    }
}

impl<K, F, H> EventHandler<K> for FilteringHandler<F, H>
where
    K: Object,
    F: Fn(&K) -> bool + Send + Sync + 'static,
    H: EventHandler<K>,
{
    fn on_add(&self, object: &Arc<K>, is_in_initial_list: bool) {
        if (self.filter)(object) {
            self.handler.on_add(object, is_in_initial_list);
        }
    }

    fn on_update(&self, old: &Arc<K>, new: &Arc<K>) {
        match ((self.filter)(old), (self.filter)(new)) {
            (true, true) => self.handler.on_update(old, new),
            (false, true) => self.handler.on_add(new, false),
            (true, false) => {
                let key = ObjectKey::new(old.namespace(), old.name());
                self.handler.on_delete(&Deleted::Final { key, object: old.clone() });
            }
            (false, false) => {}
        }
    }

    fn on_delete(&self, deleted: &Deleted<K>) {
        if (self.filter)(deleted.object()) {
            self.handler.on_delete(deleted);
        }
    }
}

impl<F, H: Debug> Debug for FilteringHandler<F, H> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilteringHandler").field("handler", &self.handler).finish_non_exhaustive()
    }
}
