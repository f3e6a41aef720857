use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::{Kind, Metadata, Object, ObjectKey, Owner, Resource};
use lariat_reflector::{Deleted, Event, EventHandler};
use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};

use super::Predicate;

/// Objects that a controller hears of beside those of its own kind, and which keys it handles for them.
///
/// # Example
///
/// ```
/// use lariat::{Controller, DynamicObject, Kind, ObjectKey, Outcome, Predicate, Watch};
///
/// let shops = Kind::namespaced("example.dev", "v1", "Shop", "shops");
/// let nodes = Kind::cluster("", "v1", "Node", "nodes");
/// let config_maps = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
///
/// let controller = Controller::<DynamicObject>::of_kind("shops", shops)
///     .watch(Watch::<DynamicObject>::owned_of(config_maps).filter(Predicate::resource_version_changed()))
///     .watch(Watch::<DynamicObject>::mapped_of(nodes, |_node| vec![ObjectKey::new("default", "main")]))
///     .reconcile(|_key, _shop, _context| async { Ok(Outcome::Done) });
/// # let _ = controller;
/// ```
pub struct Watch<K> {
    pub(super) kind: Kind,
    pub(super) map: Map<K>,
    pub(super) predicates: Vec<Predicate<K>>,
}

/// From an object to the keys that are to be handled for it.
pub(super) enum Map<K> {
    Same,
    Owner { any: bool },
    By(MapFn<K>),
}

type MapFn<K> = Arc<dyn Fn(&K) -> Vec<ObjectKey> + Send + Sync>;

impl<K: Resource> Watch<K> {
    /// Objects that those of the controller's kind own: the key is that of the controlling owner.
    #[doc(alias = "Owns")]
    pub fn owned() -> Self {
        Self::owned_of(K::KIND)
    }

    /// Objects for which `map` says which keys are to be handled. It is asked for the old and for the new state; a key that
    /// comes twice is handled once.
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    pub fn mapped(map: impl Fn(&K) -> Vec<ObjectKey> + Send + Sync + 'static) -> Self {
        Self::mapped_of(K::KIND, map)
    }

    /// Objects under whose own key something is to be handled.
    pub fn same_key() -> Self {
        Self::same_key_of(K::KIND)
    }
}

impl<K: Object> Watch<K> {
    /// As [`owned`](Self::owned), of a kind that the type does not tell.
    pub fn owned_of(kind: Kind) -> Self {
        Self { kind, map: Map::Owner { any: false }, predicates: Vec::new() }
    }

    /// As [`mapped`](Self::mapped), of a kind that the type does not tell.
    pub fn mapped_of(kind: Kind, map: impl Fn(&K) -> Vec<ObjectKey> + Send + Sync + 'static) -> Self {
        Self { kind, map: Map::By(Arc::new(map)), predicates: Vec::new() }
    }

    /// As [`same_key`](Self::same_key), of a kind that the type does not tell.
    pub fn same_key_of(kind: Kind) -> Self {
        Self { kind, map: Map::Same, predicates: Vec::new() }
    }

    /// Of [owned](Self::owned) objects, counts each owner of the controller's kind, and not only the one that controls.
    #[must_use]
    pub fn any_owner(mut self) -> Self {
        if let Map::Owner { any } = &mut self.map {
            *any = true;
        }
        self
    }

    /// Hears only of what the predicate lets pass; of several predicates, of what all do.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate<K>) -> Self {
        self.predicates.push(predicate);
        self
    }
}

impl<K> Debug for Watch<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("kind", &self.kind.to_string()).finish_non_exhaustive()
    }
}

/// Puts the keys for what it is told into a queue.
pub(super) struct Enqueue<K> {
    pub(super) watch: Watch<K>,
    /// The kind of the controller, for owners.
    pub(super) of: Kind,
    pub(super) queue: Queue<ObjectKey>,
}

impl<K: Object> Enqueue<K> {
    fn enqueue(&self, event: &Event<K>) {
        if !self.watch.predicates.iter().all(|predicate| predicate.passes(event)) {
            return;
        }
        let mut keys = Vec::new();
        let priority = match event {
            Event::Added { object, is_in_initial_list } => {
                self.keys(object, &mut keys);
                if *is_in_initial_list { LOW_PRIORITY } else { 0 }
            }
            Event::Updated { old, new } => {
                self.keys(new, &mut keys);
                self.keys(old, &mut keys);
                if old.resource_version() == new.resource_version() { LOW_PRIORITY } else { 0 }
            }
            Event::Deleted(deleted) => {
                match self.watch.map {
                    // A tombstone has a key, whatever is known of its object.
                    Map::Same => keys.push(deleted.key().clone()),
                    _ => self.keys(deleted.object(), &mut keys),
                }
                0
            }
            _ => return,
        };
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            self.queue.add_with(key, AddOptions { priority, ..AddOptions::default() });
        }
    }

    fn keys(&self, object: &K, keys: &mut Vec<ObjectKey>) {
        match &self.watch.map {
            Map::Same => keys.extend(object.key()),
            Map::By(map) => keys.extend(map(object)),
            Map::Owner { any } => object.meta().each_owner(&mut |owner| {
                if (*any || owner.is_controller) && is_of(&owner, &self.of) {
                    let namespace = if self.of.is_namespaced() { object.namespace() } else { "" };
                    keys.push(ObjectKey::new(namespace, owner.name));
                }
            }),
        }
    }
}

/// Whether an owner is of a kind, in whatever version.
fn is_of(owner: &Owner<'_>, kind: &Kind) -> bool {
    let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    owner.kind == kind.kind() && group == kind.group()
}

impl<K: Object> EventHandler<K> for Enqueue<K> {
    fn on_add(&self, object: &Arc<K>, is_in_initial_list: bool) {
        self.enqueue(&Event::Added { object: object.clone(), is_in_initial_list });
    }

    fn on_update(&self, old: &Arc<K>, new: &Arc<K>) {
        self.enqueue(&Event::Updated { old: old.clone(), new: new.clone() });
    }

    fn on_delete(&self, deleted: &Deleted<K>) {
        self.enqueue(&Event::Deleted(deleted.clone()));
    }
}
