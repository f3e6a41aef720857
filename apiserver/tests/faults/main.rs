//! Each fault, as the client sees it, and that it strikes what it is to strike and nothing else.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod connections;
mod events;
mod port;
mod rules;
mod stale;

#[path = "../raw/mod.rs"]
mod raw;

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use lariat_api::Randomness;
use lariat_apiserver::{ApiServer, FaultPlan, Rule};
use raw::Raw;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn server() -> ApiServer {
    ApiServer::builder().randomness(Randomness::seeded(1)).build()
}

/// A server of which one thing goes wrong.
pub(crate) fn faulty(rule: Rule) -> ApiServer {
    let plan = FaultPlan::seeded(1).rule(rule);
    ApiServer::builder().randomness(Randomness::seeded(1)).faults(plan).build()
}

/// How often the only rule was chosen, and happened.
pub(crate) fn struck(server: &ApiServer) -> (u64, u64) {
    let rules = server.faults_struck();
    assert_eq!(rules.len(), 1);
    (rules[0].chosen, rules[0].happened)
}

pub(crate) fn map(name: &str, value: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"v": value.to_string()},
    })
}

pub(crate) fn put(server: &ApiServer, name: &str, value: u64) -> u64 {
    server.put("configmaps", map(name, value));
    server.resource_version()
}

/// The answer to a request on a connection of its own.
pub(crate) async fn get(server: &ApiServer, target: &str) -> (u16, Value) {
    Raw::connect(server).await.json(Method::GET, target, &Value::Null).await
}

/// All bytes that come back for a request until the server closes: head and body.
pub(crate) async fn bytes(server: &ApiServer, target: &str) -> (String, Vec<u8>) {
    let mut pipe = server.connect();
    pipe.write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut all = Vec::new();
    pipe.read_to_end(&mut all).await.unwrap();
    let Some(end) = all.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return (String::from_utf8(all).unwrap(), Vec::new());
    };
    let body = all.split_off(end + 4);
    (String::from_utf8(all).unwrap(), body)
}

/// A watch and the lines that it has sent.
pub(crate) struct Watch {
    body: Incoming,
    buffer: Vec<u8>,
    _raw: Raw,
}

impl Watch {
    pub(crate) async fn begin(server: &ApiServer, query: &str) -> Self {
        let mut raw = Raw::connect(server).await;
        let target = format!("{MAPS}?watch=true{query}");
        let answer = raw.send(&Method::GET, &target, "", "").await.unwrap();
        assert_eq!(answer.status(), 200);
        Self { body: answer.into_body(), buffer: Vec::new(), _raw: raw }
    }

    /// The next event in short, such as `ADDED a=1@7` or `BOOKMARK @7`; `end` at the end, `broken` if the connection broke.
    pub(crate) async fn next(&mut self) -> String {
        let line = loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                break self.buffer.drain(..=end).collect::<Vec<u8>>();
            }
            match self.body.frame().await {
                None => return "end".to_owned(),
                Some(Err(_)) => return "broken".to_owned(),
                Some(Ok(frame)) => self.buffer.extend_from_slice(&frame.into_data().unwrap()),
            }
        };
        let event: Value = serde_json::from_slice(&line).unwrap();
        let object = &event["object"];
        let kind = event["type"].as_str().unwrap();
        if kind == "ERROR" {
            return format!("ERROR {} {}", object["code"], object["message"].as_str().unwrap());
        }
        let version = object["metadata"]["resourceVersion"].as_str().unwrap();
        match (object["metadata"]["name"].as_str(), object["data"]["v"].as_str()) {
            (Some(name), Some(value)) => format!("{kind} {name}={value}@{version}"),
            _ if object["metadata"]["annotations"].is_object() => format!("{kind} end@{version}"),
            _ => format!("{kind} @{version}"),
        }
    }

    /// Whether nothing comes for so long.
    pub(crate) async fn is_silent(&mut self, time: Duration) -> bool {
        timeout(time, self.next()).await.is_err()
    }

    /// All until the end.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let next = self.next().await;
            let is_over = matches!(next.as_str(), "end" | "broken");
            all.push(next);
            if is_over {
                return all;
            }
        }
    }
}
