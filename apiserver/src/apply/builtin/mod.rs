//! What the server knows of the built-in kinds: a table of how their lists and objects are owned and patched, the fields
//! that a request cannot change, and what a new object has before anybody sets a field.
//!
//! Invariant: what the table does not name is a scalar, an object of scalars, or a list that is taken as a whole.

mod kinds;
mod meta;
mod pod;
pub(crate) mod shape;

use serde_json::{Value, json};

use super::field_set::FieldSet;
use super::manager::FieldManager;
use super::types::{Child, Deduced, TypeInfo};
use shape::Shape;

/// The type of `metadata`, which is the same for all kinds, custom resources too.
pub fn object_meta() -> &'static dyn TypeInfo {
    &meta::META
}

/// The type of an object of a built-in kind; none for a kind that is not built in.
pub fn builtin_type(group: &str, kind: &str) -> Option<&'static dyn TypeInfo> {
    builtin_shape(group, kind).map(|shape| shape as &dyn TypeInfo)
}

/// The type of an object without a schema: all that is known is its metadata.
#[derive(Debug, Clone, Copy, Default)]
pub struct Schemaless;

impl TypeInfo for Schemaless {
    fn child(&self, field: &str) -> Child<'_> {
        match field {
            "metadata" => Child::Declared(object_meta()),
            "apiVersion" | "kind" => Child::Declared(&Deduced),
            _ => Child::Entry(&Deduced),
        }
    }
}

impl FieldManager<'static> {
    /// Keeps track of the objects of a built-in kind; none for a kind that is not built in.
    pub fn builtin(group: &str, kind: &str, subresource: &str) -> Option<Self> {
        let types = builtin_type(group, kind)?;
        let reset = reset_fields(group, kind, subresource);
        Some(Self::new(types).with_kind(kind).with_reset(reset).with_empty(empty_object(group, kind)))
    }
}

/// The fields that a request for an object, or one for a subresource of it, cannot change.
pub fn reset_fields(group: &str, kind: &str, subresource: &str) -> FieldSet {
    let paths: &[&[&str]] = match (group, kind, subresource) {
        ("", "Pod", "status") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        ("", "Node" | "Namespace" | "Service", "status") => &[&["spec"]],
        ("apiextensions.k8s.io", "CustomResourceDefinition", "status") => &[&["metadata"], &["spec"]],
        ("", "Pod" | "Node" | "Namespace" | "Service", _)
        | ("apiextensions.k8s.io", "CustomResourceDefinition", _) => &[&["status"]],
        _ => &[],
    };
    FieldSet::of_fields(paths)
}

/// What a new object of a built-in kind has before anybody sets a field: the fields that are always written, with their
/// zero values.
pub fn empty_object(group: &str, kind: &str) -> Value {
    match (group, kind) {
        ("", "Pod") => json!({"metadata": {}, "spec": {"containers": null}, "status": {}}),
        ("", "Namespace") => json!({"metadata": {}, "spec": {}, "status": {}}),
        ("", "Service") => json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}),
        ("", "Node") => json!({
            "metadata": {}, "spec": {},
            "status": {
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
                "nodeInfo": {
                    "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                    "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
                    "operatingSystem": "", "architecture": ""
                }
            }
        }),
        ("", "Event") => json!({
            "metadata": {}, "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
            "eventTime": null, "reportingComponent": "", "reportingInstance": ""
        }),
        ("events.k8s.io", "Event") => json!({
            "metadata": {}, "eventTime": null, "regarding": {}, "deprecatedSource": {},
            "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null
        }),
        ("coordination.k8s.io", "Lease") => json!({"metadata": {}, "spec": {}}),
        ("scheduling.k8s.io", "PriorityClass") => json!({"metadata": {}, "value": 0}),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => json!({
            "metadata": {},
            "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": null},
            "status": {
                "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null
            }
        }),
        _ => json!({"metadata": {}}),
    }
}

pub(crate) fn builtin_shape(group: &str, kind: &str) -> Option<&'static Shape> {
    kinds::KINDS.iter().find(|known| (known.0, known.1) == (group, kind)).map(|known| known.2)
}
