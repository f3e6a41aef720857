//! All loops against the embedded API server: how far they come, and with how many requests.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::Cluster;
use lariat::api::Randomness;
use lariat_controllers::types::GameServerState;

/// How many servers: 200, or as many as `LARIAT_SERVERS` says.
fn wanted() -> usize {
    std::env::var("LARIAT_SERVERS").ok().and_then(|number| number.parse().ok()).unwrap_or(200)
}

/// From nothing to Ready: at most 8.5 requests for each server, those of the nodes not counted, and nothing is written over a
/// version that is stale.
#[tokio::test(start_paused = true)]
async fn a_fleet_becomes_ready_with_few_requests_and_no_conflict() {
    let wanted = wanted();
    let cluster = Cluster::new(wanted.div_ceil(100) + 10);
    let running = cluster.control(cluster::settings());
    cluster.create_fleet(i32::try_from(wanted).unwrap()).await;
    let ready = i32::try_from(wanted).unwrap();
    cluster
        .until(600, "all are ready", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == ready)
        })
        .await;
    running.stop().await;

    let writes = cluster.writes();
    let is_of_nodes = |seen: &&lariat_apiserver::Seen| {
        seen.target.contains("/nodes")
            || seen.target.contains("/bindings")
            || seen.target.contains("/pods/")
            || seen.body["status"]["state"] == "RequestReady"
    };
    let ours = writes.iter().filter(|seen| !is_of_nodes(seen)).count();
    let count = |method: &str, part: &str| {
        writes
            .iter()
            .filter(|seen| seen.method == method && seen.target.contains(part) && !is_of_nodes(seen))
            .count()
    };
    println!(
        "{ours} requests: servers {} + {}, pods {}, events {}, sets {}, fleets {}",
        count("POST", "/gameservers"),
        count("PUT", "/gameservers/"),
        count("POST", "/pods"),
        count("POST", "/events"),
        count("PUT", "/gameserversets"),
        count("PUT", "/fleets"),
    );
    assert!(ours * 10 <= wanted * 85, "{ours} requests for {wanted} servers");
    // Each server is written exactly as often as it has states: a conflict would have been one write more.
    assert_eq!(count("PUT", "/gameservers/"), wanted * 4);

    let servers = cluster.servers().await;
    let ports: BTreeSet<(String, i32)> =
        servers.iter().map(|server| (server.status.node_name.clone(), server.status.ports[0].port)).collect();
    assert_eq!(ports.len(), wanted, "no port twice on a node");
    assert_eq!((cluster.clashes)(), 0);
    assert!(servers.iter().all(|server| server.status.state == GameServerState::Ready));
}

/// Controllers that end and begin anew at any moment lose no server, and give no port twice.
#[tokio::test(start_paused = true)]
async fn restarts_at_any_moment_lose_nothing() {
    let wanted = wanted();
    let cluster = Cluster::new(wanted.div_ceil(100) + 10);
    let randomness = Randomness::seeded(7);
    cluster.create_fleet(i32::try_from(wanted).unwrap()).await;
    for _ in 0..8 {
        let running = cluster.control(cluster::settings());
        tokio::time::sleep(Duration::from_millis(randomness.below(600))).await;
        running.stop().await;
    }
    let running = cluster.control(cluster::settings());
    let ready = i32::try_from(wanted).unwrap();
    let is_ready = |cluster: &Cluster| {
        cluster
            .fleet()
            .is_some_and(|fleet| fleet.status.ready_replicas == ready && fleet.status.replicas == ready)
    };
    cluster.until(600, "all are ready", is_ready).await;
    running.stop().await;

    let servers = cluster.servers().await;
    assert_eq!(servers.len(), wanted, "none too many, none lost");
    let ports: BTreeSet<(String, i32)> =
        servers.iter().map(|server| (server.status.node_name.clone(), server.status.ports[0].port)).collect();
    assert_eq!(ports.len(), wanted, "no port twice on a node");
    assert_eq!((cluster.clashes)(), 0);
}

/// A fleet that is scaled to nothing leaves nothing: no server, no pod.
#[tokio::test(start_paused = true)]
async fn a_fleet_that_is_scaled_to_nothing_leaves_nothing() {
    let cluster = Cluster::new(5);
    let running = cluster.control(cluster::settings());
    cluster.create_fleet(20).await;
    cluster
        .until(60, "all are ready", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 20)
        })
        .await;
    cluster.scale(0).await;
    cluster
        .until(120, "all are gone", |cluster| cluster.fleet().is_some_and(|fleet| fleet.status.replicas == 0))
        .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(cluster.servers().await.is_empty());
    assert_eq!(cluster.pods().await, 0);
    running.stop().await;
}

/// Issue 1170, 1102: a server whose pod vanished while no controller ran is replaced once one does.
#[tokio::test(start_paused = true)]
async fn issue_1170_a_pod_that_vanished_while_nobody_looked_is_missed() {
    let cluster = Cluster::new(5);
    let running = cluster.control(cluster::settings());
    cluster.create_fleet(3).await;
    cluster
        .until(60, "all are ready", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 3)
        })
        .await;
    running.stop().await;
    let victim = cluster.servers().await[0].metadata.name.to_string();
    assert!(cluster.server.delete("pods", &format!("default/{victim}")));
    let running = cluster.control(cluster::settings());
    let gone = format!("default/{victim}");
    let is_replaced = |cluster: &Cluster| {
        cluster.server.stored("gameservers.agones.dev", &gone).is_none()
            && cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 3)
    };
    cluster.until(120, "it is replaced", is_replaced).await;
    running.stop().await;
}

/// Another template replaces all servers, a few at a time, and leaves one set.
#[tokio::test(start_paused = true)]
async fn a_rolling_update_replaces_all_servers() {
    let cluster = Cluster::new(5);
    let running = cluster.control(cluster::settings());
    cluster.create_fleet(8).await;
    cluster
        .until(60, "all are ready", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 8)
        })
        .await;
    let before: BTreeSet<String> =
        cluster.servers().await.iter().map(|server| server.metadata.name.to_string()).collect();
    cluster.change_label("game", "other").await;
    let mut fewest = 8;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(300);
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let fleet = cluster.fleet().unwrap();
        fewest = fewest.min(fleet.status.ready_replicas);
        let servers = cluster.servers().await;
        let is_new = |name: &str| !before.contains(name);
        if servers.len() == 8
            && servers.iter().all(|server| is_new(&server.metadata.name) && server.is_active())
        {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{:?}", fleet.status);
    }
    assert!(fewest >= 8 - 2, "a quarter may be missing: there were {fewest}");
    running.stop().await;
}
