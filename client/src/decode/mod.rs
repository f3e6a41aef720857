//! Decoders of streamed answers, without I/O: chunks of bytes go in, objects and events come out.
//!
//! A list is scanned for the elements of its `items` while the chunks arrive; each is decoded where it lies, or from a
//! small buffer if a chunk ended inside it. A watch is split at its line ends in the same way. Where the chunks are cut
//! makes no difference.

mod list;
mod scan;
mod watch;

use bytes::Bytes;
use lariat_api::{Object, ObjectKey, PartialObjectMetadata};
use serde::Deserialize;

pub use list::{ListDecoder, ListError};
pub use scan::SyntaxError;
pub use watch::{WatchDecoder, WatchError};

/// An element of a list.
#[derive(Debug)]
pub enum Item<K> {
    /// An object of the expected type.
    Object(K),
    /// One that could not be decoded as such.
    Undecodable(Undecodable),
}

/// An object that does not have the expected shape.
#[derive(Debug, thiserror::Error)]
#[error("object {} cannot be decoded: {error}", self.label())]
pub struct Undecodable {
    /// The object as the server sent it.
    pub raw: Bytes,
    /// What was wrong with it.
    pub error: serde_json::Error,
}

impl Undecodable {
    /// The object of a watch event that was read as far as to it.
    pub fn of_event(event: &Bytes, error: serde_json::Error) -> Self {
        #[derive(Deserialize)]
        struct Envelope<'a> {
            #[serde(borrow)]
            object: &'a serde_json::value::RawValue,
        }

        let raw = serde_json::from_slice::<Envelope<'_>>(event);
        let raw =
            raw.map_or_else(|_| event.clone(), |envelope| event.slice_ref(envelope.object.get().as_bytes()));
        Self { raw, error }
    }

    /// The object's key, if at least its metadata can be read.
    pub fn key(&self) -> Option<ObjectKey> {
        serde_json::from_str::<PartialObjectMetadata>(str::from_utf8(&self.raw).ok()?).ok()?.key().ok()
    }

    fn label(&self) -> String {
        self.key().map_or_else(|| "without readable metadata".to_owned(), |key| key.to_string())
    }
}
