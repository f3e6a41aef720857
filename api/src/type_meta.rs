use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::Resource;

/// The `apiVersion` and `kind` of a type whose kind is known: written as the type says, and read over.
///
/// It takes no memory. Flatten it into the type:
///
/// ```
/// use lariat_api::{Kind, Object, ObjectMeta, Resource, TypeMeta};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Fleet {
///     #[serde(flatten)]
///     types: TypeMeta<Fleet>,
///     metadata: ObjectMeta,
/// }
///
/// impl Object for Fleet {
///     type Meta = ObjectMeta;
///
///     fn meta(&self) -> &ObjectMeta {
///         &self.metadata
///     }
/// }
///
/// impl Resource for Fleet {
///     const KIND: Kind = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
/// }
///
/// let text = serde_json::to_string(&Fleet::default())?;
/// assert_eq!(text, r#"{"apiVersion":"agones.dev/v1","kind":"Fleet","metadata":{}}"#);
/// let _: Fleet = serde_json::from_str(&text)?;
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct TypeMeta<K>(PhantomData<fn() -> K>);

const FIELDS: &[&str] = &["apiVersion", "kind"];

impl<K: Resource> Serialize for TypeMeta<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("TypeMeta", FIELDS.len())?;
        fields.serialize_field("apiVersion", &K::KIND.api_version())?;
        fields.serialize_field("kind", K::KIND.kind())?;
        fields.end()
    }
}

impl<'de, K> Deserialize<'de> for TypeMeta<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReadOver;

        impl<'de> Visitor<'de> for ReadOver {
            type Value = ();

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(())
            }
        }

        deserializer.deserialize_struct("TypeMeta", FIELDS, ReadOver).map(|()| Self(PhantomData))
    }
}

impl<K> Default for TypeMeta<K> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<K> Clone for TypeMeta<K> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<K> PartialEq for TypeMeta<K> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<K> Debug for TypeMeta<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("TypeMeta")
    }
}
