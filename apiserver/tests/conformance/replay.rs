//! Sends the requests of a recording, each at its time.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lariat_api::{Clock, Randomness};
use lariat_apiserver::ApiServer;
use lariat_fixtures::{Exchange, Recording};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::compare::{Difference, Names, compare};

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

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

const TOKEN: &str = "the-token";

/// Sends all requests of a recording that began at this time of day, in milliseconds since 1970.
pub(crate) async fn replay(recording: &Recording, began: u64) -> Vec<Difference> {
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(began);
    let start = Instant::now() + SETTLED;
    let server = ApiServer::builder()
        .clock(VirtualClock { began, since: start })
        .randomness(Randomness::seeded(4))
        .token(TOKEN)
        .build();
    prepare(&server, recording, start).await;
    let writes = others_writes(recording);
    let mut writes = writes.iter().peekable();
    let mut names = Names::default();
    let mut watches = Vec::new();
    let mut found = Vec::new();
    for (index, exchange) in recording.exchanges.iter().enumerate() {
        while let Some((at, object)) =
            writes.next_if(|(at, _)| *at < exchange.at || index == 0 && at.is_zero())
        {
            sleep_until(start + *at).await;
            server.put("configmaps", object.clone());
        }
        sleep_until(start + exchange.at).await;
        match &exchange.status {
            // There is no port that could refuse.
            None => continue,
            // The recorded server lost its past when it was started again.
            Some(_) if exchange.name == "continue token expired" => server.compact(),
            Some(_) => {}
        }
        let request = request(exchange, &mut names);
        let sending = tokio::spawn(send(server.clone(), request));
        if exchange.request.target.contains("watch=true") {
            // The next request may be of the same moment, but comes after this one.
            sleep(Duration::from_micros(1)).await;
            watches.push((index, exchange, sending));
        } else {
            let answer = sending.await.unwrap();
            found.extend(compare(index + 1, exchange, &answer, &mut names));
        }
    }
    for (index, exchange, sending) in watches {
        let answer = sending.await.unwrap();
        found.extend(compare(index + 1, exchange, &answer, &mut names));
    }
    found.sort_by_key(|difference| difference.exchange);
    found
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

/// What the recorded cluster had before the recording began.
async fn prepare(server: &ApiServer, recording: &Recording, start: Instant) {
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
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {TOKEN}")).body(body).unwrap();
        assert_eq!(send(server.clone(), request).await.status, 201, "{definition}");
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
        .header("user-agent", "recorder");
    for (name, value) in &recorded.headers {
        request = request.header(name, value);
    }
    if exchange.status != Some(401) {
        request = request.header("authorization", format!("Bearer {TOKEN}"));
    }
    let body = match &recorded.body {
        Value::Null => Bytes::new(),
        Value::String(text) => Bytes::from(text.clone()),
        body => Bytes::from(names.translate(&body.to_string())),
    };
    request.body(Full::new(body)).unwrap()
}

async fn send(server: ApiServer, request: Request<Full<Bytes>>) -> Answer {
    let (mut sender, connection) = http1::handshake(TokioIo::new(server.connect())).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let headers = parts.headers.iter();
    let headers = headers
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    Answer {
        status: parts.status.as_u16(),
        headers: headers.collect(),
        body: body.collect().await.unwrap().to_bytes(),
    }
}
