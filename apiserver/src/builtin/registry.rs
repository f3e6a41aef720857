//! What the built-in kinds are called, and what can be done with them: the facts of discovery.

use serde_json::{Map, Value, json};

use super::Strategy;

/// A built-in resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// The kind of their lists; empty for kinds that are only created.
    pub list_kind: &'static str,
    /// The name of the resource in paths.
    pub plural: &'static str,
    /// Its name for one object.
    pub singular: &'static str,
    /// What people abbreviate it to.
    pub short_names: &'static [&'static str],
    /// The groups of resources that it belongs to, such as `all`.
    pub categories: &'static [&'static str],
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: &'static [&'static str],
    /// The hash of the version that is stored; empty if nothing is stored.
    pub storage_version_hash: &'static str,
    /// The paths below its objects that are served.
    pub subresources: &'static [Subresource],
    /// How its objects behave.
    pub strategy: Strategy,
}

/// A path below the objects of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subresource {
    /// The last part of the path.
    pub name: &'static str,
    /// The kind that it takes.
    pub kind: &'static str,
    /// The kind's group, if it is not the resource's own.
    pub group: &'static str,
    /// The kind's version, if it is not the resource's own.
    pub version: &'static str,
    /// What can be done with it.
    pub verbs: &'static [&'static str],
}

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS: &[&str] = &["get", "patch", "update"];

const fn subresource(name: &'static str, kind: &'static str, verbs: &'static [&'static str]) -> Subresource {
    Subresource { name, kind, group: "", version: "", verbs }
}

const BASE: Resource = Resource {
    group: "",
    version: "v1",
    kind: "",
    list_kind: "",
    plural: "",
    singular: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    verbs: ALL,
    storage_version_hash: "",
    subresources: &[],
    strategy: Strategy::Binding,
};

static REGISTRY: [Resource; 17] = [
    Resource { kind: "Binding", plural: "bindings", singular: "binding", verbs: &["create"], ..BASE },
    Resource {
        kind: "ConfigMap",
        list_kind: "ConfigMapList",
        plural: "configmaps",
        singular: "configmap",
        short_names: &["cm"],
        storage_version_hash: "qFsyl6wFWjQ=",
        strategy: Strategy::ConfigMap,
        ..BASE
    },
    Resource {
        kind: "Event",
        list_kind: "EventList",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        storage_version_hash: "r2yiGXH7wu8=",
        strategy: Strategy::Event,
        ..BASE
    },
    Resource {
        kind: "Namespace",
        list_kind: "NamespaceList",
        plural: "namespaces",
        singular: "namespace",
        short_names: &["ns"],
        namespaced: false,
        verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
        storage_version_hash: "Q3oi5N2YM8M=",
        subresources: &[
            subresource("finalize", "Namespace", &["update"]),
            subresource("status", "Namespace", STATUS),
        ],
        strategy: Strategy::Namespace,
        ..BASE
    },
    Resource {
        kind: "Node",
        list_kind: "NodeList",
        plural: "nodes",
        singular: "node",
        short_names: &["no"],
        namespaced: false,
        storage_version_hash: "XwShjMxG9Fs=",
        subresources: &[subresource("status", "Node", STATUS)],
        strategy: Strategy::Node,
        ..BASE
    },
    Resource {
        kind: "Pod",
        list_kind: "PodList",
        plural: "pods",
        singular: "pod",
        short_names: &["po"],
        categories: &["all"],
        storage_version_hash: "xPOwRZ+Yhw8=",
        subresources: &[
            subresource("binding", "Binding", &["create"]),
            Subresource {
                name: "eviction",
                kind: "Eviction",
                group: "policy",
                version: "v1",
                verbs: &["create"],
            },
            subresource("status", "Pod", STATUS),
        ],
        strategy: Strategy::Pod,
        ..BASE
    },
    Resource {
        kind: "Secret",
        list_kind: "SecretList",
        plural: "secrets",
        singular: "secret",
        storage_version_hash: "S6u1pOWzb84=",
        strategy: Strategy::Secret,
        ..BASE
    },
    Resource {
        kind: "ServiceAccount",
        list_kind: "ServiceAccountList",
        plural: "serviceaccounts",
        singular: "serviceaccount",
        short_names: &["sa"],
        storage_version_hash: "pbx9ZvyFpBE=",
        strategy: Strategy::ServiceAccount,
        ..BASE
    },
    Resource {
        kind: "Service",
        list_kind: "ServiceList",
        plural: "services",
        singular: "service",
        short_names: &["svc"],
        categories: &["all"],
        storage_version_hash: "0/CO1lhkEBI=",
        subresources: &[subresource("status", "Service", STATUS)],
        strategy: Strategy::Service,
        ..BASE
    },
    Resource {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        list_kind: "CustomResourceDefinitionList",
        plural: "customresourcedefinitions",
        singular: "customresourcedefinition",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        namespaced: false,
        storage_version_hash: "jfWCUB31mvA=",
        subresources: &[subresource("status", "CustomResourceDefinition", STATUS)],
        strategy: Strategy::CustomResourceDefinition,
        ..BASE
    },
    Resource {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        namespaced: false,
        verbs: &["create"],
        strategy: Strategy::SelfSubjectReview,
        ..BASE
    },
    Resource {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        namespaced: false,
        verbs: &["create"],
        strategy: Strategy::SelfSubjectAccessReview,
        ..BASE
    },
    Resource {
        group: "authorization.k8s.io",
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        namespaced: false,
        verbs: &["create"],
        strategy: Strategy::SelfSubjectRulesReview,
        ..BASE
    },
    Resource {
        group: "coordination.k8s.io",
        kind: "Lease",
        list_kind: "LeaseList",
        plural: "leases",
        singular: "lease",
        storage_version_hash: "gqkMMb/YqFM=",
        strategy: Strategy::Lease,
        ..BASE
    },
    Resource {
        group: "events.k8s.io",
        kind: "Event",
        list_kind: "EventList",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        storage_version_hash: "r2yiGXH7wu8=",
        strategy: Strategy::EventsEvent,
        ..BASE
    },
    Resource {
        group: "policy",
        kind: "Eviction",
        plural: "evictions",
        singular: "eviction",
        verbs: &[],
        strategy: Strategy::Eviction,
        ..BASE
    },
    Resource {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        list_kind: "PriorityClassList",
        plural: "priorityclasses",
        singular: "priorityclass",
        short_names: &["pc"],
        namespaced: false,
        storage_version_hash: "1QwjyaZjj3Y=",
        strategy: Strategy::PriorityClass,
        ..BASE
    },
];

