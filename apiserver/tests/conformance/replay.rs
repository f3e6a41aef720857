//! Sends the requests of a recording, each at its time.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use lariat_api::{Clock, Randomness};
use lariat_apiserver::ApiServer;
use lariat_fixtures::{End, Exchange, Recording};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::compare::{Difference, Names, compare};
use crate::target::Target;

/// The time of day, which passes as tokio's does.
#[derive(Debug)]
struct VirtualClock {
    began: SystemTime,
    since: Instant,
}

impl Clock for VirtualClock {
    fn wall(&self) -> SystemTime {
        match Instant::now().checked_duration_since(self.since) {
            Some(passed) => self.began + passed,
            None => self.began - self.since.duration_since(Instant::now()),
        }
    }
}

/// By then a definition is served.
const SETTLED: Duration = Duration::from_secs(5);

pub(crate) const TOKEN: &str = "the-token";

/// For how long a watch has time to begin before the next request is sent, if its answer does not come sooner.
const BEGINS: Duration = Duration::from_millis(50);

/// How much later than the recorder the real server's client stops to read, where the recorder stopped before the end.
const LONGER: Duration = Duration::from_secs(5);

/// A server of this project to send the requests of a recording to, which began at this time of day, in milliseconds since 1970.
pub(crate) fn embedded(began: u64) -> Target {
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(began);
    let server = ApiServer::builder()
        .clock(VirtualClock { began, since: Instant::now() + SETTLED })
        .randomness(Randomness::seeded(4))
        .token(TOKEN)
        .build();
    Target::Embedded(server)
}

/// Sends all requests of a recording. Returns the differences, and by how much a request came too late at most: a real server on
/// a busy machine may be too slow for its watches to see what they saw.
pub(crate) async fn replay(recording: &Recording, mut target: Target) -> (Vec<Difference>, Duration) {
    let mut start = Instant::now() + SETTLED;
    prepare(&target, recording, start).await;
    let writes = others_writes(recording);
    let mut writes = writes.iter().peekable();
    let mut names = Names::new(target.is_real());
    let mut watches = Vec::new();
    let mut found = Vec::new();
    let mut latest = Duration::ZERO;
    for (index, exchange) in recording.exchanges.iter().enumerate() {
        while let Some((at, object)) =
            writes.next_if(|(at, _)| *at < exchange.at || index == 0 && at.is_zero())
        {
            sleep_until(start + *at).await;
            target.put("configmaps", object).await;
        }
        sleep_until(start + exchange.at).await;
        latest = latest.max((start + exchange.at).elapsed());
        let request = request(exchange, &mut names);
        if exchange.status.is_none() {
            target.go_down().await;
            let refused = target.door().send(request, None).await.err().map(|error| error.kind());
            assert_eq!(refused, Some(std::io::ErrorKind::ConnectionRefused), "{}", exchange.name);
            target.come_up().await;
            // A real server takes its time.
            start = start.max(Instant::now() - exchange.at);
            continue;
        }
        if exchange.name == "continue token expired" {
            // The recorded server lost its past when it was started again.
            target.compact().await;
        }
        let is_cut = target.is_real() && exchange.end == End::ClientClosed;
        let until = exchange.chunks.last().filter(|_| is_cut).map(|last| start + last.at + LONGER);
        let door = target.door();
        let sending = async move { door.send(request, until).await };
        if exchange.request.target.contains("watch=true") {
            let (begun, has_begun) = oneshot::channel();
            let sending = tokio::spawn(async move {
                let arriving = sending.await.unwrap();
                let _ = begun.send(());
                arriving.read().await
            });
            // The next request may be of the same moment, but comes after this one.
            let _ = timeout(BEGINS, has_begun).await;
            watches.push((index, exchange, sending));
        } else {
            let answer = sending.await.unwrap().read().await;
            found.extend(compare(index + 1, exchange, &answer, &mut names));
        }
    }
    for (index, exchange, sending) in watches {
        let answer = sending.await.unwrap();
        found.extend(compare(index + 1, exchange, &answer, &mut names));
    }
    found.sort_by_key(|difference| difference.exchange);
    (found, latest)
}

