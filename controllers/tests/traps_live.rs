//! The traps of reference 0 that take whole loops to show. A test is named after the trap.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{Cluster, settings};
use lariat_apiserver::{Fault, FaultPlan, Rule};
use lariat_controllers::controllers::Settings;
use lariat_controllers::types::GameServer;
use serde_json::{Value, json};
use tokio::time::Instant;

const SERVERS: &str = "gameservers.agones.dev";
const SETS: &str = "gameserversets.agones.dev";
const FLEETS: &str = "fleets.agones.dev";
const AUTOSCALERS: &str = "fleetautoscalers.autoscaling.agones.dev";

/// So long that nothing here is due to it.
const NEVER: Duration = Duration::from_secs(1_000_000);

async fn ready(cluster: &Cluster, wanted: i32) {
    let is_ready = |cluster: &Cluster| {
        cluster
            .fleet()
            .is_some_and(|fleet| fleet.status.ready_replicas == wanted && fleet.status.replicas == wanted)
    };
    cluster.until(120, "all are ready", is_ready).await;
}

async fn first(cluster: &Cluster) -> GameServer {
    cluster.servers().await.remove(0)
}

fn change(cluster: &Cluster, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
    let mut object = cluster.server.stored(resource, &format!("default/{name}")).unwrap();
    change(&mut object);
    cluster.server.put(resource, object);
}

/// Trap 1: a GameServer has no status subresource; state, ports, annotations and finalizers are one write.
#[tokio::test(start_paused = true)]
async fn trap_1_a_server_is_written_whole() {
    let cluster = Cluster::new(2);
    let running = cluster.control(settings());
    cluster.create_fleet(1).await;
    ready(&cluster, 1).await;
    running.stop().await;
    let definition =
        cluster.server.stored("customresourcedefinitions.apiextensions.k8s.io", SERVERS).unwrap();
    let subresources = definition["spec"]["versions"][0]["subresources"].as_object().unwrap();
    assert_eq!(subresources.keys().collect::<Vec<_>>(), ["scale"]);
    let writes = cluster.writes();
    assert!(
        !writes.iter().any(|seen| seen.target.contains("/gameservers/") && seen.target.ends_with("/status"))
    );
    let scheduled = writes
        .iter()
        .find(|seen| seen.body["kind"] == "GameServer" && seen.body["status"]["state"] == "Scheduled");
    let scheduled = &scheduled.unwrap().body;
    assert!(
        scheduled["spec"]["ports"][0]["hostPort"].is_number() && scheduled["status"]["address"].is_string()
    );
    assert_eq!(scheduled["metadata"]["finalizers"], json!(["agones.dev/controller"]));
}

/// Trap 2: the service account may do little. All that is asked for in the life of a fleet is allowed by the original's role (7.7).
#[tokio::test(start_paused = true)]
async fn trap_2_what_is_asked_for_is_what_the_role_allows() {
    let cluster = Cluster::new(3);
    let asked = Arc::<Mutex<BTreeSet<String>>>::default();
    let noted = asked.clone();
    let spy = Rule::new(Fault::delay(Duration::ZERO)).on(move |asking| {
        if asking.user_agent().starts_with("controller") {
            let slash = if asking.subresource().is_empty() { "" } else { "/" };
            let what = format!("{} {}{slash}{}", asking.verb(), asking.resource(), asking.subresource());
            noted.lock().unwrap().insert(what);
        }
        false
    });
    cluster.server.set_faults(FaultPlan::seeded(1).rule(spy));
    let running = cluster.control(settings());
    cluster.create_fleet(3).await;
    ready(&cluster, 3).await;
    cluster.server.put(
        AUTOSCALERS,
        autoscaler(
            "simple",
            &json!({"type": "Buffer", "buffer": {"bufferSize": 4, "minReplicas": 4, "maxReplicas": 9}}),
        ),
    );
    ready(&cluster, 4).await;
    change(&cluster, SERVERS, first(&cluster).await.metadata.name.as_str(), |server| {
        server["status"]["state"] = "Shutdown".into();
    });
    cluster.change_label("game", "other").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let victim = first(&cluster).await.metadata.name.to_string();
    change(&cluster, "pods", &victim, |pod| pod["status"]["phase"] = "Failed".into());
    tokio::time::sleep(Duration::from_secs(60)).await;
    running.stop().await;

    let verbs = |resource: &str, verbs: &[&str]| -> Vec<String> {
        verbs.iter().map(|verb| format!("{verb} {resource}")).collect()
    };
    let own = ["create", "delete", "get", "list", "update", "watch"];
    let allowed: BTreeSet<String> = [
        verbs("events", &["create", "patch"]),
        verbs("pods", &["create", "update", "delete", "list", "watch"]),
        verbs("nodes", &["list", "watch"]),
        verbs("secrets", &["list", "watch"]),
        verbs("customresourcedefinitions", &["get"]),
        verbs("gameservers", &own),
        verbs("gameservers", &["patch"]),
        verbs("gameserversets", &own),
        verbs("fleets", &["get", "list", "update", "watch"]),
        verbs("fleetautoscalers", &["get", "list", "update", "watch"]),
        verbs("fleets/status", &["update"]),
        verbs("gameserversets/status", &["update"]),
        verbs("fleetautoscalers/status", &["update"]),
    ]
    .concat()
    .into_iter()
    .collect();
    let asked = asked.lock().unwrap();
    let refused: Vec<&String> = asked.difference(&allowed).collect();
    assert!(refused.is_empty(), "{refused:?}");
    for needed in [
        "create pods",
        "delete pods",
        "update gameservers",
        "update fleetautoscalers/status",
        "delete gameserversets",
    ] {
        assert!(asked.contains(needed), "the loops did not come so far as to {needed}: {asked:?}");
    }
}

