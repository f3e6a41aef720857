//! Field management: who owns which fields of an object, and server-side apply.
//!
//! Every request that changes an object makes its manager the owner of the fields that it changed, and takes them from
//! those who owned them ([`FieldManager::track_update`]). Server-side apply ([`FieldManager::apply`]) makes the manager the
//! owner of all fields of its configuration, changed or not; it refuses to take a field from another owner unless it is
//! forced to, and it removes the fields that the manager applied before and applies no more, as long as nobody else owns
//! them.
//!
//! How objects and lists are owned, as a whole or in parts, is what a [`TypeInfo`] says. For the built-in kinds it is made
//! from a table; for custom resources it is made from their schema.
//!
//! Invariants:
//! - Nothing here does I/O or reads a clock: the time comes with the [`Request`].
//! - No input makes it panic: whatever nests deeper than [`MAX_DEPTH`] is refused, or goes by untracked.
//! - A [`FieldSet`] never holds an empty set below a path, so that equal sets are equal values.

mod builtin;
mod collect;
mod compare;
mod conflict;
mod field_set;
mod fields_v1;
mod last_applied;
mod list;
mod managed;
mod manager;
mod merge;
mod path;
mod remove;
mod scale;
mod time;
mod types;
mod updater;
pub(crate) mod value;

pub use builtin::{Schemaless, builtin_type, empty_object, object_meta, reset_fields};
pub(crate) use builtin::{builtin_shape, shape};
pub(crate) use conflict::failure;
pub use conflict::{ApplyError, Conflict, Conflicts};
pub use field_set::FieldSet;
pub use fields_v1::FieldsError;
pub use managed::{ManagedEntry, ManagedFields, ManagedFieldsError, Operation};
pub use manager::{Applied, FieldManager, Request, keep_times, manager_name};
pub use path::PathElement;
pub use scale::track_scale;
pub use types::{Child, Deduced, ListType, TypeInfo};
pub use value::MAX_DEPTH;
