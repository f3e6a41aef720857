use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::{Clock, Kind, Object, ObjectKey, Resource};
use lariat_client::{Api, Client};
use lariat_leaderelection::Leading;
use lariat_store::Lister;

use super::Trigger;
use super::cache::{self, Cache};
use super::tracked::{TrackedApi, Tracker};
use super::writes::Writes;
use crate::events::Recorder;
use crate::manager::{Stop, Term};

/// What a handler has beside key and object. A clone is the same.
///
/// # Example
///
/// ```
/// use lariat::prelude::*;
///
/// async fn reconcile(key: ObjectKey, _: Option<Arc<DynamicObject>>, context: Context) -> Result<Outcome, Failure> {
///     let nodes = context.lister_of::<DynamicObject>(&Kind::cluster("", "v1", "Node", "nodes"))?;
///     println!("{}, run {}: {key}, {} nodes", context.controller(), context.run_id(), nodes.store().len());
///     Ok(Outcome::Done)
/// }
/// # let _ = Controller::<DynamicObject>::of_kind("a", Kind::cluster("", "v1", "Node", "nodes")).reconcile(reconcile);
/// ```
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Run>);

/// One run of a handler.
pub(crate) struct Run {
    pub(crate) shared: Arc<Common>,
    pub(crate) key: ObjectKey,
    pub(crate) id: u64,
}

/// What all runs of a controller's handler have.
pub(crate) struct Common {
    pub(crate) name: Arc<str>,
    pub(crate) client: Client,
    pub(crate) caches: Arc<[Arc<dyn Cache>]>,
    pub(crate) writes: Arc<Writes>,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) trigger: Trigger,
    pub(crate) term: Option<Term>,
    pub(crate) stop: Stop,
}

/// A kind that a controller does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "controller {controller:?} has no cache of {kind} of this type: let it watch, own or read the kind before it is added"
)]
pub struct NotWatched {
    /// The controller.
    pub controller: String,
    /// The kind, as `plural.group`.
    pub kind: String,
}

impl Context {
    /// The client. It calls itself after the controller. In a term of a [`LeaseElector`](crate::LeaseElector) it asks the token before
    /// each write.
    pub fn client(&self) -> &Client {
        &self.0.shared.client
    }

    /// The cache of a type that the controller watches, owns or [reads](crate::Controller::reads).
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn lister<K: Resource>(&self) -> Result<Lister<K>, NotWatched> {
        self.lister_of(&K::KIND)
    }

    /// As [`lister`](Self::lister), of a kind that the type does not tell.
    ///
    /// # Errors
    ///
    /// If the controller does not read it.
    pub fn lister_of<K: Object>(&self, kind: &Kind) -> Result<Lister<K>, NotWatched> {
        let informer = cache::find::<K>(&self.0.shared.caches, kind);
        let none = || NotWatched { controller: self.controller().to_owned(), kind: kind.to_string() };
        informer.map(|informer| informer.lister()).ok_or_else(none)
    }

    /// Writes objects of a type, in all namespaces.
    pub fn api<K: Resource>(&self) -> TrackedApi<K> {
        self.api_of(K::KIND)
    }

    /// As [`api`](Self::api), of a kind that the type does not tell.
    pub fn api_of<K>(&self, kind: Kind) -> TrackedApi<K> {
        let Common { client, caches, writes, .. } = &*self.0.shared;
        let tracker = Tracker { handled: self.0.key.clone(), writes: writes.clone(), caches: caches.clone() };
        TrackedApi::new(Api::of_kind(client.clone(), kind, ""), tracker)
    }

    /// Tells people what happened, by Kubernetes events.
    pub fn events(&self) -> &Recorder {
        &self.0.shared.recorder
    }

    /// The time of day.
    pub fn clock(&self) -> &dyn Clock {
        &*self.0.shared.clock
    }

    /// Has other keys handled, or this one again.
    pub fn trigger(&self) -> &Trigger {
        &self.0.shared.trigger
    }

    /// The leadership in which this runs; none if the controller needs none, or the manager has no elector.
    pub fn term(&self) -> Option<&Term> {
        self.0.shared.term.as_ref()
    }

    /// The token of the leadership, if it is that of a [`LeaseElector`](crate::LeaseElector).
    pub fn leading(&self) -> Option<&Leading> {
        self.term()?.token()
    }

    /// Says when the program is to stop. A handler that takes long should look.
    pub fn stop(&self) -> &Stop {
        &self.0.shared.stop
    }

    /// The name of the controller.
    pub fn controller(&self) -> &str {
        &self.0.shared.name
    }

    /// The key that is handled.
    pub fn key(&self) -> &ObjectKey {
        &self.0.key
    }

    /// A number that this run of the handler shares with no other of the controller, as log lines have it.
    pub fn run_id(&self) -> u64 {
        self.0.id
    }
}

impl Debug for Context {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("controller", &self.0.shared.name)
            .field("key", &self.0.key)
            .field("run", &self.0.id)
            .finish_non_exhaustive()
    }
}
