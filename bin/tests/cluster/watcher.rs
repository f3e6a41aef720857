//! What happens to fleets, servers and pods, as a watch tells it, event for event.

use std::collections::{BTreeMap, BTreeSet};

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
    client: Client,
    streams: BTreeMap<&'static str, WatchStream<DynamicObject>>,
    seen: Seen,
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
    pub(crate) fn new(client: Client) -> Self {
        Self { client, streams: BTreeMap::new(), seen: Seen::default() }
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
        for kind in [FLEETS, SETS, SERVERS, PODS] {
            if !self.streams.contains_key(static_name(&kind)) {
                let api = Api::<DynamicObject>::of_kind(self.client.clone(), kind.clone(), "");
                let stream = api.watch(&WatchParams::default()).await.unwrap();
                self.streams.insert(static_name(&kind), stream);
            }
        }
        while !holds(&self.seen) {
            let (kind, event) = next(&mut self.streams).await;
            match event {
                WatchEvent::Added(object) => self.seen.apply(kind, &object, false, true),
                WatchEvent::Modified(object) => self.seen.apply(kind, &object, false, false),
                WatchEvent::Deleted(object) => self.seen.apply(kind, &object, true, false),
                other => panic!("{kind}: {other:?}"),
            }
        }
    }

    /// Nothing wrong was seen.
    pub(crate) fn check(&self) {
        let wrong = &self.seen.wrong;
        assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// The next event of any stream.
async fn next(
    streams: &mut BTreeMap<&'static str, WatchStream<DynamicObject>>,
) -> (&'static str, WatchEvent<DynamicObject>) {
    let mut found = None;
    std::future::poll_fn(|cx| {
        for (kind, stream) in &mut *streams {
            // A call that is dropped loses nothing.
            let mut event = std::pin::pin!(stream.next());
            if let std::task::Poll::Ready(event) = event.as_mut().poll(cx) {
                let event = event.unwrap().unwrap_or_else(|| panic!("the watch of {kind} has ended"));
                found = Some((*kind, event));
                return std::task::Poll::Ready(());
            }
        }
        std::task::Poll::Pending
    })
    .await;
    found.unwrap()
}

fn static_name(kind: &Kind) -> &'static str {
    match kind.kind() {
        "Fleet" => "fleets",
        "GameServerSet" => "sets",
        "GameServer" => "servers",
        _ => "pods",
    }
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