/// The built-in resources, by group and then by name, which is the order of discovery.
///
/// Evictions are not among them, as they are only a subresource of pods.
///
/// # Example
///
/// ```
/// let pods = lariat_apiserver::builtin::registry().find(|resource| resource.plural == "pods");
/// assert_eq!(pods.map(|pods| pods.short_names), Some(&["po"][..]));
/// ```
pub fn registry() -> impl Iterator<Item = &'static Resource> {
    REGISTRY.iter().filter(|resource| !resource.verbs.is_empty())
}

/// A built-in resource by its group and its name in paths.
pub fn find(group: &str, plural: &str) -> Option<&'static Resource> {
    registry().find(|resource| resource.group == group && resource.plural == plural)
}

pub(super) fn of(strategy: Strategy) -> &'static Resource {
    REGISTRY.iter().find(|resource| resource.strategy == strategy).unwrap_or(&BASE)
}

impl Resource {
    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.into(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The name that messages use: `pods`, `leases.coordination.k8s.io`.
    pub fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.into(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// A path below its objects.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Its entries in an `APIResourceList`: itself, then its subresources.
    pub fn discovery(&self) -> Vec<Value> {
        let mut own = json!({
            "name": self.plural,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": self.verbs,
        });
        if let Some(own) = own.as_object_mut() {
            put_list(own, "shortNames", self.short_names);
            put_list(own, "categories", self.categories);
            if !self.storage_version_hash.is_empty() {
                own.insert("storageVersionHash".into(), self.storage_version_hash.into());
            }
        }
        let mut entries = vec![own];
        for subresource in self.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", self.plural, subresource.name),
                "singularName": "",
                "namespaced": self.namespaced,
                "kind": subresource.kind,
                "verbs": subresource.verbs,
            });
            if let (Some(entry), false) = (entry.as_object_mut(), subresource.group.is_empty()) {
                entry.insert("group".into(), subresource.group.into());
                entry.insert("version".into(), subresource.version.into());
            }
            entries.push(entry);
        }
        entries
    }

    /// Its entry in an `APIGroupDiscoveryList`.
    pub fn aggregated_discovery(&self) -> Value {
        let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
        let mut own = json!({
            "resource": self.plural,
            "responseKind": kind("", "", self.kind),
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular,
            "verbs": self.verbs,
        });
        if let Some(own) = own.as_object_mut() {
            put_list(own, "shortNames", self.short_names);
            put_list(own, "categories", self.categories);
            let subresources = self.subresources.iter().map(|subresource| {
                json!({
                    "subresource": subresource.name,
                    "responseKind": kind(subresource.group, subresource.version, subresource.kind),
                    "verbs": subresource.verbs,
                })
            });
            let subresources: Vec<_> = subresources.collect();
            if !subresources.is_empty() {
                own.insert("subresources".into(), subresources.into());
            }
        }
        own
    }
}

fn put_list(entry: &mut Map<String, Value>, key: &str, list: &[&str]) {
    if !list.is_empty() {
        entry.insert(key.into(), json!(list));
    }
}
