//! Types of other crates as objects: those of `k8s-openapi`, and with the feature `kube` all that are kube's resources.
//!
//! Both features at once are as `kube` alone, since kube takes every type of `k8s-openapi` for a resource. No version of Kubernetes
//! is chosen here: the program does, by a feature of `k8s-openapi`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};

use crate::labels::Labels;
use crate::{Kind, Metadata, Object, Owner, Resource};

impl Labels for ObjectMeta {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }
}

impl Metadata for ObjectMeta {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }

    fn resource_version(&self) -> &str {
        self.resource_version.as_deref().unwrap_or_default()
    }

    fn generation(&self) -> i64 {
        self.generation.unwrap_or_default()
    }

    fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn finalizers(&self) -> &[String] {
        self.finalizers.as_deref().unwrap_or_default()
    }

    fn each_owner(&self, f: &mut dyn FnMut(Owner<'_>)) {
        for owner in self.owner_references.iter().flatten() {
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
        self.labels.iter().flatten().eq(other.labels.iter().flatten())
    }

    fn has_same_annotations(&self, other: &Self) -> bool {
        self.annotations.iter().flatten().eq(other.annotations.iter().flatten())
    }
}

#[cfg(not(feature = "kube"))]
impl<K> Object for K
where
    K: k8s_openapi::Resource + k8s_openapi::Metadata<Ty = ObjectMeta> + Send + Sync + 'static,
{
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        self.metadata()
    }
}

#[cfg(feature = "kube")]
impl<K> Object for K
where
    K: kube_core::Resource<DynamicType = ()> + Send + Sync + 'static,
{
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        kube_core::Resource::meta(self)
    }
}

impl<K> Resource for K
where
    K: k8s_openapi::Resource + k8s_openapi::Metadata<Ty = ObjectMeta> + Send + Sync + 'static,
    K::Scope: ForeignScope,
{
    const KIND: Kind =
        Kind::fixed(K::GROUP, K::VERSION, K::KIND, K::URL_PATH_SEGMENT, K::Scope::IS_NAMESPACED);
}

/// Whether the objects of a type of another crate live in namespaces.
pub trait ForeignScope {
    /// So it is.
    const IS_NAMESPACED: bool;
}

impl ForeignScope for NamespaceResourceScope {
    const IS_NAMESPACED: bool = true;
}

impl ForeignScope for ClusterResourceScope {
    const IS_NAMESPACED: bool = false;
}

/// The kind of a type that kube takes for a resource, such as one that derives kube's `CustomResource`.
///
/// Kube knows it only at run time, so such a type is an [`Object`] and no [`Resource`]: use what takes a kind beside the type.
#[cfg(feature = "kube")]
pub fn kube_kind<K>() -> Kind
where
    K: kube_core::Resource<DynamicType = ()>,
    K::Scope: ForeignScope,
{
    Kind::new(
        K::group(&()).into_owned(),
        K::version(&()).into_owned(),
        K::kind(&()).into_owned(),
        K::plural(&()).into_owned(),
        K::Scope::IS_NAMESPACED,
    )
}

impl From<crate::OwnerReference> for OwnerReference {
    fn from(owner: crate::OwnerReference) -> Self {
        let crate::OwnerReference { api_version, kind, name, uid, controller, block_owner_deletion } = owner;
        Self { api_version, kind, name, uid, controller, block_owner_deletion }
    }
}
