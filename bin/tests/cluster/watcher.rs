//! What happens to fleets, servers and pods, as a watch tells it, event for event.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use lariat::api::{DynamicObject, Kind, Object as _, WatchEvent};
use lariat::client::{Api, Client, WatchParams, WatchStream};
use serde_json::Value;

const FLEETS: Kind = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
const SETS: Kind = Kind::namespaced("agones.dev", "v1", "GameServerSet", "gameserversets");
const SERVERS: Kind = Kind::namespaced("agones.dev", "v1", "GameServer", "gameservers");
const PODS: Kind = Kind::namespaced("", "v1", "Pod", "pods");

/// The states on the way of a server that no webhook has seen and nobody plays on, in their order. One that is told to go may
/// leave it anywhere.
const WAY: [&str; 7] = ["", "Creating", "Starting", "Scheduled", "RequestReady", "Ready", "Shutdown"];

pub(crate) struct Watcher {
    streams: BTreeMap<&'static str, Stream>,
    seen: Seen,
}

/// A watch, which goes on after the last event where a server ends it.
struct Stream {
    api: Api<DynamicObject>,
    watch: WatchStream<DynamicObject>,
    version: String,
}

/// What there is, and what there was.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) fleet_ready: Option<i64>,
    pub(crate) sets: usize,
    /// By uid.
    pub(crate) servers: BTreeMap<String, Server>,
    /// The host ports of each pod that is on a node, by uid.
    pub(crate) pods: BTreeMap<String, BTreeSet<Port>>,
    /// How many servers were there and are gone.
    pub(crate) ended: usize,
    /// The fewest servers that were ready since [`Watcher::mark`].
    pub(crate) fewest_ready: usize,
    wrong: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    pub(crate) image: String,
    states: Vec<String>,
}

/// Node, number and protocol.
type Port = (String, i64, String);

impl Watcher {
    /// Watches from before anything is there.
    pub(crate) async fn begin(client: Client) -> Self {
        let mut streams = BTreeMap::new();
        for (name, kind) in [("fleets", FLEETS), ("sets", SETS), ("servers", SERVERS), ("pods", PODS)] {
            let api = Api::<DynamicObject>::of_kind(client.clone(), kind, "");
            let watch = api.watch(&WatchParams::default()).await.unwrap();
            streams.insert(name, Stream { api, watch, version: String::new() });
        }
        Self { streams, seen: Seen::default() }
    }

    pub(crate) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Counts anew from here.
    pub(crate) fn mark(&mut self) {
        self.seen.fewest_ready = self.seen.in_state("Ready");
    }

    /// Follows events until something holds.
    pub(crate) async fn until(&mut self, holds: impl Fn(&Seen) -> bool) {
        while !holds(&self.seen) {
            let (name, event) = next(&mut self.streams).await;
            let stream = self.streams.get_mut(name).unwrap();
            let Some(event) = event else {
                let params =
                    WatchParams { resource_version: stream.version.clone(), ..WatchParams::default() };
                stream.watch = stream.api.watch(&params).await.unwrap();
                continue;
            };
            let (object, is_gone, is_new) = match event {
                WatchEvent::Added(object) => (object, false, true),
                WatchEvent::Modified(object) => (object, false, false),
                WatchEvent::Deleted(object) => (object, true, false),
                other => panic!("{name}: {other:?}"),
            };
            object.resource_version().clone_into(&mut stream.version);
            self.seen.apply(name, &object, is_gone, is_new);
        }
    }

    /// Nothing wrong was seen.
    pub(crate) fn check(&self) {
        let wrong = &self.seen.wrong;
        assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// The next event of any stream, or the end of one.
async fn next(
    streams: &mut BTreeMap<&'static str, Stream>,
) -> (&'static str, Option<WatchEvent<DynamicObject>>) {
    poll_fn(|cx| {
        for (name, stream) in &mut *streams {
            // A call that is dropped loses nothing.
            let event = pin!(stream.watch.next());
            if let Poll::Ready(event) = event.poll(cx) {
                return Poll::Ready((*name, event.unwrap()));
            }
        }
        Poll::Pending
    })
    .await
}

impl Seen {
    pub(crate) fn in_state(&self, state: &str) -> usize {
        self.servers.values().filter(|server| server.is(state)).count()
    }

    fn apply(&mut self, kind: &str, object: &DynamicObject, is_gone: bool, is_new: bool) {
        let fields = &object.other;
        match kind {
            "fleets" => self.fleet_ready = fields.get("status").and_then(|it| it["readyReplicas"].as_i64()),
            "sets" if is_new => self.sets += 1,
            "sets" if is_gone => self.sets -= 1,
            "sets" => {}
            "servers" => self.server(object, is_gone),
            _ => self.pod(object, is_gone),
        }
    }

    fn server(&mut self, object: &DynamicObject, is_gone: bool) {
        let uid = object.uid().to_owned();
        if is_gone {
            self.ended += 1;
            if let Some(server) = self.servers.remove(&uid)
                && !server.is("Shutdown")
            {
                self.wrong.push(format!("{} went in {:?}", object.name(), server.states));
            }
        } else {
            let field = |name: &str| object.other.get(name).unwrap_or(&Value::Null);
            let state = field("status")["state"].as_str().unwrap_or_default();
            let image =
                field("spec")["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
            let server = self.servers.entry(uid).or_default();
            image.clone_into(&mut server.image);
            if server.states.last().is_none_or(|last| last != state) {
                let place = |state: &str| WAY.iter().position(|known| *known == state);
                let before = server.states.last().and_then(|last| place(last));
                // A watch leaves nothing out: a server goes from each state to the next, or to its end.
                let is_right = match (before, place(state)) {
                    (None, Some(0)) => true,
                    (Some(before), Some(after)) => {
                        after == before + 1 || after > before && state == "Shutdown"
                    }
                    _ => false,
                };
                server.states.push(state.to_owned());
                if !is_right {
                    self.wrong.push(format!("{} went through {:?}", object.name(), server.states));
                }
            }
        }
        self.fewest_ready = self.fewest_ready.min(self.in_state("Ready"));
    }

    fn pod(&mut self, object: &DynamicObject, is_gone: bool) {
        let uid = object.uid().to_owned();
        if is_gone {
            self.pods.remove(&uid);
            return;
        }
        let spec = object.other.get("spec").unwrap_or(&Value::Null);
        let node = spec["nodeName"].as_str().unwrap_or_default();
        let containers = ["containers", "initContainers"].into_iter();
        let containers = containers.filter_map(|list| spec[list].as_array()).flatten();
        let ports: BTreeSet<Port> = containers
            .filter_map(|container| container["ports"].as_array())
            .flatten()
            .filter_map(|port| Some((port["hostPort"].as_i64()?, port["protocol"].as_str()?)))
            .map(|(number, protocol)| (node.to_owned(), number, protocol.to_owned()))
            .collect();
        if !node.is_empty() {
            for (other, taken) in self.pods.iter().filter(|(other, _)| **other != uid) {
                if let Some(port) = taken.intersection(&ports).next() {
                    self.wrong.push(format!("{} and {other} both have {port:?}", object.name()));
                }
            }
        }
        self.pods.insert(uid, if node.is_empty() { BTreeSet::new() } else { ports });
    }
}

impl Server {
    pub(crate) fn is(&self, state: &str) -> bool {
        self.states.last().is_some_and(|last| last == state)
    }
}
