//! The patches that clients send: JSON patch (RFC 6902), JSON merge patch (RFC 7386) and Kubernetes' strategic merge patch.
//! Server-side apply is a patch, too, but needs to know who owns what: see [`crate::apply`].
//!
//! The functions take the object and the patch and give the new object. Whether it is valid, who owns its fields
//! ([`crate::apply::FieldManager::track_update`]) and what the request may not change is for the caller.
//!
//! Invariants:
//! - Nothing nests deeper than [`crate::apply::MAX_DEPTH`], neither what comes in nor what goes out.
//! - An error is answered as the API server answers it: see [`PatchError::status`].

mod error;
mod json;
mod merge;
mod strategic;

use serde_json::Value;

pub use error::{PatchError, invalid_result};
pub use json::json_patch;
pub(crate) use merge::go_kind;
pub use merge::merge_patch;
pub(crate) use strategic::go_text;
pub use strategic::strategic_patch;

use crate::apply::{MAX_DEPTH, value::is_within};

/// The kinds of patch that a request can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchKind {
    /// A list of operations (RFC 6902).
    Json,
    /// A document to be merged (RFC 7386).
    Merge,
    /// A document to be merged as the types of the built-in kinds say.
    Strategic,
    /// A configuration to be applied on the server's side.
    Apply,
}

impl PatchKind {
    /// The kind of patch that a `Content-Type` announces; none if it announces no patch that is known.
    pub fn from_media_type(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }
}

/// Refuses what nests too deeply.
fn check_depth(values: [&Value; 2]) -> Result<(), PatchError> {
    if values.iter().all(|value| is_within(value, MAX_DEPTH)) {
        Ok(())
    } else {
        Err(PatchError::Malformed("exceeded max depth".into()))
    }
}
