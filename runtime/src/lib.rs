//! The runtime inside an operator.
//!
//! This is the crate that the author of a controller depends on. Here live the [`Controller`], which has the keys of one kind of
//! object handled; the [`Manager`], which runs controllers and says how they are; [`shared`] controllers in the manner of Lasso;
//! the [`Recorder`] of events; helpers for finalizers, owners, conditions and waiting; and, with the feature `testing`, a cluster for tests. It brings the crates below it
//! under one name, each as a module, and what nearly every controller uses in [`prelude`]. Nothing here is known to one kind of
//! object.
//!
//! The way of a change: [`client`] reads it from the API server, [`reflector`] applies it to the [`store`] and tells
//! handlers, handlers put keys into a [`workqueue`], workers take them out, read the store and write through [`client`].
//!
//! Invariants:
//! - A key is with one handler at a time, and one that changes meanwhile is handled once more.
//! - What a handler does, be it to panic, to hang or to fail for ever, costs nobody but its key and, while it runs, its worker.
//! - A handler is not called for a key before the caches show what it wrote for that key, or the time for that is over.
//! - Each key that was taken is handled to its end, comes again, or is reported as left.
//! - No task outlives [`Manager::run`], but for the informers, which end with the last handle to the manager.
//!
//! # Example
//!
//! A controller that says hello to every node, in full:
//!
//! ```no_run
//! use lariat::prelude::*;
//!
//! const NODES: Kind = Kind::cluster("", "v1", "Node", "nodes");
//!
//! async fn hello(key: ObjectKey, node: Option<Arc<DynamicObject>>, _: Context) -> Result<Outcome, Failure> {
//!     println!("{} {key}", if node.is_some() { "hello" } else { "goodbye" });
//!     Ok(Outcome::Done)
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = Manager::new(Client::new(Config::infer()?)?);
//! manager.add(Controller::of_kind("hello", NODES).reconcile(hello))?;
//! manager.run(signals()?).await?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod boxed;
mod controller;
mod env;
mod events;
mod helpers;
mod limits;
mod manager;
mod metrics;
mod object_macro;
pub mod shared;
#[cfg(feature = "testing")]
pub mod testing;
mod time;

pub use lariat_api as api;
pub use lariat_client as client;
pub use lariat_leaderelection as leaderelection;
pub use lariat_reflector as reflector;
pub use lariat_store as store;
pub use lariat_workqueue as workqueue;

pub use lariat_api::{
    DynamicObject, Kind, Metadata, Object, ObjectKey, ObjectMeta, PartialObjectMetadata, Resource,
};
pub use lariat_client::{Api, Client, Config};

pub use boxed::Boxed as BoxFuture;
pub use controller::{
    Change, Context, Controller, Failure, NotWatched, Outcome, Predicate, ReadyController, TrackedApi,
    Trigger, Watch,
};
pub use events::{EventType, ObjectReference, Recorder};
pub use helpers::{
    Condition, Conditions, Finalizer, OwnerError, WaitError, install_crd, owner_reference,
    set_controller_reference, wait_for, wait_for_crd,
};
pub use manager::{
    AddError, BoxError, Elector, InvalidSelection, LeaseElector, Left, Manager, ManagerBuilder, ManagerError,
    Runnable, Selection, Stop, Stopped, Term, signals,
};

/// What nearly every controller uses.
pub mod prelude {
    pub use std::sync::Arc;

    pub use lariat_api::{
        DynamicObject, Kind, Metadata, Object, ObjectKey, ObjectMeta, PartialObjectMetadata, Resource,
    };
    pub use lariat_client::{Api, Client, Config};
    pub use lariat_reflector::{
        Deleted, Event, EventHandler, HandlerFns, Informer, InformerFactory, InitialList, MutationCache,
    };
    pub use lariat_store::{Indexers, Lister, NotFound};
    pub use lariat_workqueue::{Queue, RateLimiter, Workers};

    pub use crate::{
        Condition, Conditions, Context, Controller, Failure, Finalizer, Manager, Outcome, Predicate, Watch,
        set_controller_reference, signals,
    };
}

/// What the macro needs.
#[doc(hidden)]
pub mod __private {
    pub use serde;
    pub use serde_json;
}
