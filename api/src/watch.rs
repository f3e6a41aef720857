use std::fmt::{self, Formatter};
use std::marker::PhantomData;
use std::str::Utf8Error;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::{Metadata, ObjectMeta, PartialObjectMetadata, Status, json};

/// One event of a watch.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Object, WatchEvent};
///
/// let line = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
/// match WatchEvent::<DynamicObject>::from_json(line)? {
///     WatchEvent::Added(object) => assert_eq!(object.name(), "a"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), lariat_api::EventError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent<K> {
    /// An object came into being, or into the selection.
    Added(K),
    /// An object changed.
    Modified(K),
    /// An object went away, or out of the selection. This is its last state.
    Deleted(K),
    /// Nothing happened up to a resourceVersion.
    Bookmark(Bookmark),
    /// The server ends the watch.
    Error(Box<Status>),
}

/// How far a watch has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// The version up to which all events were sent.
    pub resource_version: String,
    /// Whether this ends the initial events of a streaming list.
    pub initial_events_end: bool,
}

/// Why a text is not a watch event that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// It is not UTF-8.
    #[error("watch event is not UTF-8: {0}")]
    Utf8(Utf8Error),
    /// It is not JSON.
    #[error("watch event is not JSON: {0}")]
    Json(serde_json::Error),
    /// It ends in the middle of the JSON.
    #[error("watch event is cut off: {0}")]
    Truncated(serde_json::Error),
    /// It is JSON, but has no `type` or no `object`.
    #[error("watch event has no {0:?}")]
    Missing(&'static str),
    /// It is an event of a type that is not known.
    #[error("watch event of unknown type {0:?}")]
    UnknownType(String),
    /// It is an event, but its object does not have the expected shape.
    #[error("object of watch event cannot be decoded: {0}")]
    Object(serde_json::Error),
}

impl<K: DeserializeOwned> WatchEvent<K> {
    /// Checks that the bytes are UTF-8 and decodes them as [`from_json`](Self::from_json) does.
    ///
    /// # Errors
    ///
    /// See [`EventError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EventError> {
        Self::from_json(str::from_utf8(bytes).map_err(EventError::Utf8)?)
    }

    /// Decodes an event from its JSON in one pass.
    ///
    /// # Errors
    ///
    /// See [`EventError`].
    pub fn from_json(text: &str) -> Result<Self, EventError> {
        match json::from_str(text) {
            Ok(Envelope::Event(event)) => Ok(event),
            Ok(Envelope::UnknownType(kind)) => Err(EventError::UnknownType(kind)),
            Ok(Envelope::Missing(field)) => Err(EventError::Missing(field)),
            Err(error) if error.is_eof() => Err(EventError::Truncated(error)),
            Err(error) if error.is_data() => Err(EventError::Object(error)),
            Err(error) => Err(EventError::Json(error)),
        }
    }
}

/// The annotation on the bookmark that ends a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

enum Envelope<K> {
    Event(WatchEvent<K>),
    UnknownType(String),
    Missing(&'static str),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Field {
    Type,
    Object,
    #[serde(other)]
    Other,
}

enum Type {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
    Unknown(String),
}

struct EnvelopeVisitor<K>(PhantomData<K>);

/// Decodes an object as what its event's type says it is.
struct ObjectSeed<K>(Type, PhantomData<K>);

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TypeVisitor;

        impl Visitor<'_> for TypeVisitor {
            type Value = Type;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("the type of a watch event")
            }

            fn visit_str<E>(self, text: &str) -> Result<Type, E> {
                Ok(match text {
                    "ADDED" => Type::Added,
                    "MODIFIED" => Type::Modified,
                    "DELETED" => Type::Deleted,
                    "BOOKMARK" => Type::Bookmark,
                    "ERROR" => Type::Error,
                    unknown => Type::Unknown(unknown.to_owned()),
                })
            }
        }

        deserializer.deserialize_str(TypeVisitor)
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Envelope<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor(PhantomData))
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for EnvelopeVisitor<K> {
    type Value = Envelope<K>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<K>, A::Error> {
        let mut kind = None;
        let mut early: Option<&'de RawValue> = None;
        let mut decoded = None;
        while let Some(field) = map.next_key()? {
            match field {
                Field::Type => kind = Some(map.next_value::<Type>()?),
                Field::Object => match kind.take() {
                    Some(kind) => decoded = Some(map.next_value_seed(ObjectSeed(kind, PhantomData))?),
                    // Servers write the type first; if one does not, the object is passed over and read again.
                    None => early = Some(map.next_value()?),
                },
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (decoded, kind, early) {
            (Some(decoded), ..) => Ok(decoded),
            (None, Some(kind), Some(raw)) => {
                ObjectSeed(kind, PhantomData).deserialize(raw).map_err(A::Error::custom)
            }
            (None, Some(Type::Unknown(kind)), None) => Ok(Envelope::UnknownType(kind)),
            (None, Some(_), None) => Ok(Envelope::Missing("object")),
            (None, None, _) => Ok(Envelope::Missing("type")),
        }
    }
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ObjectSeed<K> {
    type Value = Envelope<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Envelope<K>, D::Error> {
        Ok(Envelope::Event(match self.0 {
            Type::Added => WatchEvent::Added(K::deserialize(deserializer)?),
            Type::Modified => WatchEvent::Modified(K::deserialize(deserializer)?),
            Type::Deleted => WatchEvent::Deleted(K::deserialize(deserializer)?),
            Type::Bookmark => WatchEvent::Bookmark(bookmark(deserializer)?),
            Type::Error => WatchEvent::Error(status(deserializer)?),
            Type::Unknown(kind) => {
                IgnoredAny::deserialize(deserializer)?;
                return Ok(Envelope::UnknownType(kind));
            }
        }))
    }
}

#[inline(never)] // as `status`
fn bookmark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bookmark, D::Error> {
    #[derive(Deserialize)]
    struct Marker {
        metadata: ObjectMeta,
    }

    let Marker { metadata } = Marker::deserialize(deserializer)?;
    Ok(Bookmark {
        initial_events_end: metadata.annotation(INITIAL_EVENTS_END) == Some("true"),
        resource_version: metadata.resource_version.into(),
    })
}

#[inline(never)] // compiled once for all crates, see `partial_event`
fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Status>, D::Error> {
    Status::deserialize(deserializer).map(Box::new)
}

/// Decodes an event of an object of which nothing but the metadata is wanted.
///
/// What events of all kinds have in common is compiled with this. A generic function that is never inlined is taken from the crate
/// in which it is there already; any other would be compiled again in each crate that decodes an object.
#[doc(hidden)]
pub fn partial_event(text: &str) -> Result<WatchEvent<PartialObjectMetadata>, EventError> {
    WatchEvent::from_json(text)
}