/// Trap 3: what the original does at the next resync happens here without any: a missing pod, the end of an error's 30 s, the marks of
/// an overflow, the status of a fleet.
#[tokio::test(start_paused = true)]
async fn trap_3_nothing_waits_for_a_resync() {
    let cluster = Cluster::new(3);
    let running = cluster.control(Settings { resync: NEVER, ..settings() });
    cluster.create_fleet(3).await;
    ready(&cluster, 3).await;

    let victim = first(&cluster).await.metadata.name.to_string();
    assert!(cluster.server.delete("pods", &format!("default/{victim}")));
    let key = format!("default/{victim}");
    cluster.until(10, "the missing pod", |cluster| cluster.server.stored(SERVERS, &key).is_none()).await;
    ready(&cluster, 3).await;

    // Pods are refused, as by a quota, for a moment.
    let quota = Rule::new(Fault::answer(403, "Forbidden", None)).verb("create").resource("pods").times(1);
    cluster.server.set_faults(FaultPlan::seeded(1).rule(quota));
    cluster.scale(4).await;
    let failed =
        |cluster: &Cluster| cluster.writes().iter().any(|seen| seen.body["status"]["state"] == "Error");
    cluster.until(10, "a server fails", failed).await;
    let start = Instant::now();
    ready(&cluster, 4).await;
    let took = start.elapsed();
    assert!((Duration::from_secs(28)..Duration::from_secs(35)).contains(&took), "{took:?}");

    change(&cluster, FLEETS, "simple", |fleet| {
        fleet["spec"]["allocationOverflow"] = json!({"labels": {"over": "yes"}});
    });
    for server in cluster.servers().await {
        change(&cluster, SERVERS, server.metadata.name.as_str(), |server| {
            server["status"]["state"] = "Allocated".into();
        });
    }
    cluster.scale(1).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let marked =
        cluster.servers().await.iter().filter(|server| server.metadata.labels.get("over").is_some()).count();
    assert_eq!(marked, 3);
    let status = cluster.fleet().unwrap().status;
    assert_eq!((status.replicas, status.allocated_replicas), (4, 4));
    running.stop().await;
}

/// Trap 4: without the original's delays a fleet would be looked at before the set is seen that it has just made.
#[tokio::test(start_paused = true)]
async fn trap_4_a_set_that_is_not_seen_yet_is_not_made_twice() {
    let cluster = Cluster::new(3);
    // The watch of sets says nothing for long after it has begun.
    let late = Rule::new(Fault::delay(Duration::from_secs(20)))
        .verb("watch")
        .resource("gameserversets")
        .user_agent("controller");
    cluster.server.set_faults(FaultPlan::seeded(1).rule(late));
    let running = cluster.control(settings());
    tokio::time::sleep(Duration::from_secs(1)).await;
    cluster.create_fleet(3).await;
    for replicas in [4, 5, 3] {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cluster.scale(replicas).await;
    }
    ready(&cluster, 3).await;
    let made = cluster
        .writes()
        .iter()
        .filter(|seen| seen.method == "POST" && seen.target.ends_with("/gameserversets"))
        .count();
    assert_eq!(made, 1);
    running.stop().await;
}

