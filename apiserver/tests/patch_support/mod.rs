//! What the replays of recordings have in common: every version of every object that a recording shows, and the exchanges
//! that changed one.

#![allow(dead_code, unreachable_pub)] // each replay uses a part of it

use std::collections::BTreeMap;

use lariat_apiserver::apply::{Child, Deduced, ListType, TypeInfo, object_meta};
use lariat_fixtures::{Exchange, Recording, Target, recording_path};
use serde_json::{Value, json};

/// The recordings in which objects are changed.
pub const RECORDINGS: [&str; 2] = ["api-protocol", "api-objects"];

/// A recording, and the versions of objects in it by uid and resourceVersion.
pub struct History {
    pub recording: Recording,
    /// With the exchange that showed it first, if that was no watch.
    versions: BTreeMap<String, BTreeMap<u64, (Option<usize>, Value)>>,
    definitions: Vec<Value>,
}

/// A request that was granted and changed an object, with the object before and after.
pub struct Change<'a> {
    pub exchange: &'a Exchange,
    pub target: Target,
    pub live: Option<Value>,
    pub stored: Value,
}

impl History {
    pub fn open(name: &str) -> Self {
        let recording = Recording::open(recording_path(name)).unwrap();
        let mut history = Self { recording, versions: BTreeMap::new(), definitions: Vec::new() };
        for (index, exchange) in history.recording.exchanges.clone().into_iter().enumerate() {
            let body = body(&exchange);
            // One object, or the lines of a watch.
            for line in body.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let object = line.get("object").unwrap_or(&line);
                if object["kind"] == "CustomResourceDefinition" {
                    history.definitions.push(object.clone());
                }
                if let (Some(uid), Some(version)) = (object["metadata"]["uid"].as_str(), version(object))
                    && object["kind"] != "Scale"
                    && object["kind"] != "PartialObjectMetadata"
                {
                    let versions = history.versions.entry(uid.to_owned()).or_default();
                    let shown = line.get("object").is_none().then_some(index);
                    let (first, _) = versions.entry(version).or_insert_with(|| (shown, object.clone()));
                    *first = first.or(shown);
                }
            }
        }
        history
    }

    /// The requests with these methods that were granted.
    pub fn changes<'a>(&'a self, methods: &'a [&str]) -> impl Iterator<Item = Change<'a>> {
        self.recording.exchanges.iter().filter_map(move |exchange| {
            if !methods.contains(&exchange.request.method.as_str())
                || !matches!(exchange.status, Some(200 | 201))
            {
                return None;
            }
            let target = Target::parse(&exchange.request.method, &exchange.request.target)?;
            let stored: Value = serde_json::from_str(&body(exchange)).ok()?;
            if stored["kind"] == "Status" || stored["kind"] == "Scale" {
                return None;
            }
            let live = match exchange.status {
                Some(201) => None,
                _ => Some(
                    self.before(exchange, &stored).unwrap_or_else(|| panic!("{}: no state", exchange.name)),
                ),
            };
            Some(Change { exchange, target, live, stored })
        })
    }

    /// The last version before another; the same version if it was there before the request.
    pub fn before(&self, exchange: &Exchange, stored: &Value) -> Option<Value> {
        let versions = self.versions.get(stored["metadata"]["uid"].as_str()?)?;
        let at = version(stored)?;
        let now = self.recording.exchanges.iter().position(|other| std::ptr::eq(other, exchange));
        if let Some((Some(first), object)) = versions.get(&at)
            && Some(*first) < now
        {
            return Some(object.clone());
        }
        versions.range(..at).next_back().map(|(_, (_, object))| object.clone())
    }

    /// The version of an object at a resourceVersion.
    pub fn at(&self, uid: &str, version: u64) -> Option<&Value> {
        self.versions.get(uid)?.get(&version).map(|(_, object)| object)
    }

    /// The type of a custom resource, from the definition in the recording.
    pub fn custom_type(&self, group: &str, kind: &str) -> Option<Custom> {
        let is_it = |definition: &&Value| {
            definition["spec"]["group"] == group && definition["spec"]["names"]["kind"] == kind
        };
        let definition = self.definitions.iter().find(is_it)?;
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        Some(Custom(Node::read(schema)))
    }
}

/// Reads an object as Go does: fields that are always written appear.
pub fn read_as_kind(object: &mut Value) {
    let times = match object["kind"].as_str() {
        Some("Node") => ["lastHeartbeatTime", "lastTransitionTime"],
        _ => ["lastProbeTime", "lastTransitionTime"],
    };
    if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        for condition in conditions {
            for time in times {
                condition.as_object_mut().unwrap().entry(time).or_insert(Value::Null);
            }
        }
    }
    if let Some(statuses) = object.pointer_mut("/status/containerStatuses").and_then(Value::as_array_mut) {
        for status in statuses {
            status.as_object_mut().unwrap().entry("lastState").or_insert(json!({}));
        }
    }
}

/// The group of an apiVersion.
pub fn group_of(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

pub fn body(exchange: &Exchange) -> String {
    let bytes: Vec<u8> = exchange.chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// The newest time in an object's managedFields: when the request was.
pub fn newest_time(object: &Value) -> String {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let times = entries.filter_map(|entry| entry["time"].as_str());
    times.max().unwrap_or("2026-11-29T12:00:00Z").to_owned()
}

/// The type of a custom resource.
pub struct Custom(Node);

/// A node of its schema.
pub struct Node {
    fields: BTreeMap<String, Node>,
    entries: Option<Box<Node>>,
    is_open: bool,
    item: Option<Box<Node>>,
    list: String,
    keys: Vec<String>,
    is_atomic: bool,
}

impl Node {
    fn read(schema: &Value) -> Self {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let node = |name: &str| {
            schema.get(name).filter(|node| node.is_object()).map(|node| Box::new(Self::read(node)))
        };
        let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
        Self {
            fields: fields.map(|(name, schema)| (name.clone(), Self::read(schema))).collect(),
            entries: node("additionalProperties"),
            is_open: schema["x-kubernetes-preserve-unknown-fields"] == true,
            item: node("items"),
            list: schema["x-kubernetes-list-type"].as_str().unwrap_or("atomic").to_owned(),
            keys: keys.filter_map(|key| key.as_str().map(str::to_owned)).collect(),
            is_atomic: schema["x-kubernetes-map-type"] == "atomic",
        }
    }
}

impl TypeInfo for Custom {
    fn child(&self, field: &str) -> Child<'_> {
        match field {
            "metadata" => Child::Declared(object_meta()),
            "apiVersion" | "kind" => Child::Declared(&Deduced),
            _ => self.0.child(field),
        }
    }
}

impl TypeInfo for Node {
    fn is_atomic_map(&self) -> bool {
        self.is_atomic
    }

    fn list_type(&self) -> ListType<'_> {
        match self.list.as_str() {
            "map" => ListType::Map(self.keys.iter().map(String::as_str).collect()),
            "set" => ListType::Set,
            _ => ListType::Atomic,
        }
    }

    fn child(&self, field: &str) -> Child<'_> {
        match (self.fields.get(field), &self.entries) {
            (Some(node), _) => Child::Declared(node),
            (None, Some(node)) => Child::Entry(&**node),
            (None, None) if self.is_open => Child::Entry(&Deduced),
            (None, None) => Child::Unknown,
        }
    }

    fn item(&self) -> &dyn TypeInfo {
        match &self.item {
            Some(node) => &**node,
            None => &Deduced,
        }
    }
}
