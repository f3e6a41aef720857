use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::{Object, ObjectKey};

use crate::handler::Deleted;

/// What a handler is told of, as a value: what a [`Subscription`](crate::Subscription) yields.
///
/// # Example
///
/// ```
/// use lariat_api::DynamicObject;
/// use lariat_reflector::Event;
///
/// fn describe(event: &Event<DynamicObject>) -> String {
///     match event {
///         Event::Added { object, .. } => format!("{:?} appeared", object.metadata.name),
///         Event::Updated { new, .. } => format!("{:?} changed", new.metadata.name),
///         Event::Deleted(deleted) => format!("{} went away", deleted.key()),
///         _ => "the first list is over".into(),
///     }
/// }
/// # assert_eq!(describe(&Event::Synced), "the first list is over");
/// ```
#[non_exhaustive]
pub enum Event<K> {
    /// An object appeared.
    Added {
        /// The object.
        object: Arc<K>,
        /// Whether it was there when the informer, or this handler, began.
        is_in_initial_list: bool,
    },
    /// An object changed, or is told of again because of a resync; then both are the same.
    Updated {
        /// What was told of last.
        old: Arc<K>,
        /// What it is now.
        new: Arc<K>,
    },
    /// An object went away.
    Deleted(Deleted<K>),
    /// All that was there at the beginning has been told of.
    Synced,
}

impl<K: Object> Event<K> {
    /// The key of the object, if the event is about one.
    pub fn key(&self) -> Option<ObjectKey> {
        match self {
            Self::Added { object, .. } => object.key().ok(),
            Self::Updated { new, .. } => new.key().ok(),
            Self::Deleted(deleted) => Some(deleted.key().clone()),
            Self::Synced => None,
        }
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, is_in_initial_list } => {
                Self::Added { object: object.clone(), is_in_initial_list: *is_in_initial_list }
            }
            Self::Updated { old, new } => Self::Updated { old: old.clone(), new: new.clone() },
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
            Self::Synced => Self::Synced,
        }
    }
}

impl<K: Object> Debug for Event<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let key = self.key();
        let key = key.as_ref().map_or("", ObjectKey::as_str);
        match self {
            Self::Added { is_in_initial_list: true, .. } => write!(f, "Added({key}, initial)"),
            Self::Added { .. } => write!(f, "Added({key})"),
            Self::Updated { .. } => write!(f, "Updated({key})"),
            Self::Deleted(deleted) if deleted.is_tombstone() => write!(f, "Deleted({key}, tombstone)"),
            Self::Deleted(_) => write!(f, "Deleted({key})"),
            Self::Synced => f.write_str("Synced"),
        }
    }
}
