//! The Kubernetes object model.
//!
//! Here lives what an API object is made of and what can be said about it without I/O: its [`Kind`], [`ObjectMeta`],
//! [`ObjectKey`] and [`ResourceVersion`], selectors ([`labels`], [`fields`]), the [`Status`] that a server answers with,
//! [`WatchEvent`]s, and the sources of time and randomness that everything above is given ([`Clock`], [`Randomness`]).
//!
//! No transport, no cache, and no particular kind of object: those are the crates above.
//!
//! Invariants:
//! - Fields that this crate does not know survive a round trip, except `managedFields`, which is skipped.
//! - Nothing here reads the clock or the operating system's randomness but [`SystemClock`] and [`Randomness::from_os`].

#![forbid(unsafe_code)]

mod clock;
mod dynamic;
pub mod fields;
#[cfg(feature = "k8s-openapi")]
mod foreign;
mod int_or_string;
mod interned;
pub mod json;
mod key;
mod kind;
pub mod labels;
mod limits;
mod meta;
mod object;
mod partial;
mod random;
mod resource_version;
mod status;
mod text;
mod type_meta;
mod watch;

pub use clock::{Clock, ManualClock, SystemClock};
pub use dynamic::DynamicObject;
#[cfg(feature = "k8s-openapi")]
pub use foreign::ForeignScope;
#[cfg(feature = "kube")]
pub use foreign::kube_kind;
pub use int_or_string::{IntOrString, NotAPercentage};
pub use interned::Interned;
pub use key::{KeyError, ObjectKey};
pub use kind::Kind;
pub use meta::{ListMeta, ManagedFields, ObjectMeta, OwnerReference};
pub use object::{Metadata, Object, Owner, Resource};
pub use partial::PartialObjectMetadata;
pub use random::Randomness;
pub use resource_version::{InvalidResourceVersion, ResourceVersion};
pub use status::{Reason, Status, StatusCause, StatusDetails};
pub use text::{Text, TextMap};
pub use type_meta::TypeMeta;
#[doc(hidden)]
pub use watch::partial_event;
pub use watch::{Bookmark, EventError, WatchEvent};
