//! The public issues of the original that take whole loops, or a network, to show (reference 10).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cluster::{Cluster, settings};
use lariat_apiserver::{Fault, FaultPlan, Rule};
use lariat_controllers::controllers::Settings;
use lariat_controllers::fleetautoscalers::Hooks;
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::types::{Fleet, GameServerState, WebhookPolicy};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

const SERVERS: &str = "gameservers.agones.dev";

async fn ready(cluster: &Cluster, wanted: i32) {
    let is_ready = |cluster: &Cluster| {
        cluster
            .fleet()
            .is_some_and(|fleet| fleet.status.ready_replicas == wanted && fleet.status.replicas == wanted)
    };
    cluster.until(120, "all are ready", is_ready).await;
}

fn stored(cluster: &Cluster, resource: &str, name: &str) -> Option<Value> {
    cluster.server.stored(resource, &format!("default/{name}"))
}

/// Writes part of an object, as a kubelet or an SDK would.
fn change(cluster: &Cluster, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
    let mut object = stored(cluster, resource, name).unwrap();
    change(&mut object);
    cluster.server.put(resource, object);
}

async fn names(cluster: &Cluster) -> Vec<String> {
    cluster.servers().await.iter().map(|server| server.metadata.name.to_string()).collect()
}

/// Where the SDK has said what a server is.
fn say(cluster: &Cluster, name: &str, state: &str) {
    change(cluster, SERVERS, name, |server| server["status"]["state"] = state.into());
}

