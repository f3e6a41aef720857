//! An embedded API server with the definitions, simulated nodes and all loops.

#![allow(dead_code, clippy::panic, clippy::unwrap_used)] // each test file uses a part of it

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lariat::api::{Clock, Randomness};
use lariat::prelude::*;
use lariat_apiserver::{ApiServer, Seen};
use lariat_controllers::controllers::{Controllers, Settings};
use lariat_controllers::gameservers::PodSettings;
use lariat_controllers::simulated::{NodeSettings, SimulatedNodes};
use lariat_controllers::types::{Fleet, GameServer, Verbatim};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    pub(crate) client: Client,
    pub(crate) clashes: Arc<dyn Fn() -> u64 + Send + Sync>,
    start: Instant,
    _nodes: JoinHandle<()>,
}

pub(crate) struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Cluster {
    pub(crate) fn new(nodes: usize) -> Self {
        Self::with(NodeSettings { count: nodes, ..NodeSettings::default() })
    }

    /// With nodes that are like this.
    pub(crate) fn with(settings: NodeSettings) -> Self {
        let server = ApiServer::builder()
            .event_window(200_000)
            .watch_buffer(100_000)
            .randomness(Randomness::seeded(1))
            .build();
        for definition in lariat_controllers::definitions::all() {
            server.define(definition).unwrap();
        }
        let nodes = SimulatedNodes::new(client(&server, "nodes"), settings, Randomness::seeded(2));
        let clashes = Arc::new(nodes.clashes());
        let nodes = tokio::spawn(async move { nodes.run(std::future::pending()).await.unwrap() });
        Self { client: client(&server, "test"), server, clashes, start: Instant::now(), _nodes: nodes }
    }

    /// Starts all loops.
    pub(crate) fn control(&self, settings: Settings) -> Running {
        let (stop, mut stopped) = watch::channel(false);
        let controllers =
            Controllers::new(client(&self.server, "controller"), settings).randomness(Randomness::seeded(3));
        let controllers = controllers.clock(Arc::new(VirtualClock(self.start)));
        let task = tokio::spawn(async move {
            let until = async move { drop(stopped.wait_for(|stopped| *stopped).await) };
            controllers.run(until).await.unwrap();
        });
        Running { stop, task }
    }

    pub(crate) async fn create_fleet(&self, replicas: i32) {
        let fleet: Fleet = serde_json::from_value(fleet(replicas)).unwrap();
        Api::<Fleet>::namespaced(self.client.clone(), "default").create(&fleet).await.unwrap();
    }

    pub(crate) fn fleet(&self) -> Option<Fleet> {
        let fleet = self.server.stored("fleets.agones.dev", "default/simple")?;
        Some(serde_json::from_value(fleet).unwrap())
    }

    /// Waits until something holds, for so many virtual seconds at most.
    pub(crate) async fn until(&self, seconds: u64, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while !holds(self) {
            if Instant::now() >= deadline {
                let servers = self.servers().await;
                let mut states = std::collections::BTreeMap::<String, usize>::new();
                for server in &servers {
                    *states.entry(server.status.state.to_string()).or_default() += 1;
                }
                panic!(
                    "{what}: not within {seconds} s: {states:?}, {:?}",
                    self.fleet().map(|fleet| fleet.status)
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The requests that were not to read, and not the nodes'.
    pub(crate) fn writes(&self) -> Vec<Seen> {
        self.server.seen().into_iter().filter(|seen| seen.method != "GET").collect()
    }

    pub(crate) async fn servers(&self) -> Vec<GameServer> {
        let api = Api::<GameServer>::namespaced(self.client.clone(), "default");
        let mut list = api.list(&lariat::client::ListParams::default()).await.unwrap();
        let mut servers = Vec::new();
        while let Some(item) = list.next().await.unwrap() {
            if let lariat::client::Item::Object(server) = item {
                servers.push(server);
            }
        }
        servers
    }

    pub(crate) async fn scale(&self, replicas: i32) {
        self.change_fleet(|fleet| fleet.spec.replicas = replicas).await;
    }

    /// Changes a label of the template.
    pub(crate) async fn change_label(&self, key: &str, value: &str) {
        self.change_fleet(|fleet| {
            let mut template = fleet.spec.template.get().unwrap().clone();
            template.metadata.labels.insert(key.to_owned(), value.to_owned());
            fleet.spec.template = Verbatim::of(template).unwrap().into();
        })
        .await;
    }

    /// Others write the fleet, too.
    async fn change_fleet(&self, change: impl Fn(&mut Fleet)) {
        let api = Api::<Fleet>::namespaced(self.client.clone(), "default");
        loop {
            let mut fleet = api.get(&ObjectKey::new("default", "simple")).await.unwrap();
            change(&mut fleet);
            match api.update(&fleet).await {
                Err(error) if error.is_conflict() => {}
                other => return drop(other.unwrap()),
            }
        }
    }

    pub(crate) async fn pods(&self) -> usize {
        let api =
            Api::<DynamicObject>::of_kind(self.client.clone(), Kind::namespaced("", "v1", "Pod", "pods"), "");
        let mut list = api.list(&lariat::client::ListParams::default()).await.unwrap();
        let mut pods = 0;
        while list.next().await.unwrap().is_some() {
            pods += 1;
        }
        pods
    }
}

/// The time of day, which goes with the time of the runtime.
struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.0.elapsed()
    }
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap();
    }
}

fn client(server: &ApiServer, name: &str) -> Client {
    let pipes = server.clone();
    let connector = move |_: &http::Uri| std::future::ready(Ok(pipes.connect()));
    let config = Config::new("http://in-process".parse().unwrap()).unwrap();
    Client::builder(config).connector(connector).user_agent(name).unwrap().build().unwrap()
}

/// Settings with an image for the sidecar, without which no pod is valid.
pub(crate) fn settings() -> Settings {
    let pods = PodSettings { sidecar_image: "example.com/sdk-server:1".into(), ..PodSettings::default() };
    Settings { pods, ..Settings::default() }
}

pub(crate) fn fleet(replicas: i32) -> Value {
    json!({
        "apiVersion": "agones.dev/v1", "kind": "Fleet",
        "metadata": {"name": "simple", "namespace": "default"},
        "spec": {
            "replicas": replicas, "scheduling": "Packed",
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"metadata": {"labels": {"game": "simple"}}, "spec": {
                "ports": [{"name": "default", "containerPort": 7654}],
                "template": {"spec": {"containers": [{"name": "game", "image": "example.com/game:1"}]}},
            }},
        },
    })
}
