//! The loops in a manager: what can be asked of them, and what their metrics say.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::sync::Mutex;
use std::time::Duration;

use cluster::Cluster;
use lariat::prelude::*;
use lariat::{BoxError, BoxFuture, Elector, Term};
use lariat_controllers::controllers::Controllers;
use lariat_controllers::metrics::AgonesMetrics;
use lariat_controllers::types::{Fleet, FleetAutoscaler};
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Leads when it is told to.
#[derive(Clone, Default)]
struct Told(Arc<Notify>);

impl Elector for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn acquire(&self) -> BoxFuture<'_, Result<Term, BoxError>> {
        Box::pin(async {
            self.0.notified().await;
            Ok(Term::new())
        })
    }

    fn lost<'a>(&'a self, _term: &'a Term) -> BoxFuture<'a, String> {
        Box::pin(std::future::pending())
    }

    fn release(&self, _term: Term) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Managed {
    manager: Manager,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    running: JoinHandle<lariat::Stopped>,
}

impl Managed {
    fn start(cluster: &Cluster, elector: Told) -> Self {
        let metrics = Arc::new(AgonesMetrics::default());
        let manager = Manager::builder(cluster.client.clone())
            .elector(elector)
            .observer(metrics.clone())
            .informers(|all| all.resync_period(Duration::from_secs(30)).consistent_start(true))
            .build();
        manager.register_metrics(|registry| metrics.register(registry));
        let controllers = Controllers::new(manager.client().clone(), cluster::settings());
        controllers.metrics(metrics).add_to(&manager).unwrap();
        let (stop, stopped) = oneshot::channel();
        let runs = manager.clone();
        let running = tokio::spawn(async move { runs.run(async { drop(stopped.await) }).await.unwrap() });
        Self { manager, stop: Mutex::new(Some(stop)), running }
    }

    fn says(&self, line: &str) -> bool {
        self.manager.metrics().lines().any(|said| said == line)
    }

    fn check(&self, lines: &[&str]) {
        for line in lines {
            assert!(self.says(line), "{line} is not in\n{}", self.manager.metrics());
        }
    }

    async fn stop(self) {
        drop(self.stop.lock().unwrap().take());
        let stopped = self.running.await.unwrap();
        assert!(stopped.overdue.is_empty(), "{stopped:?}");
    }
}

