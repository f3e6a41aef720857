use serde::Deserialize;

use crate::meta::null_is_default;
use crate::{Object, ObjectMeta};

/// The metadata of an object of any kind, without the rest.
///
/// A client that reads this type asks the server to leave the rest out, and reads over it where the server sends it all the
/// same. It cannot be serialized, so that nobody writes an object back without the rest.
///
/// # Example
///
/// ```
/// use lariat_api::{Object, PartialObjectMetadata};
///
/// let text = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","labels":{"k":"v"}},"data":{"p":"cw=="}}"#;
/// let secret: PartialObjectMetadata = serde_json::from_str(text)?;
/// assert_eq!((secret.name(), secret.metadata.labels["k"].as_str()), ("a", "v"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PartialObjectMetadata {
    /// What all objects have.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: ObjectMeta,
}

impl Object for PartialObjectMetadata {
    type Meta = ObjectMeta;

    const IS_METADATA_ONLY: bool = true;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}