/// Trap 5: what a user may leave out, or an older version has stored, brings nobody down.
#[tokio::test(start_paused = true)]
async fn trap_5_objects_without_most_of_what_they_should_have_harm_no_others() {
    let cluster = Cluster::new(3);
    let running = cluster.control(settings());
    let object = |resource: &str, kind: &str, name: &str, rest: &Value| {
        let group = if kind == "FleetAutoscaler" { "autoscaling.agones.dev/v1" } else { "agones.dev/v1" };
        let mut object = json!({
            "apiVersion": group, "kind": kind,
            "metadata": {"name": name, "namespace": "default", "uid": format!("{kind}-{name}"), "generation": 1},
        });
        for (field, value) in rest.as_object().unwrap() {
            object[field] = value.clone();
        }
        cluster.server.put(resource, object);
    };
    let nothing =
        [json!({}), json!({"spec": null}), json!({"spec": {}}), json!({"spec": {}, "status": null})];
    for (number, rest) in nothing.iter().enumerate() {
        for (resource, kind) in [
            (FLEETS, "Fleet"),
            (SETS, "GameServerSet"),
            (SERVERS, "GameServer"),
            (AUTOSCALERS, "FleetAutoscaler"),
        ] {
            object(resource, kind, &format!("empty-{number}"), rest);
        }
    }
    object(
        FLEETS,
        "Fleet",
        "no-update",
        &json!({"spec": {"replicas": 1, "strategy": {"type": "RollingUpdate"}, "template": null}}),
    );
    object(
        FLEETS,
        "Fleet",
        "odd",
        &json!({"spec": {"replicas": -4, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "x%"}}}}),
    );
    object(
        SERVERS,
        "GameServer",
        "no-pod",
        &json!({"spec": {"ports": null, "template": null, "counters": null}, "status": {"state": "Creating", "ports": null}}),
    );
    for (number, policy) in [
        json!({"type": "Buffer"}),
        json!({"type": "Buffer", "buffer": {"bufferSize": "100%", "minReplicas": 1, "maxReplicas": 4}}),
        json!({"type": "Webhook"}),
        json!({"type": "Webhook", "webhook": {"service": {"name": null}}}),
        json!({"type": "Counter", "counter": {}}),
        json!({"type": "List", "list": null}),
        json!({"type": "Schedule", "schedule": {"activePeriod": null, "policy": null}}),
        json!({"type": "Chain", "chain": [{"id": null}]}),
        json!({"type": "Wasm"}),
    ]
    .iter()
    .enumerate()
    {
        cluster.server.put(AUTOSCALERS, autoscaler(&format!("odd-{number}"), policy));
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    cluster.create_fleet(3).await;
    cluster
        .until(120, "a good fleet", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 3)
        })
        .await;
    running.stop().await;
}

/// GSS-1 [X]: the deletion of a set that was missed, and comes as a tombstone after the watch was lost, ends the original's process.
#[tokio::test(start_paused = true)]
async fn gss_1_a_set_whose_deletion_was_missed_ends_nothing() {
    let cluster = Cluster::new(3);
    let running = cluster.control(settings());
    cluster.create_fleet(3).await;
    ready(&cluster, 3).await;
    let set = first(&cluster).await.metadata.labels.get("agones.dev/gameserverset").unwrap().to_string();
    // Watches break off, and what happened meanwhile is not remembered.
    let cut = Rule::new(Fault::answer(410, "Expired", None)).verb("watch").user_agent("controller").times(6);
    let refuse = Rule::new(Fault::reset()).verb("list").user_agent("controller").times(3);
    cluster.server.set_faults(FaultPlan::seeded(1).rule(cut).rule(refuse));
    cluster.server.delete(SETS, &format!("default/{set}"));
    cluster.server.compact();
    tokio::time::sleep(Duration::from_secs(120)).await;
    ready(&cluster, 3).await;
    let now = first(&cluster).await.metadata.labels.get("agones.dev/gameserverset").unwrap().to_string();
    assert_ne!(set, now, "another set has taken its place");
    running.stop().await;
}

/// F-11 [X]: what a fleet says of its overflow reaches the set that it has.
#[tokio::test(start_paused = true)]
async fn f_11_another_overflow_reaches_the_set_that_is_there() {
    let cluster = Cluster::new(3);
    let running = cluster.control(settings());
    cluster.create_fleet(1).await;
    ready(&cluster, 1).await;
    let overflow = json!({"labels": {"over": "yes"}});
    change(&cluster, FLEETS, "simple", |fleet| fleet["spec"]["allocationOverflow"] = overflow.clone());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let set = first(&cluster).await.metadata.labels.get("agones.dev/gameserverset").unwrap().to_string();
    assert_eq!(
        cluster.server.stored(SETS, &format!("default/{set}")).unwrap()["spec"]["allocationOverflow"],
        overflow
    );
    running.stop().await;
}

/// 2.1 [X]: a server that starts is not asked after every 500 ms. It goes on when its pod has an address, at once.
#[tokio::test(start_paused = true)]
async fn gs_4_a_server_goes_on_as_soon_as_its_pod_has_an_address() {
    let cluster = Cluster::new(0);
    let running = cluster.control(Settings { resync: NEVER, ..settings() });
    cluster.create_fleet(1).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    let server = first(&cluster).await;
    assert_eq!(server.status.state.as_str(), "Starting", "there is no node");
    let requests = cluster.server.seen().len();
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let watches = |seen: &&lariat_apiserver::Seen| !seen.target.contains("watch=");
    let since = cluster.server.seen().split_off(requests);
    assert_eq!(since.iter().filter(watches).count(), 0, "nobody asks meanwhile");
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late", "uid": "late"},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
    cluster.server.put("nodes", node);
    change(&cluster, "pods", server.metadata.name.as_str(), |pod| {
        pod["spec"]["nodeName"] = "late".into();
        pod["status"] = json!({"phase": "Running", "podIPs": [{"ip": "172.16.0.1"}]});
    });
    let start = Instant::now();
    while first(&cluster).await.status.state.as_str() == "Starting" {
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(start.elapsed() < Duration::from_secs(1));
    }
    assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
    running.stop().await;
}

fn autoscaler(name: &str, policy: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling.agones.dev/v1", "kind": "FleetAutoscaler",
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"), "generation": 1},
        "spec": {"fleetName": "simple", "policy": policy},
    })
}
