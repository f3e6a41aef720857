use crate::labels::Labels;
use crate::{KeyError, Kind, ObjectKey};

/// What everything above this crate reads from an object's metadata.
///
/// [`ObjectMeta`](crate::ObjectMeta) implements it; types from elsewhere bring their own metadata and implement it for
/// that. Absent strings are `""`. Its [`Labels`] are what selectors match: `selector.matches(object.meta())`.
pub trait Metadata: Labels {
    /// `metadata.name`.
    fn name(&self) -> &str;

    /// `metadata.namespace`, `""` for cluster-wide objects.
    fn namespace(&self) -> &str;

    /// `metadata.uid`.
    fn uid(&self) -> &str;

    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> &str;

    /// `metadata.generation`, 0 where there is none.
    fn generation(&self) -> i64;

    /// Whether deletion was asked for and finalizers or grace hold the object.
    fn is_being_deleted(&self) -> bool;

    /// The value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str>;

    /// `metadata.finalizers`.
    fn finalizers(&self) -> &[String];

    /// Calls `f` with each of `metadata.ownerReferences`, in order.
    fn each_owner(&self, f: &mut dyn FnMut(Owner<'_>));

    /// Whether both have the same labels.
    fn has_same_labels(&self, other: &Self) -> bool
    where
        Self: Sized;

    /// Whether both have the same annotations.
    fn has_same_annotations(&self, other: &Self) -> bool
    where
        Self: Sized;
}

/// One of an object's owners, as [`Metadata::each_owner`] tells of it. Absent strings are `""`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its name, in the same namespace or in none.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Whether it is the one that manages the object.
    pub is_controller: bool,
}

/// An API object: anything with metadata.
///
/// # Example
///
/// ```
/// use lariat_api::{Object, ObjectMeta};
///
/// struct Fleet {
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
/// let metadata = ObjectMeta { name: "simple".into(), namespace: "default".into(), ..Default::default() };
/// assert_eq!(Fleet { metadata }.key().unwrap().as_str(), "default/simple");
/// ```
pub trait Object: Send + Sync + 'static {
    /// The type of its `metadata`.
    type Meta: Metadata;

    /// Whether the type holds nothing but `metadata`, so that servers are asked for nothing else.
    const IS_METADATA_ONLY: bool = false;

    /// Its `metadata`.
    fn meta(&self) -> &Self::Meta;

    /// The name, unique within kind and namespace.
    fn name(&self) -> &str {
        self.meta().name()
    }

    /// The namespace, `""` for cluster-wide objects.
    fn namespace(&self) -> &str {
        self.meta().namespace()
    }

    /// The uid, which tells an object from one that was created under its name later.
    fn uid(&self) -> &str {
        self.meta().uid()
    }

    /// The version that changes with every write.
    fn resource_version(&self) -> &str {
        self.meta().resource_version()
    }

    /// The `apiVersion` and `kind` that the object came with, for types that keep them: an informer passes over what is of
    /// another kind than it follows.
    fn type_meta(&self) -> Option<(&str, &str)> {
        None
    }

    /// The key under which caches and queues know the object.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoName`] if the object has no name.
    fn key(&self) -> Result<ObjectKey, KeyError> {
        let meta = self.meta();
        if meta.name().is_empty() {
            return Err(KeyError::NoName { namespace: meta.namespace().into(), uid: meta.uid().into() });
        }
        Ok(ObjectKey::new(meta.namespace(), meta.name()))
    }
}

/// An object whose kind is known from its type.
pub trait Resource: Object {
    /// The kind of all objects of this type.
    const KIND: Kind;
}
