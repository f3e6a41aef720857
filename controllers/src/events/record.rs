use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat::api::{ObjectMeta, Resource};

/// Something to tell users of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// The loop that tells.
    pub component: &'static str,
    /// What it is about.
    pub regarding: Reference,
    /// What that belongs to.
    pub owner: Option<Reference>,
    /// Whether it is as it should be.
    pub kind: EventType,
    /// Why, in a word.
    pub reason: String,
    /// What happened.
    pub message: String,
}

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// It is.
    Normal,
    /// It is not.
    Warning,
}

/// An object that an Event is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
}

/// Tells of what one loop does.
///
/// # Example
///
/// ```
/// use std::sync::mpsc;
/// use lariat_controllers::events::Recorder;
/// use lariat_controllers::types::GameServer;
///
/// let (sender, receiver) = mpsc::channel();
/// let recorder = Recorder::new("gameserver-controller", move |record| drop(sender.send(record)));
/// recorder.normal(&GameServer::default(), "Ready", "SDK.Ready() complete");
/// assert_eq!(receiver.recv().unwrap().reason, "Ready");
/// ```
#[derive(Clone)]
pub struct Recorder {
    component: &'static str,
    sink: Arc<dyn Fn(EventRecord) + Send + Sync>,
}

impl Recorder {
    /// Tells in the name of `component`.
    pub fn new(component: &'static str, sink: impl Fn(EventRecord) + Send + Sync + 'static) -> Self {
        Self { component, sink: Arc::new(sink) }
    }

    /// The same sink for another loop.
    #[must_use]
    pub fn of(&self, component: &'static str) -> Self {
        Self { component, sink: self.sink.clone() }
    }

    /// Tells of something that is as it should be.
    pub fn normal<K: Resource<Meta = ObjectMeta>>(
        &self,
        object: &K,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.record(object, EventType::Normal, reason, message.into());
    }

    /// Tells of something that is not.
    pub fn warning<K: Resource<Meta = ObjectMeta>>(
        &self,
        object: &K,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.record(object, EventType::Warning, reason, message.into());
    }

    fn record<K: Resource<Meta = ObjectMeta>>(
        &self,
        object: &K,
        kind: EventType,
        reason: &str,
        message: String,
    ) {
        let meta = object.meta();
        let regarding = Reference {
            api_version: K::KIND.api_version().into_owned(),
            kind: K::KIND.kind().to_owned(),
            namespace: meta.namespace.to_string(),
            name: meta.name.to_string(),
            uid: meta.uid.to_string(),
            resource_version: meta.resource_version.to_string(),
        };
        let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
        let owner = owner.map(|owner| Reference {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            namespace: regarding.namespace.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            resource_version: String::new(),
        });
        let component = self.component;
        (self.sink)(EventRecord { component, regarding, owner, kind, reason: reason.to_owned(), message });
    }
}

impl Debug for Recorder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("component", &self.component).finish_non_exhaustive()
    }
}
