//! Many clients at once: every watcher sees every event of its selector, in order.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod raw;

use http::Method;
use http_body_util::BodyExt;
use lariat_apiserver::ApiServer;
use raw::Raw;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const CLIENTS: usize = 100;
const WATCHES: usize = 1_000;
const WRITES: usize = 20_000;
const WINDOW: usize = 500;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Reads a watch until it has seen so many events; what their objects say.
async fn read(server: ApiServer, shard: usize, events: usize) -> Vec<(u64, u64)> {
    let mut raw = Raw::connect(&server).await;
    let target = format!("{MAPS}?watch=true&labelSelector=shard%3D{shard}");
    let mut body = raw.send(&Method::GET, &target, "", "").await.unwrap().into_body();
    let mut seen = Vec::new();
    let mut buffer = Vec::new();
    while seen.len() < events {
        buffer.extend_from_slice(&body.frame().await.unwrap().unwrap().into_data().unwrap());
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap();
            let object = &event["object"];
            assert_eq!(object["metadata"]["labels"]["shard"], shard.to_string());
            let version = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
            seen.push((version, object["data"]["n"].as_str().unwrap().parse().unwrap()));
        }
    }
    seen
}

/// Writes one object again and again.
async fn write(server: ApiServer, shard: usize, writes: usize) {
    let mut raw = Raw::connect(&server).await;
    for n in 0..writes {
        let (code, answer) = if n == 0 {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("m{shard}"), "labels": {"shard": shard.to_string()}},
                "data": {"n": "0"},
            });
            raw.json(Method::POST, MAPS, &map).await
        } else {
            let patch = json!({"data": {"n": n.to_string()}});
            raw.json(Method::PATCH, &format!("{MAPS}/m{shard}"), &patch).await
        };
        assert!(matches!(code, 200 | 201), "{answer}");
    }
}

#[tokio::test]
async fn every_watcher_sees_every_event_of_its_selector_in_order() {
    let server = ApiServer::builder().event_window(WINDOW).build();
    let per_client = WRITES / CLIENTS;
    let mut readers = JoinSet::new();
    for watch in 0..WATCHES {
        readers.spawn(read(server.clone(), watch % CLIENTS, per_client));
    }
    while server.watches("configmaps") < WATCHES {
        tokio::task::yield_now().await;
    }
    let mut writers = JoinSet::new();
    for shard in 0..CLIENTS {
        writers.spawn(write(server.clone(), shard, per_client));
    }
    writers.join_all().await;
    for seen in readers.join_all().await {
        assert!(seen.is_sorted_by(|before, after| before.0 < after.0), "versions grow");
        assert_eq!(
            seen.iter().map(|(_, n)| *n).collect::<Vec<_>>(),
            (0..per_client as u64).collect::<Vec<_>>()
        );
    }
    assert_eq!(server.remembered_writes(), WINDOW);
}
