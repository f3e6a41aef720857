use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::meta::null_is_default;
use crate::{Object, ObjectMeta};

/// An object of a kind that is known only at run time.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Object};
///
/// let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
/// let object: DynamicObject = serde_json::from_str(text)?;
/// assert_eq!(object.name(), "a");
/// assert_eq!(object.other["data"]["k"], "v");
/// assert_eq!(serde_json::to_string(&object)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DynamicObject {
    /// `group/version`, or the version alone for the core group.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub api_version: String,
    /// The kind, such as `ConfigMap`.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub kind: String,
    /// What all objects have.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: ObjectMeta,
    /// Everything else: `spec`, `status`, `data` and so on.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Object for DynamicObject {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn type_meta(&self) -> Option<(&str, &str)> {
        (!self.kind.is_empty()).then_some((&self.api_version, &self.kind))
    }
}
