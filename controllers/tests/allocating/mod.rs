//! An embedded API server with game servers, and the allocation API on it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat::api::{Randomness, SystemClock};
use lariat::prelude::*;
use lariat_apiserver::ApiServer;
use lariat_controllers::allocation::{AllocationApi, Allocator, AllocatorSettings};
use lariat_controllers::events::{EventType, Recorder};
use lariat_controllers::gameservers::{PerNodeCounter, Writes};
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::types::GameServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

pub(crate) const PATH: &str = "/apis/allocation.agones.dev/v1/namespaces/default/gameserverallocations";

#[derive(Clone)]
pub(crate) struct Allocating {
    /// Where allocations are asked for.
    front: ApiServer,
    /// Where the servers are.
    pub(crate) api: ApiServer,
    events: Arc<Mutex<Vec<String>>>,
    stop: watch::Sender<bool>,
    gates: FeatureGates,
    wait: Duration,
}

pub(crate) fn server(name: &str, state: &str) -> Value {
    json!({
        "apiVersion": "agones.dev/v1", "kind": "GameServer",
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {"template": {}}, "status": {"state": state},
    })
}

impl Allocating {
    pub(crate) async fn new(servers: impl IntoIterator<Item = Value>) -> Self {
        Self::with(servers, FeatureGates::default(), AllocatorSettings::default().batch_wait).await
    }

    pub(crate) async fn with(
        servers: impl IntoIterator<Item = Value>,
        gates: FeatureGates,
        wait: Duration,
    ) -> Self {
        let api = ApiServer::builder().randomness(Randomness::seeded(1)).build();
        for definition in lariat_controllers::definitions::all() {
            api.define(definition).unwrap();
        }
        for server in servers {
            api.put("gameservers.agones.dev", server);
        }
        Self::on(api.clone(), api, gates, wait).await
    }

    /// Another allocator of the same servers, with a cache of its own, as another process has it.
    pub(crate) async fn another(&self) -> Self {
        Self::on(ApiServer::builder().build(), self.api.clone(), self.gates, self.wait).await
    }

    async fn on(front: ApiServer, api: ApiServer, gates: FeatureGates, wait: Duration) -> Self {
        let loopback = api.loopback();
        let connector = move |_: &http::Uri| std::future::ready(loopback.connect());
        let config = Config::new("http://in-process".parse().unwrap()).unwrap();
        let client = Client::builder(config).connector(connector).build().unwrap();
        let informer = Informer::<GameServer>::builder(Api::all(client.clone())).build();
        let counts = PerNodeCounter::default();
        informer.add_handler(counts.clone()).unwrap();
        let events = Arc::<Mutex<Vec<String>>>::default();
        let told = events.clone();
        let recorder = Recorder::new("test", move |record| {
            let kind = if record.kind == EventType::Normal { "Normal" } else { "Warning" };
            told.lock().unwrap().push(format!("{kind} {}", record.reason));
        });
        let (allocator, batches) = Allocator::new(
            Arc::new(Writes::new(client, &informer)),
            counts,
            AllocatorSettings { gates, batch_wait: wait },
            &recorder,
            Randomness::seeded(2),
            Arc::new(SystemClock),
        );
        front.aggregate(AllocationApi::new(allocator)).unwrap();
        let (stop, mut stopped) = watch::channel(false);
        tokio::spawn(async move {
            tokio::select! {
                () = informer.run(std::future::pending()) => {}
                () = batches.run(async move { drop(stopped.wait_for(|stopped| *stopped).await) }) => {}
            }
        });
        // Until the cache is full.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self { front, api, events, stop, gates, wait }
    }

    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(crate) async fn post(&self, body: &Value) -> (u16, Value) {
        self.send("POST", PATH, "application/json", &body.to_string()).await
    }

    /// The answers to so many who ask at once.
    pub(crate) async fn all_of(&self, callers: usize, body: &Value) -> Vec<Value> {
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..callers {
            let (cluster, body) = (self.clone(), body.clone());
            asking.spawn(async move { cluster.post(&body).await.1 });
        }
        asking.join_all().await
    }

    /// Sends a request over a connection of its own: the code and the body.
    pub(crate) async fn send(&self, method: &str, path: &str, media_type: &str, body: &str) -> (u16, Value) {
        let mut stream = self.front.connect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {media_type}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer[9..12].parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (code, serde_json::from_str(body).unwrap_or_default())
    }

    /// What users were told of.
    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    /// How often servers were written.
    pub(crate) fn writes(&self) -> usize {
        let seen = self.api.seen();
        seen.iter().filter(|seen| seen.method == "PUT" && seen.target.contains("/gameservers/")).count()
    }

    pub(crate) fn stored(&self, name: &str) -> Value {
        self.api.stored("gameservers.agones.dev", &format!("default/{name}")).unwrap()
    }

    pub(crate) fn state_of(&self, name: &str) -> String {
        self.stored(name)["status"]["state"].as_str().unwrap().to_owned()
    }
}
