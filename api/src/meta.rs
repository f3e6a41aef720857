use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::labels::Labels;
use crate::{Interned, Metadata, Owner, Text, TextMap};

/// An object's `metadata`.
///
/// Absent strings are `""` and absent collections empty; they are left out when written. `managedFields` is skipped
/// when read: an update without it leaves the server's alone. Every other field that is not named here is kept in
/// [`other`](Self::other).
///
/// # Example
///
/// ```
/// use lariat_api::ObjectMeta;
///
/// let meta: ObjectMeta = serde_json::from_str(r#"{"name": "a", "selfLink": "/x", "managedFields": [{}]}"#)?;
/// assert_eq!(serde_json::to_string(&meta)?, r#"{"name":"a","selfLink":"/x"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectMeta {
    /// Unique within the kind and namespace.
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    /// The prefix from which the server makes a name, where `name` is empty.
    #[serde(skip_serializing_if = "is_empty_text")]
    pub generate_name: Interned<String>,
    /// The namespace, `""` for cluster-wide objects.
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub namespace: Text,
    /// Unique over time: an object that is deleted and created again gets another one.
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    /// Changes with every write; see [`ResourceVersion`](crate::ResourceVersion).
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub resource_version: Text,
    /// Grows with every change of the desired state; 0 where the server does not count it.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When the object was created, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Text>,
    /// Set once deletion was asked for, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Text>,
    /// What selectors look at. Objects of one owner share theirs.
    #[serde(skip_serializing_if = "is_empty_map")]
    pub labels: Interned<BTreeMap<String, String>>,
    /// What tools keep with the object.
    #[serde(skip_serializing_if = "is_empty_text_map")]
    pub annotations: Interned<TextMap>,
    /// The objects that this one goes away with.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub owner_references: Interned<Vec<OwnerReference>>,
    /// What must be removed before the object goes away.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub finalizers: Interned<Vec<String>>,
    /// Who set which field: read over, and left out when written.
    #[serde(skip_serializing)]
    pub managed_fields: ManagedFields,
    /// All fields that are not named above.
    #[serde(flatten)]
    pub other: Interned<Map<String, Value>>,
}

/// The place of `managedFields` in [`ObjectMeta`]. It is often a third of an object, so it is never built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManagedFields;

/// A reference from an object to one that it belongs to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The owner's `apiVersion`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name, in the same namespace.
    pub name: String,
    /// The owner's uid.
    pub uid: String,
    /// Whether the owner is the one that manages the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// A list's `metadata`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version at which the list was taken; a watch goes on from here.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// The token that asks for the next page; `""` on the last one.
    #[serde(
        rename = "continue",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub continue_token: String,
    /// How many objects the following pages hold, where the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
}

pub(crate) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// Go writes null for what is empty.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

// === impl ManagedFields ===

impl<'de> Deserialize<'de> for ManagedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

// === impl ObjectMeta ===

fn is_empty_text(text: &Interned<String>) -> bool {
    text.is_empty()
}

fn is_empty_map(map: &Interned<BTreeMap<String, String>>) -> bool {
    map.is_empty()
}

fn is_empty_text_map(map: &Interned<TextMap>) -> bool {
    map.is_empty()
}

fn is_empty_list<T: Send + Sync + 'static>(list: &Interned<Vec<T>>) -> bool {
    list.is_empty()
}

/// By hand, since `flatten` would first read every field into a value.
impl<'de> Deserialize<'de> for ObjectMeta {
    #[inline(never)] // compiled once for all crates, see `watch::partial_event`
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetaVisitor;

        impl<'de> Visitor<'de> for MetaVisitor {
            type Value = ObjectMeta;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("an object's metadata")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ObjectMeta, A::Error> {
                let mut meta = ObjectMeta::default();
                while let Some(field) = fields.next_key()? {
                    match field {
                        Field::Name => meta.name = value(&mut fields)?,
                        Field::GenerateName => meta.generate_name = value(&mut fields)?,
                        Field::Namespace => meta.namespace = value(&mut fields)?,
                        Field::Uid => meta.uid = value(&mut fields)?,
                        Field::ResourceVersion => meta.resource_version = value(&mut fields)?,
                        Field::Generation => meta.generation = value(&mut fields)?,
                        Field::CreationTimestamp => meta.creation_timestamp = fields.next_value()?,
                        Field::DeletionTimestamp => meta.deletion_timestamp = fields.next_value()?,
                        Field::Labels => meta.labels = value(&mut fields)?,
                        Field::Annotations => meta.annotations = value(&mut fields)?,
                        Field::OwnerReferences => meta.owner_references = value(&mut fields)?,
                        Field::Finalizers => meta.finalizers = value(&mut fields)?,
                        Field::ManagedFields => drop(fields.next_value::<IgnoredAny>()?),
                        Field::Other(name) => drop(meta.other.insert(name, fields.next_value()?)),
                    }
                }
                Ok(meta)
            }
        }

        /// Go writes null for what is empty.
        fn value<'de, A: MapAccess<'de>, T: Default + Deserialize<'de>>(
            fields: &mut A,
        ) -> Result<T, A::Error> {
            fields.next_value::<Option<T>>().map(Option::unwrap_or_default)
        }

        deserializer.deserialize_map(MetaVisitor)
    }
}

enum Field {
    Name,
    GenerateName,
    Namespace,
    Uid,
    ResourceVersion,
    Generation,
    CreationTimestamp,
    DeletionTimestamp,
    Labels,
    Annotations,
    OwnerReferences,
    Finalizers,
    ManagedFields,
    Other(String),
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;

        impl Visitor<'_> for FieldVisitor {
            type Value = Field;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }

            fn visit_str<E>(self, name: &str) -> Result<Field, E> {
                Ok(match name {
                    "name" => Field::Name,
                    "generateName" => Field::GenerateName,
                    "namespace" => Field::Namespace,
                    "uid" => Field::Uid,
                    "resourceVersion" => Field::ResourceVersion,
                    "generation" => Field::Generation,
                    "creationTimestamp" => Field::CreationTimestamp,
                    "deletionTimestamp" => Field::DeletionTimestamp,
                    "labels" => Field::Labels,
                    "annotations" => Field::Annotations,
                    "ownerReferences" => Field::OwnerReferences,
                    "finalizers" => Field::Finalizers,
                    "managedFields" => Field::ManagedFields,
                    other => Field::Other(other.to_owned()),
                })
            }
        }

        deserializer.deserialize_identifier(FieldVisitor)
    }
}

impl Labels for ObjectMeta {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

impl Metadata for ObjectMeta {
    fn name(&self) -> &str {
        &self.name
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn resource_version(&self) -> &str {
        &self.resource_version
    }

    fn generation(&self) -> i64 {
        self.generation
    }

    fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key)
    }

    fn finalizers(&self) -> &[String] {
        &self.finalizers
    }

    fn each_owner(&self, f: &mut dyn FnMut(Owner<'_>)) {
        for owner in self.owner_references.iter() {
            f(Owner {
                api_version: &owner.api_version,
                kind: &owner.kind,
                name: &owner.name,
                uid: &owner.uid,
                is_controller: owner.controller == Some(true),
            });
        }
    }

    fn has_same_labels(&self, other: &Self) -> bool {
        self.labels == other.labels
    }

    fn has_same_annotations(&self, other: &Self) -> bool {
        self.annotations == other.annotations
    }
}
