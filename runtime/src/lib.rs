//! The runtime inside an operator.
//!
//! This is the crate that the author of a controller depends on. It brings the crates below it under one name, each as a
//! module, and what nearly every controller uses in [`prelude`]. Nothing here is known to one kind of object.
//!
//! The way of a change: [`client`] reads it from the API server, [`reflector`] applies it to the [`store`] and tells
//! handlers, handlers put keys into a [`workqueue`], workers take them out, read the store and write through [`client`].
//!
//! # Example
//!
//! A controller that says hello to every node, in full:
//!
//! ```
//! use lariat::prelude::*;
//!
//! const NODES: Kind = Kind::cluster("", "v1", "Node", "nodes");
//!
//! # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
//! let informer = Informer::<DynamicObject>::builder(Api::of_kind(client, NODES, "")).build();
//! let nodes = informer.lister();
//! let queue = Queue::new();
//! let keys = queue.clone();
//! informer.add_handler(HandlerFns::<DynamicObject>::new().on_add(move |node, _| {
//!     if let Ok(key) = node.key() {
//!         keys.add(key);
//!     }
//! }))?;
//!
//! let workers = Workers::new(queue.clone(), 2).run(move |key: ObjectKey| {
//!     let node = nodes.get(&key);
//!     async move {
//!         println!("hello {}", node?.name());
//!         Ok::<_, NotFound>(())
//!     }
//! });
//! informer.run(shutdown).await;
//! queue.shut_down();
//! workers.await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub use lariat_api as api;
pub use lariat_client as client;
pub use lariat_reflector as reflector;
pub use lariat_store as store;
pub use lariat_workqueue as workqueue;

/// What nearly every controller uses.
pub mod prelude {
    pub use lariat_api::{
        DynamicObject, Kind, Metadata, Object, ObjectKey, ObjectMeta, PartialObjectMetadata, Resource,
    };
    pub use lariat_client::{Api, Client, Config};
    pub use lariat_reflector::{
        Deleted, Event, EventHandler, HandlerFns, Informer, InformerFactory, InitialList, MutationCache,
    };
    pub use lariat_store::{Indexers, Lister, NotFound};
    pub use lariat_workqueue::{Queue, RateLimiter, Workers};
}
