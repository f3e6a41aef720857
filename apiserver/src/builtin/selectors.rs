//! The fields that objects can be selected by.

use serde_json::Value;

use super::Strategy;
use super::value::{flag, text_at};

const PODS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.hostNetwork",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.nominatedNodeName",
    "status.phase",
    "status.podIP",
];
const EVENTS: &[&str] = &[
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "metadata.name",
    "metadata.namespace",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const EVENTS_EVENTS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "reason",
    "regarding.apiVersion",
    "regarding.fieldPath",
    "regarding.kind",
    "regarding.name",
    "regarding.namespace",
    "regarding.resourceVersion",
    "regarding.uid",
    "reportingController",
    "type",
];
const SERVICES: &[&str] = &["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"];

impl Strategy {
    /// The fields that objects can be selected by.
    pub fn selectable_fields(self) -> &'static [&'static str] {
        match self {
            Self::Pod => PODS,
            Self::Event => EVENTS,
            Self::EventsEvent => EVENTS_EVENTS,
            Self::Namespace => &["metadata.name", "status.phase"],
            Self::Node => &["metadata.name", "spec.unschedulable"],
            Self::Secret => &["metadata.name", "metadata.namespace", "type"],
            Self::Service => SERVICES,
            Self::CustomResourceDefinition | Self::PriorityClass => &["metadata.name"],
            _ => &["metadata.name", "metadata.namespace"],
        }
    }

    /// Whether objects can be selected by a field.
    pub fn is_supported(self, field: &str) -> bool {
        self.selectable_fields().contains(&field)
    }

    /// What a request is answered with (400) that selects by a field that is not supported.
    pub fn unsupported(self, field: &str) -> String {
        let own_fields = matches!(
            self,
            Self::Pod
                | Self::Event
                | Self::EventsEvent
                | Self::Namespace
                | Self::Node
                | Self::Secret
                | Self::Service
        );
        match own_fields {
            true => format!("field label not supported: {field}"),
            false => {
                let field = crate::schema::shared::quote(field);
                format!(
                    "{field} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            }
        }
    }

    /// The value of a field by which objects can be selected; empty if it is not set, `None` if it is not supported.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_apiserver::builtin::Strategy;
    /// use serde_json::json;
    ///
    /// let pod = json!({"metadata": {"name": "p"}, "spec": {"hostNetwork": true}});
    /// assert_eq!(Strategy::Pod.field(&pod, "spec.hostNetwork"), Some("true"));
    /// assert_eq!(Strategy::Pod.field(&pod, "spec.nodeName"), Some(""));
    /// assert_eq!(Strategy::Pod.field(&pod, "spec.foo"), None);
    /// ```
    pub fn field<'a>(self, object: &'a Value, field: &str) -> Option<&'a str> {
        if !self.is_supported(field) {
            return None;
        }
        Some(match (self, field) {
            (Self::Pod, "spec.hostNetwork") | (Self::Node, "spec.unschedulable") => {
                let path: Vec<_> = field.split('.').collect();
                if flag(object, &path) { "true" } else { "false" }
            }
            (Self::Event, "source") => match text_at(object, &["source", "component"]) {
                "" => text_at(object, &["reportingComponent"]),
                component => component,
            },
            (_, field) => {
                let path: Vec<_> = field.split('.').collect();
                text_at(object, &path)
            }
        })
    }
}
