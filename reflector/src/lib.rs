//! Keeps a [`Store`](lariat_store::Store) equal to a part of an API server, and tells handlers what changed.
//!
//! Here live list-and-watch with its back-off, the application of what it brings to the store, and the [`Informer`],
//! which several handlers share. Nothing here decides what to do about a change: handlers put keys into a queue.
//!
//! Data goes one way: server, reflector, store, handlers. A change is in the store before any handler hears of it.
//!
//! Invariants:
//! - Each handler sees one story for each object, in order, in which `old` is the previous `new`.
//! - The resourceVersion never goes back, and never passes an event that was not applied.
//! - A relist delivers the deletions that happened meanwhile, and nothing for objects that did not change.
//! - No handler is called under a lock, and none waits for another.
//! - No task outlives [`Informer::run`].

#![forbid(unsafe_code)]

mod backoff;
mod cache;
mod error;
mod handler;
mod informer;
mod limits;
mod listener;
mod reflector;

pub use backoff::{Backoff, BackoffConfig};
pub use error::{ErrorHandler, ReflectorError};
pub use handler::{Deleted, EventHandler, HandlerFns};
pub use informer::{Informer, InformerBuilder, Registration, Stopped};