/// Each look at an autoscaler opened connections that were never closed.
#[tokio::test]
async fn issue_2278_an_autoscaler_asks_over_one_connection_which_ends_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/scale", listener.local_addr().unwrap());
    let (opened, closed) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (count, ended) = (opened.clone(), closed.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let ended = ended.clone();
            tokio::spawn(async move {
                let mut request = Vec::new();
                let mut bytes = [0; 4096];
                loop {
                    let read = stream.read(&mut bytes).await.unwrap_or_default();
                    if read == 0 {
                        return ended.notify_one();
                    }
                    request.extend(&bytes[..read]);
                    // The body is one JSON object, which ends the request.
                    if request.ends_with(b"}") {
                        request.clear();
                        let body = r#"{"response":{"scale":true,"replicas":7}}"#;
                        let answer =
                            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    let hooks = Hooks::default();
    let policy: WebhookPolicy = serde_json::from_value(json!({"url": url})).unwrap();
    let fleet = Fleet::default();
    for _ in 0..20 {
        let target = hooks.ask("auto", &policy, &fleet, "uid", FeatureGates::default()).await.unwrap();
        assert_eq!(target.replicas, 7);
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    hooks.forget("auto");
    closed.notified().await;
}

/// A server stayed in Shutdown for ever: the event of its pod's deletion was worked on when the finalizer could not go yet.
#[tokio::test(start_paused = true)]
async fn issue_2360_a_server_goes_even_if_its_finalizer_could_not_at_first() {
    let cluster = Cluster::new(2);
    let running = cluster.control(settings());
    cluster.create_fleet(1).await;
    ready(&cluster, 1).await;
    let name = names(&cluster).await.remove(0);
    // What would take the finalizer away fails, while the pod's deletion is told and worked on.
    let fails = Fault::answer(500, "InternalError", None);
    let finalizer = Rule::new(fails)
        .verb("update")
        .resource("gameservers")
        .name(name.clone())
        .user_agent("controller")
        .times(4);
    cluster.server.set_faults(FaultPlan::seeded(1).rule(finalizer));
    say(&cluster, &name, "Shutdown");
    cluster.until(60, "it is gone", |cluster| stored(cluster, SERVERS, &name).is_none()).await;
    assert_eq!(cluster.server.faults_struck()[0].happened, 4);
    ready(&cluster, 1).await;
    running.stop().await;
}

/// The same, where the pod's deletion is not heard of at all.
#[tokio::test(start_paused = true)]
async fn issue_2360_a_server_goes_when_the_deletion_of_its_pod_was_missed() {
    let cluster = Cluster::new(2);
    let running = cluster.control(settings());
    cluster.create_fleet(1).await;
    ready(&cluster, 1).await;
    let name = names(&cluster).await.remove(0);
    running.stop().await;
    let running = cluster.control(settings());
    ready(&cluster, 1).await;
    say(&cluster, &name, "Shutdown");
    // Nobody hears anything while the pod goes; the deletions before are forgotten.
    cluster.server.delete("pods", &format!("default/{name}"));
    cluster.server.compact();
    cluster.until(60, "it is gone", |cluster| stored(cluster, SERVERS, &name).is_none()).await;
    running.stop().await;
}

/// A pod that failed before it ran (no room for it, its node is shut down) left a server that nobody replaced.
#[tokio::test(start_paused = true)]
async fn issue_2683_a_server_whose_pod_failed_is_replaced() {
    for reason in ["OutOfpods", "NodeShutdown", "Terminated"] {
        let cluster = Cluster::new(2);
        let running = cluster.control(settings());
        cluster.create_fleet(2).await;
        ready(&cluster, 2).await;
        let before: BTreeSet<String> = names(&cluster).await.into_iter().collect();
        let name = before.first().unwrap().clone();
        change(&cluster, "pods", &name, |pod| {
            pod["status"]["phase"] = "Failed".into();
            pod["status"]["reason"] = reason.into();
        });
        cluster.until(60, reason, |cluster| stored(cluster, SERVERS, &name).is_none()).await;
        ready(&cluster, 2).await;
        assert_eq!(before.intersection(&names(&cluster).await.into_iter().collect()).count(), 1);
        running.stop().await;
    }
}

/// A pod that had come to its end left a server in Allocated.
#[tokio::test(start_paused = true)]
async fn issue_4188_a_server_whose_pod_has_ended_goes_even_with_players() {
    let cluster = Cluster::new(2);
    let running = cluster.control(settings());
    cluster.create_fleet(2).await;
    ready(&cluster, 2).await;
    let name = names(&cluster).await.remove(0);
    say(&cluster, &name, "Allocated");
    change(&cluster, "pods", &name, |pod| pod["status"]["phase"] = "Succeeded".into());
    cluster.until(60, "it is gone", |cluster| stored(cluster, SERVERS, &name).is_none()).await;
    ready(&cluster, 2).await;
    running.stop().await;
}

/// A game that had ended kept its server, since another container of the pod ran on.
#[tokio::test(start_paused = true)]
async fn issue_4728_a_game_that_has_ended_ends_its_server_whatever_else_runs_in_the_pod() {
    for (status, told) in [(0, GameServerState::Shutdown), (137, GameServerState::Unhealthy)] {
        let cluster = Cluster::new(2);
        let running = cluster.control(settings());
        cluster.create_fleet(1).await;
        ready(&cluster, 1).await;
        let name = names(&cluster).await.remove(0);
        let ended = |container: &str| {
            json!([
                {"name": "game", "state": {"running": {}}}, {"name": "helper", "state": {"running": {}}},
            ])
            .as_array()
            .unwrap()
            .iter()
            .map(|status_of: &Value| {
                let mut status_of = status_of.clone();
                if status_of["name"] == *container {
                    status_of["state"] = json!({"terminated": {"exitCode": status}});
                }
                status_of
            })
            .collect::<Value>()
        };
        change(&cluster, "pods", &name, |pod| pod["status"]["containerStatuses"] = ended("helper"));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(stored(&cluster, SERVERS, &name).is_some(), "a helper may end");

        let seen = cluster.server.seen().len();
        change(&cluster, "pods", &name, |pod| pod["status"]["containerStatuses"] = ended("game"));
        cluster.until(60, "it is gone", |cluster| stored(cluster, SERVERS, &name).is_none()).await;
        let said = cluster.server.seen().split_off(seen);
        let states: Vec<&Value> = said
            .iter()
            .filter(|seen| seen.method == "PUT" && seen.target.ends_with(&format!("/gameservers/{name}")))
            .map(|seen| &seen.body["status"]["state"])
            .collect();
        assert_eq!(*states[0], told.to_string(), "{states:?}");
        ready(&cluster, 1).await;
        running.stop().await;
    }
}

/// Releasing a server with players made a spare one and took it away again (443, 2052, 2071). It may come to one that was not needed
/// for each that is released, and to no more.
#[tokio::test(start_paused = true)]
async fn issue_443_a_release_makes_no_more_servers_than_it_frees() {
    let cluster = Cluster::new(2);
    let running = cluster.control(settings());
    cluster.create_fleet(4).await;
    ready(&cluster, 4).await;
    let name = names(&cluster).await.remove(0);
    say(&cluster, &name, "Allocated");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let made = |cluster: &Cluster| {
        let writes = cluster.writes();
        writes.iter().filter(|seen| seen.method == "POST" && seen.target.ends_with("/gameservers")).count()
    };
    assert_eq!(made(&cluster), 4);
    say(&cluster, &name, "Shutdown");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(made(&cluster), 5, "one in its place");
    ready(&cluster, 4).await;
    running.stop().await;
}

/// One worker for each of the loops that watch over servers could not keep up (3380, 3486): the failure of many at once is seen to
/// within seconds, not at 10 a second.
#[tokio::test(start_paused = true)]
async fn issue_3380_many_servers_that_fail_at_once_are_seen_to_at_once() {
    let cluster = Cluster::new(5);
    let running = cluster.control(Settings { resync: Duration::from_secs(600), ..settings() });
    cluster.create_fleet(150).await;
    ready(&cluster, 150).await;
    let before = names(&cluster).await;
    for name in &before {
        change(&cluster, "pods", name, |pod| pod["status"]["phase"] = "Failed".into());
    }
    let all_gone = |cluster: &Cluster| {
        before.iter().all(|name| {
            stored(cluster, SERVERS, name).is_none_or(|server| server["status"]["state"] != "Ready")
        })
    };
    cluster.until(2, "none is taken for ready any more", all_gone).await;
    ready(&cluster, 150).await;
    running.stop().await;
}
