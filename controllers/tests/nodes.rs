//! What befalls pods and players on simulated nodes.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::Cluster;
use lariat::prelude::*;
use lariat_controllers::simulated::NodeSettings;
use lariat_controllers::types::{GameServer, GameServerState};

/// Whatever befalls a pod, its server is replaced.
#[tokio::test(start_paused = true)]
async fn pods_fail_are_evicted_and_vanish() {
    let cluster = Cluster::with(NodeSettings {
        count: 5,
        failures_per_million: 5_000,
        evictions_per_million: 5_000,
        vanishing_per_million: 5_000,
        ..NodeSettings::default()
    });
    let running = cluster.control(cluster::settings());
    cluster.create_fleet(10).await;
    let mut names = BTreeSet::new();
    for _ in 0..120 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        names.extend(cluster.servers().await.into_iter().map(|server| server.metadata.name.to_string()));
    }
    running.stop().await;
    assert!(names.len() > 15, "many are replaced: {}", names.len());
    let writes = cluster.writes();
    let failed = |reason: Option<&str>| {
        let is_it = |body: &serde_json::Value| body["phase"] == "Failed" && body["reason"].as_str() == reason;
        writes.iter().filter(|seen| is_it(&seen.body["status"])).count()
    };
    let vanished =
        writes.iter().filter(|seen| seen.method == "DELETE" && seen.body["gracePeriodSeconds"] == 0).count();
    assert!(failed(None) > 0 && failed(Some("Evicted")) > 0 && vanished > 0);
}

/// Players leave a server when their session is over, and not before.
#[tokio::test(start_paused = true)]
async fn sessions_end() {
    let session = Some(Duration::from_secs(60));
    let cluster = Cluster::with(NodeSettings { count: 2, session, ..NodeSettings::default() });
    let running = cluster.control(cluster::settings());
    cluster.create_fleet(2).await;
    cluster
        .until(60, "all are ready", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 2)
        })
        .await;
    let mut server = cluster.servers().await.remove(0);
    let name = server.metadata.name.to_string();
    server.status.state = GameServerState::Allocated;
    Api::<GameServer>::namespaced(cluster.client.clone(), "default").update(&server).await.unwrap();
    let key = format!("default/{name}");
    tokio::time::sleep(Duration::from_secs(59)).await;
    let stored = cluster.server.stored("gameservers.agones.dev", &key).unwrap();
    assert_eq!(stored["status"]["state"], "Allocated");
    cluster
        .until(10, "it is gone", |cluster| cluster.server.stored("gameservers.agones.dev", &key).is_none())
        .await;
    running.stop().await;
}
