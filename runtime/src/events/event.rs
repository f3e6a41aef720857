use std::fmt::{self, Display, Formatter};
use std::time::SystemTime;

use lariat_api::{DynamicObject, Kind, Object, ObjectMeta, Resource};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde::ser::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::time::rfc3339;

/// Whether an event is how things go.
///
/// ```
/// assert_eq!(lariat::EventType::Warning.to_string(), "Warning");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventType {
    /// It is.
    Normal,
    /// Somebody should look.
    Warning,
}

/// What an event is about.
///
/// # Example
///
/// ```
/// use lariat::{DynamicObject, Kind, ObjectReference};
///
/// let mut node = DynamicObject::default();
/// node.metadata.name = "a".into();
/// let reference = ObjectReference::of_kind(&Kind::cluster("", "v1", "Node", "nodes"), &node);
/// assert_eq!((reference.kind.as_str(), reference.name.as_str()), ("Node", "a"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectReference {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, `""` for none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// Which part of it, such as `spec.containers{main}`; `""` for all.
    pub field_path: String,
}

/// What a recorder was told, before it is known whether it has happened before.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) involved: ObjectReference,
    pub(crate) event_type: EventType,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) component: String,
    pub(crate) host: String,
    pub(crate) name: String,
    pub(crate) at: SystemTime,
    /// The time in nanoseconds, moved on so that no two events have the same: it makes names unique.
    pub(crate) stamp: u64,
}

/// An event as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    pub(crate) told: Told,
    pub(crate) first: SystemTime,
    pub(crate) last: SystemTime,
    pub(crate) count: u32,
}

impl ObjectReference {
    /// Of an object whose type tells its kind.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::of_kind(&K::KIND, object)
    }

    /// Of an object of a kind.
    pub fn of_kind<K: Object>(kind: &Kind, object: &K) -> Self {
        Self {
            api_version: kind.api_version().into_owned(),
            kind: kind.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version().to_owned(),
            field_path: String::new(),
        }
    }

    fn value(&self) -> Value {
        let mut value = json!({"apiVersion": self.api_version, "kind": self.kind, "name": self.name});
        let rest = [
            ("namespace", &self.namespace),
            ("uid", &self.uid),
            ("resourceVersion", &self.resource_version),
            ("fieldPath", &self.field_path),
        ];
        for (field, text) in rest.into_iter().filter(|(_, text)| !text.is_empty()) {
            value[field] = text.as_str().into();
        }
        value
    }
}

/// An event as it is sent. Nobody looks at what the server makes of it.
#[derive(Default)]
pub(crate) struct Written(pub(crate) DynamicObject);

impl Object for Written {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::default())
    }
}

impl Display for EventType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        })
    }
}

impl Observed {
    /// Where it is kept: with what it is about, or in `default`.
    pub(crate) fn namespace(&self) -> &str {
        match self.told.involved.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        }
    }

    /// The whole event.
    pub(crate) fn object(&self) -> Written {
        let Told { involved, event_type, reason, message, component, host, name, .. } = &self.told;
        let mut object =
            DynamicObject { api_version: "v1".into(), kind: "Event".into(), ..DynamicObject::default() };
        object.metadata.name = name.as_str().into();
        object.metadata.namespace = self.namespace().into();
        let mut source = json!({"component": component});
        if !host.is_empty() {
            source["host"] = host.as_str().into();
        }
        let fields = json!({
            "involvedObject": involved.value(), "type": event_type.to_string(), "reason": reason, "message": message,
            "source": source, "firstTimestamp": rfc3339(self.first), "lastTimestamp": rfc3339(self.last),
            "count": self.count, "eventTime": null, "reportingComponent": component, "reportingInstance": host,
        });
        if let Value::Object(fields) = fields {
            object.other = fields;
        }
        Written(object)
    }

    /// What is new in an event that was written before.
    pub(crate) fn change(&self) -> Value {
        json!({"count": self.count, "lastTimestamp": rfc3339(self.last), "message": self.told.message})
    }
}