/// Names and labels are the original's (reference 7.9), and what is deleted is told no more (issue 2478).
#[tokio::test(start_paused = true)]
async fn metrics_have_the_originals_names_and_go_with_their_objects() {
    let cluster = Cluster::new(3);
    let elector = Told::default();
    let managed = Managed::start(&cluster, elector.clone());
    cluster.create_fleet(4).await;
    let autoscaler = json!({
        "apiVersion": "autoscaling.agones.dev/v1", "kind": "FleetAutoscaler",
        "metadata": {"name": "auto", "namespace": "default"},
        "spec": {"fleetName": "simple", "policy": {"type": "Chain", "chain": [
            {"id": "one", "type": "Buffer", "buffer": {"bufferSize": 4, "minReplicas": 4, "maxReplicas": 9}},
        ]}},
    });
    let autoscalers = Api::<FleetAutoscaler>::namespaced(cluster.client.clone(), "default");
    autoscalers.create(&serde_json::from_value(autoscaler).unwrap()).await.unwrap();

    // A standby is ready, and tells nothing that the leader tells, too.
    cluster.until(10, "it is ready", |_| managed.manager.is_ready()).await;
    assert!(!managed.manager.metrics().contains("agones_gameservers_count{"));
    assert!(cluster.servers().await.is_empty());
    elector.0.notify_one();
    let is_ready = |cluster: &Cluster| {
        cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 4)
            && managed.says(r#"agones_fleet_autoscalers_able_to_scale{name="auto",fleet_name="simple",namespace="default"} 1"#)
    };
    cluster.until(60, "all are ready", is_ready).await;
    tokio::time::sleep(Duration::from_secs(36)).await;
    managed.check(&[
        r#"agones_gameservers_count{namespace="default",fleet_name="simple",type="Ready"} 4"#,
        r#"agones_gameservers_count{namespace="default",fleet_name="simple",type="Allocated"} 0"#,
        r#"agones_gameservers_total{namespace="default",fleet_name="simple",type="Ready"} 4"#,
        r#"agones_gameserver_state_duration_count{namespace="default",fleet_name="simple",type="Scheduled"} 4"#,
        r#"agones_gameserver_creation_duration_count{name="4",type="none",fleet_name="none",namespace=""} 1"#,
        r#"agones_nodes_count{empty="true"} 2"#,
        r#"agones_nodes_count{empty="false"} 1"#,
        r#"agones_fleets_replicas_count{name="simple",type="total",namespace="default"} 4"#,
        r#"agones_fleets_replicas_count{name="simple",type="ready",namespace="default"} 4"#,
        r#"agones_fleets_replicas_count{name="simple",type="desired",namespace="default"} 4"#,
        r#"agones_fleets_replicas_count{name="simple",type="reserved",namespace="default"} 0"#,
        r#"agones_fleet_rollout_percent{name="simple",type="current_replicas",namespace="default"} 4"#,
        // Issue 4356: the policy that was applied.
        r#"agones_fleet_autoscalers_buffer_limits{name="auto",fleet_name="simple",type="max",namespace="default"} 9"#,
        r#"agones_fleet_autoscalers_buffer_size{name="auto",fleet_name="simple",type="count",namespace="default"} 4"#,
        r#"agones_fleet_autoscalers_current_replicas_count{name="auto",fleet_name="simple",namespace="default"} 4"#,
        r#"agones_fleet_autoscalers_desired_replicas_count{name="auto",fleet_name="simple",namespace="default"} 4"#,
        r#"agones_fleet_autoscalers_limited{name="auto",fleet_name="simple",namespace="default"} 0"#,
        r#"agones_k8s_client_workqueue_depth{queue_name="gameserver-creation"} 0"#,
        r#"workqueue_depth{name="gameserver-creation",controller="gameserver-creation",priority="0"} 0"#,
        r#"leader_election_master_status{name="told"} 1"#,
        r#"informer_objects{name="gameservers.agones.dev"} 4"#,
    ]);
    let metrics = managed.manager.metrics();
    for (family, kind) in [
        ("agones_gameservers_node_count", "histogram"),
        ("agones_fleet_counters", "gauge"),
        ("agones_fleet_lists", "gauge"),
        ("agones_k8s_client_http_request", "counter"),
        ("agones_k8s_client_http_request_duration_seconds", "histogram"),
        ("agones_k8s_client_cache_list", "counter"),
        ("agones_k8s_client_cache_watches", "counter"),
        ("agones_k8s_client_cache_last_resource_version", "gauge"),
        ("agones_k8s_client_workqueue_items", "counter"),
        ("agones_k8s_client_workqueue_latency_seconds", "histogram"),
        ("agones_k8s_client_workqueue_retries", "counter"),
    ] {
        // Counters end in _total, in the text or in their type's line.
        let is_told = [family.to_owned(), format!("{family}_total")]
            .iter()
            .any(|name| metrics.contains(&format!("# TYPE {name} {kind}")));
        assert!(is_told, "{family} is no {kind} in\n{metrics}");
    }
    for name in ["agones_gameservers_total", "agones_k8s_client_http_request_total"] {
        assert!(metrics.contains(&format!("{name}{{")), "{name}");
    }

    autoscalers.delete(&ObjectKey::new("default", "auto"), &Default::default()).await.unwrap();
    let fleets = Api::<Fleet>::namespaced(cluster.client.clone(), "default");
    fleets.delete(&ObjectKey::new("default", "simple"), &Default::default()).await.unwrap();
    cluster.until(120, "it is told no more", |_| !managed.manager.metrics().contains("\"simple\"")).await;
    managed.stop().await;
}

/// LE: what a standby has filled is used at once, its queues have workers that are seen, and all of it ends when it is told to.
#[tokio::test(start_paused = true)]
async fn a_manager_shows_queues_and_caches_and_ends_its_loops() {
    let cluster = Cluster::new(3);
    let elector = Told::default();
    let managed = Managed::start(&cluster, elector.clone());
    cluster.until(10, "it is ready", |_| managed.manager.is_ready()).await;
    let state = managed.manager.debug_state();
    let names = |list: &str| -> Vec<String> {
        let list = state[list].as_array().unwrap().iter();
        list.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        names("queues"),
        [
            "gameserver-creation",
            "gameserver-deletion",
            "gameserver",
            "gameserver-health",
            "gameserver-migration",
            "gameserver-missing-pod",
            "gameserver-succeeded",
            "gameserverset",
            "fleet",
            "fleetautoscaler",
        ]
    );
    assert_eq!(names("informers").len(), 6);
    // It never led, and is not held up by loops that never began.
    managed.stop().await;

    let managed = Managed::start(&cluster, elector.clone());
    elector.0.notify_one();
    cluster.create_fleet(2).await;
    cluster
        .until(60, "all are ready", |cluster| {
            cluster.fleet().is_some_and(|fleet| fleet.status.ready_replicas == 2)
        })
        .await;
    managed.stop().await;
    // What was told last was written, too.
    assert!(cluster.writes().iter().any(|seen| seen.body["message"] == "SDK.Ready() complete"));
}
