use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::labels::Selector;
use lariat_api::{Metadata, Object};
use lariat_reflector::Event;

/// Decides which changes of objects a controller hears of.
///
/// It sees an object's old and new state, so it remembers nothing. Those that compare the two let everything pass but updates.
///
/// # Example
///
/// ```
/// use lariat::{DynamicObject, Predicate};
///
/// // The desired state changed, or somebody pressed the button.
/// let _: Predicate<DynamicObject> = Predicate::generation_changed().or(Predicate::annotations_changed());
/// ```
pub struct Predicate<K>(Arc<Passes<K>>);

type Passes<K> = dyn Fn(&Event<K>) -> bool + Send + Sync;

impl<K: Object> Predicate<K> {
    /// Lets pass what `f` says.
    ///
    /// ```
    /// use lariat::reflector::Event;
    /// use lariat::{DynamicObject, Predicate};
    ///
    /// let _ = Predicate::<DynamicObject>::new(|event| !matches!(event, Event::Deleted(_)));
    /// ```
    pub fn new(f: impl Fn(&Event<K>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(f))
    }

    /// Lets an update pass of whose states `f` says so, and everything else.
    pub fn changed(f: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self {
        Self::new(move |event| match event {
            Event::Updated { old, new } => f(old, new),
            _ => true,
        })
    }

    /// Lets updates pass in which the resourceVersion changed: not those of a resync.
    pub fn resource_version_changed() -> Self {
        Self::changed(|old, new| old.resource_version() != new.resource_version())
    }

    /// Lets updates pass in which the generation changed: not those of `status` and metadata. A kind whose server does not count
    /// generations has none that change.
    pub fn generation_changed() -> Self {
        Self::changed(|old, new| old.meta().generation() != new.meta().generation())
    }

    /// Lets updates pass in which a label changed.
    pub fn labels_changed() -> Self {
        Self::changed(|old, new| !old.meta().has_same_labels(new.meta()))
    }

    /// Lets updates pass in which an annotation changed.
    pub fn annotations_changed() -> Self {
        Self::changed(|old, new| !old.meta().has_same_annotations(new.meta()))
    }

    /// Lets events of objects pass whose labels match now. The server sends fewer objects if the
    /// [informer](lariat_reflector::InformerBuilder::label_selector) has the selector.
    pub fn labels_match(selector: Selector) -> Self {
        Self::new(move |event| object(event).is_none_or(|object| selector.matches(object.meta())))
    }

    /// Lets pass what both let pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |event| self.passes(event) && other.passes(event))
    }

    /// Lets pass what either lets pass.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |event| self.passes(event) || other.passes(event))
    }

    /// Lets pass what this does not.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::new(move |event| !self.passes(event))
    }

    /// Whether an event passes.
    pub fn passes(&self, event: &Event<K>) -> bool {
        (self.0)(event)
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Debug for Predicate<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

/// The state that an event is about.
fn object<K: Object>(event: &Event<K>) -> Option<&K> {
    match event {
        Event::Added { object, .. } => Some(object),
        Event::Updated { new, .. } => Some(new),
        Event::Deleted(deleted) => Some(deleted.object()),
        _ => None,
    }
}
