//! An informer against a scripted server, and what became of it.

#![allow(dead_code)] // each test file uses a part of it

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::{Kind, Object, ObjectMeta, Randomness};
use lariat_client::Api;
use lariat_fixtures::{ScriptedServer, Seen, Step};
use lariat_reflector::{Deleted, EventHandler, Informer, InformerBuilder, InitialList};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Widget {
    pub(crate) metadata: ObjectMeta,
    #[serde(rename = "spec")]
    _spec: Spec,
}

#[derive(Debug, Clone, Deserialize)]
struct Spec {
    #[serde(rename = "value")]
    _value: u32,
}

impl Object for Widget {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

pub(crate) fn widget(name: &str, version: u32) -> Value {
    let version = version.to_string();
    json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version}, "spec": {"value": 1}})
}

pub(crate) fn added(name: &str, version: u32) -> Value {
    json!({"type": "ADDED", "object": widget(name, version)})
}

pub(crate) fn modified(name: &str, version: u32) -> Value {
    json!({"type": "MODIFIED", "object": widget(name, version)})
}

pub(crate) fn deleted(name: &str, version: u32) -> Value {
    json!({"type": "DELETED", "object": widget(name, version)})
}

pub(crate) fn bookmark(version: u32) -> Value {
    json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version.to_string()}}})
}

pub(crate) fn error(code: u16, reason: &str) -> Value {
    json!({"type": "ERROR", "object": {"kind": "Status", "reason": reason, "code": code}})
}

/// Writes down what it is told, as `add name@version` and the like.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventHandler<Widget> for Log {
    fn on_add(&self, object: &Arc<Widget>, is_in_initial_list: bool) {
        let initial = if is_in_initial_list { " initial" } else { "" };
        self.push(format!("add {}{initial}", shown(object)));
    }

    fn on_update(&self, old: &Arc<Widget>, new: &Arc<Widget>) {
        self.push(format!("update {} {}", shown(old), shown(new)));
    }

    fn on_delete(&self, deleted: &Deleted<Widget>) {
        let kind = if deleted.is_tombstone() { "tombstone" } else { "delete" };
        self.push(format!("{kind} {}", shown(deleted.object())));
    }
}

pub(crate) fn shown(object: &Widget) -> String {
    format!("{}@{}", object.name(), object.resource_version())
}

pub(crate) fn informer(server: &ScriptedServer, errors: &Log) -> Informer<Widget> {
    builder(server, errors).build()
}

/// Of an informer that lists first.
pub(crate) fn builder(server: &ScriptedServer, errors: &Log) -> InformerBuilder<Widget> {
    let errors = errors.clone();
    Informer::builder(Api::of_kind(server.client().unwrap(), WIDGETS, ""))
        .randomness(Randomness::seeded(1))
        .initial_list(InitialList::List)
        .on_error(move |name, error| {
            assert_eq!(name, "widgets.example.dev");
            errors.push(error.to_string());
        })
}

/// An informer that has run through a script.
pub(crate) struct Run {
    pub(crate) server: ScriptedServer,
    told: Log,
    errors: Log,
    informer: Informer<Widget>,
}

impl Run {
    /// Runs until long after the last step was served, in virtual time.
    pub(crate) async fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with(|builder| builder, steps).await
    }

    /// As [`of`](Self::of), of an informer that is made in another way.
    pub(crate) async fn with(
        make: impl FnOnce(InformerBuilder<Widget>) -> InformerBuilder<Widget>,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        let server = ScriptedServer::new(steps);
        let (told, errors) = (Log::default(), Log::default());
        let informer = make(builder(&server, &errors)).build();
        informer.add_handler(told.clone()).unwrap();
        let script_is_over = async {
            while server.steps_left() > 0 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            tokio::time::sleep(Duration::from_millis(600)).await;
        };
        informer.run(script_is_over).await;
        Self { server, told, errors, informer }
    }

    /// The requests, as `list limit=… continue=… rv=…` and `watch rv=…`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.server.seen().iter().map(shown_request).collect()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lines()
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lines()
    }

    pub(crate) fn stored(&self) -> Vec<String> {
        let mut stored: Vec<String> =
            self.informer.lister().store().list().iter().map(|object| shown(object)).collect();
        stored.sort();
        stored
    }

    pub(crate) fn version(&self) -> String {
        self.informer.last_sync_resource_version()
    }
}

pub(crate) fn shown_request(seen: &Seen) -> String {
    let query = seen.target.split_once('?').map_or("", |(_, query)| query);
    let value = |name: &str| {
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        pair.unwrap_or_default().to_owned()
    };
    if value("watch") == "true" {
        return format!("watch rv={}", value("resourceVersion"));
    }
    let part = |name: &str| match value(name) {
        value if value.is_empty() => String::new(),
        value => format!(" {name}={value}"),
    };
    format!("list{}{} rv={}", part("limit"), part("continue"), value("resourceVersion"))
}
