//! Keeps a [`Store`](lariat_store::Store) equal to a part of an API server, and tells handlers what changed.
//!
//! Here live list-and-watch with its back-off, the application of what it brings to the store, and the [`Informer`], which
//! several handlers share. An [`InformerFactory`] makes one for each kind and runs them together; a [`MutationCache`] lays own
//! writes over one. Nothing here decides what to do about a change: handlers put keys into a queue.
//!
//! Data goes one way: server, reflector, store, handlers. A change is in the store before any handler hears of it.
//!
//! Invariants:
//! - Each handler sees one story for each object, in order, in which `old` is the previous `new`.
//! - The resourceVersion never goes back, and never passes an event that was not applied.
//! - A relist delivers the deletions that happened meanwhile, and nothing for objects that did not change.
//! - No handler is called under a lock, none waits for another, and what a stuck one holds is bounded by the objects.
//! - No task outlives [`Informer::run`], or the [`InformerFactory`] that runs it.

#![forbid(unsafe_code)]

mod backoff;
mod builder;
mod cache;
mod delivery;
mod error;
mod factory;
mod filter;
mod handler;
mod informer;
mod limits;
mod list;
mod membership;
mod metrics;
mod mutation_cache;
mod not_synced;
mod overlay;
mod progress;
mod reflector;
mod registration;
mod relist;
mod streaming;
mod sync;
mod version;

pub use backoff::{Backoff, BackoffConfig};
pub use builder::InformerBuilder;
pub use delivery::{Event, Subscription};
pub use error::{ErrorHandler, ReflectorError, TransformError};
pub use factory::{AlreadyMade, InformerFactory, InformerFactoryBuilder, ListOptions};
pub use filter::FilteringHandler;
pub use handler::{Deleted, EventHandler, HandlerFns};
pub use informer::Informer;
pub use metrics::Metrics;
pub use mutation_cache::MutationCache;
pub use not_synced::{NotSynced, Unsynced};
pub use progress::LastError;
pub use reflector::InitialList;
pub use registration::{AddIndexersError, Registration, Stopped, SubscribeError};
