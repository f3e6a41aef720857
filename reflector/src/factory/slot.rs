use std::any::{Any, TypeId};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lariat_api::{Kind, Object};
use serde::de::DeserializeOwned;

use super::task::Task;
use crate::informer::Informer;
use crate::not_synced::Unsynced;

/// The place of one informer in a factory.
pub(super) struct Slot {
    object: TypeId,
    resource: String,
    pub(super) informer: Arc<dyn Follow>,
    /// None before the start.
    pub(super) task: Option<Arc<Task>>,
}

/// An informer of whatever type.
pub(super) trait Follow: Send + Sync {
    fn run_until<'a>(&'a self, shutdown: Boxed<'a>) -> Boxed<'a>;

    fn synced(&self) -> Boxed<'_>;

    fn unsynced(&self) -> Option<Unsynced>;

    fn as_any(&self) -> &dyn Any;
}

pub(super) type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Slot {
    pub(super) fn new<K: Object + DeserializeOwned>(informer: Informer<K>) -> Self {
        let resource = resource(informer.kind());
        Self { object: TypeId::of::<K>(), resource, informer: Arc::new(informer), task: None }
    }

    pub(super) fn is_of(&self, kind: &Kind) -> bool {
        self.resource == resource(kind)
    }

    /// Its informer, if it is of this type and kind.
    pub(super) fn informer_of<K: Object>(&self, kind: &Kind) -> Option<Informer<K>> {
        if self.object != TypeId::of::<K>() || !self.is_of(kind) {
            return None;
        }
        self.informer.as_any().downcast_ref().cloned()
    }
}

/// Group, version and plural: what tells one collection of a server from another.
fn resource(kind: &Kind) -> String {
    kind.collection_path("")
}

impl<K: Object + DeserializeOwned> Follow for Informer<K> {
    fn run_until<'a>(&'a self, shutdown: Boxed<'a>) -> Boxed<'a> {
        Box::pin(self.run(shutdown))
    }

    fn synced(&self) -> Boxed<'_> {
        Box::pin(self.wait_for_sync())
    }

    fn unsynced(&self) -> Option<Unsynced> {
        Informer::unsynced(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
