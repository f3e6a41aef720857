//! A cache of objects that many threads read while one writes.
//!
//! Here live the [`Store`], its [`Indexers`], and the read-only views that controllers get: [`Lister`] and
//! [`NamespaceLister`]. Nothing here knows where the objects come from, and nothing waits or does I/O.
//!
//! Invariants:
//! - A reader sees the store before or after a write, never in between: the objects and all indexes change together.
//! - The store, its indexes and whoever holds a key share one allocation of it, and objects are shared, never copied.
//! - An index holds no empty sets, so values that come and go leave nothing behind.
//! - If an index function panics, the write that called it has changed nothing.

#![forbid(unsafe_code)]

mod index;
mod lister;
mod store;

pub use index::{DuplicateIndex, Indexers, UnknownIndex};
pub use lister::{Lister, NAMESPACE_INDEX, NamespaceLister, NotFound};
pub use store::{Store, Transaction};