/// What was written by others than the recorder, from a second before the first request: as far as watches show it.
fn others_writes(recording: &Recording) -> Vec<(Duration, Value)> {
    let watched = |name: &str| recording.exchanges.iter().find(|exchange| exchange.name == name);
    let (Some(watch), Some(list)) =
        (watched("watch cut by server shutdown"), watched("streaming list cut by server shutdown"))
    else {
        return Vec::new();
    };
    let events = |body: &[u8]| -> Vec<Value> {
        serde_json::Deserializer::from_slice(body).into_iter().collect::<Result<_, _>>().unwrap()
    };
    let mut writes: Vec<(Duration, Value)> = events(&list.body())
        .into_iter()
        .filter(|event| event["type"] == "ADDED")
        .map(|event| (Duration::ZERO, event["object"].clone()))
        .collect();
    // What a watch shows later was different before.
    let changed: BTreeSet<_> =
        events(&watch.body()).iter().map(|event| version_of(&event["object"])).collect();
    for (_, object) in writes.iter_mut().filter(|(_, object)| changed.contains(&version_of(object))) {
        object["data"]["v"] = "earlier".into();
    }
    // In the order of their versions, which for those that were changed since is not known.
    writes.sort_by_key(|(_, object)| object["metadata"]["resourceVersion"].as_str().map(str::to_owned));
    let mut unread = Vec::new();
    for chunk in &watch.chunks {
        unread.extend_from_slice(&chunk.data);
        if unread.ends_with(b"\n") {
            let read = events(&std::mem::take(&mut unread));
            // What the list began with was written before it was asked for, though it was seen later.
            let at = if chunk.at < list.chunks[0].at { watch.at } else { chunk.at };
            writes.extend(read.into_iter().map(|event| (at, event["object"].clone())));
        }
    }
    writes
}

fn version_of(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

/// What the recorded cluster had before the recording began.
async fn prepare(target: &Target, recording: &Recording, start: Instant) {
    let definition = recording.exchanges.iter().find(|exchange| exchange.name == "crd get");
    let Some(definition) = definition else { return };
    let definition: Value = serde_json::from_slice(&definition.body()).unwrap();
    let mut definitions = vec![json!({
        "apiVersion": definition["apiVersion"], "kind": definition["kind"],
        "metadata": {"name": definition["metadata"]["name"], "labels": definition["metadata"]["labels"]},
        "spec": definition["spec"],
    })];
    // Of the others only the names are known.
    let discovery = recording.exchanges.iter().find(|exchange| exchange.name == "discovery agones").unwrap();
    let discovery: Value = serde_json::from_slice(&discovery.body()).unwrap();
    definitions.extend(others(&discovery, &definition["spec"]["names"]["plural"]));
    // So that they are established in the second after the one in which they were created, as the recorded one was.
    sleep_until(start - SETTLED + Duration::from_millis(445)).await;
    for definition in definitions {
        let body = Full::new(Bytes::from(definition.to_string()));
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldManager=python-requests";
        let request = Request::post(path).header("content-type", "application/json").header("host", "server");
        let request = request.header("authorization", format!("Bearer {TOKEN}")).body(body).unwrap();
        let answer = target.door().send(request, None).await.unwrap().read().await;
        assert_eq!(answer.status, 201, "{definition}: {:?}", answer.body);
    }
}

/// Definitions of the resources in a discovery document but one, with any fields.
fn others(discovery: &Value, but: &Value) -> Vec<Value> {
    let resources = discovery["resources"].as_array().unwrap();
    let named = |name: String| resources.iter().any(|resource| resource["name"] == name);
    let whole = resources
        .iter()
        .filter(|resource| resource["name"] != *but && !resource["name"].as_str().unwrap().contains('/'));
    whole
        .map(|resource| {
            let plural = resource["name"].as_str().unwrap();
            let mut subresources = json!({});
            if named(format!("{plural}/status")) {
                subresources["status"] = json!({});
            }
            if named(format!("{plural}/scale")) {
                subresources["scale"] =
                    json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
            }
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.agones.dev")},
                "spec": {
                    "group": "agones.dev", "scope": "Namespaced",
                    "names": {
                        "plural": plural, "singular": resource["singularName"], "kind": resource["kind"],
                        "shortNames": resource["shortNames"],
                    },
                    "versions": [{
                        "name": "v1", "served": true, "storage": true, "subresources": subresources,
                        "schema": {"openAPIV3Schema": {
                            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                        }},
                    }],
                },
            })
        })
        .collect()
}

fn request(exchange: &Exchange, names: &mut Names) -> Request<Full<Bytes>> {
    let recorded = &exchange.request;
    let method: Method = recorded.method.parse().unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(names.translate(&recorded.target))
        .header("user-agent", "recorder")
        .header("host", "server");
    for (name, value) in &recorded.headers {
        request = request.header(name, value);
    }
    let token = if exchange.status == Some(401) { "another-token" } else { TOKEN };
    let request = request.header("authorization", format!("Bearer {token}"));
    let body = match &recorded.body {
        Value::Null => Bytes::new(),
        Value::String(text) => Bytes::from(text.clone()),
        body => Bytes::from(names.translate(&body.to_string())),
    };
    request.body(Full::new(body)).unwrap()
}
