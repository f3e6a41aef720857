//! The parts of a system: server, nodes, loops, players.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lariat::api::Randomness;
use lariat::client::{Item, ListParams};
use lariat::prelude::*;
use lariat_apiserver::ApiServer;
use lariat_controllers::allocation::{Allocator, AllocatorSettings};
use lariat_controllers::controllers::{Controllers, Settings};
use lariat_controllers::events::Recorder;
use lariat_controllers::gameservers::{PerNodeCounter, PodSettings, Writes};
use lariat_controllers::simulated::{NodeSettings, SimulatedNodes};
use lariat_controllers::types::{Fleet, GameServer, GameServerAllocation};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::virtual_clock::VirtualClock;

/// More than all servers together need.
const NODES: usize = 4;

pub(crate) struct World {
    pub(crate) server: ApiServer,
    /// Whoever uses kubectl: no fault concerns them.
    pub(crate) user: Client,
    pub(crate) clashes: Arc<dyn Fn() -> u64 + Send + Sync>,
    clock: VirtualClock,
    randomness: Randomness,
    loops: Option<Loops>,
    players: Allocator,
    _tasks: Vec<Task>,
}

/// A task that ends with its owner.
struct Task(JoinHandle<()>);

struct Loops {
    stop: watch::Sender<bool>,
    task: Task,
}

impl World {
    pub(crate) async fn new(seed: u64) -> Self {
        let randomness = Randomness::seeded(seed);
        let clock = VirtualClock::new();
        // Few events are kept, so that a watch that is away for a while is too old.
        let server = ApiServer::builder().event_window(600).clock(clock);
        let server = server.randomness(Randomness::seeded(randomness.below(u64::MAX))).build();
        for definition in lariat_controllers::definitions::all() {
            server.define(definition).unwrap_or_else(|status| unreachable!("{status:?}"));
        }
        let settings = NodeSettings { count: NODES, ..NodeSettings::default() };
        let nodes = Randomness::seeded(randomness.below(u64::MAX));
        let nodes = SimulatedNodes::new(client(&server, "nodes"), settings, nodes).clock(Arc::new(clock));
        let clashes = Arc::new(nodes.clashes());
        let nodes = task(async move { drop(nodes.run(std::future::pending()).await) });
        let (players, caches) = players(&server, clock, &randomness);
        let user = client(&server, "user");
        Self { server, user, clashes, clock, randomness, loops: None, players, _tasks: vec![nodes, caches] }
    }

    pub(crate) fn client(&self, name: &str) -> Client {
        client(&self.server, name)
    }

    /// Begins to run all loops, unless they run.
    pub(crate) fn control(&mut self) {
        if self.loops.is_some() {
            return;
        }
        let pods = PodSettings { sidecar_image: "example.com/sdk-server:1".into(), ..PodSettings::default() };
        let settings = Settings { pods, ..Settings::default() };
        let (stop, mut stopped) = watch::channel(false);
        let controllers = Controllers::new(self.client("controller"), settings)
            .randomness(Randomness::seeded(self.randomness.below(u64::MAX)))
            .clock(Arc::new(self.clock));
        let until = async move { drop(stopped.wait_for(|stopped| *stopped).await) };
        let task = task(async move { drop(controllers.run(until).await) });
        self.loops = Some(Loops { stop, task });
    }

    /// Lets the loops finish what they do, for a while, and then kills them.
    pub(crate) async fn stop(&mut self) {
        let Some(mut loops) = self.loops.take() else { return };
        loops.stop.send_replace(true);
        drop(tokio::time::timeout(Duration::from_secs(30), &mut loops.task.0).await);
    }

    /// Kills the loops wherever they are.
    pub(crate) fn kill(&mut self) {
        self.loops = None;
    }

    /// A pair of players asks for a server, and gets its name if there is one.
    pub(crate) async fn allocate(&self) -> Option<String> {
        let allocation: GameServerAllocation = object(json!({
            "metadata": {"namespace": "default"},
            "spec": {"selectors": [{"matchLabels": {"agones.dev/fleet": "simple"}}]},
        }))?;
        let asked = tokio::time::timeout(Duration::from_secs(10), self.players.allocate(allocation)).await;
        let status = asked.ok()?.ok()?.status;
        (status.state == "Allocated").then_some(status.game_server_name)
    }

    /// All objects of a type in the namespace.
    pub(crate) async fn list<K: Resource + DeserializeOwned>(&self) -> Vec<K> {
        let mut objects = Vec::new();
        let api = Api::<K>::namespaced(self.user.clone(), "default");
        let Ok(mut list) = api.list(&ListParams::default()).await else { return objects };
        while let Ok(Some(item)) = list.next().await {
            if let Item::Object(object) = item {
                objects.push(object);
            }
        }
        objects
    }

    /// Changes the fleet. Others write it, too.
    pub(crate) async fn change_fleet(&self, change: impl Fn(&mut Fleet)) {
        let api = Api::<Fleet>::namespaced(self.user.clone(), "default");
        while let Ok(mut fleet) = api.get(&ObjectKey::new("default", "simple")).await {
            change(&mut fleet);
            match api.update(&fleet).await {
                Err(error) if error.is_conflict() => {}
                _ => return,
            }
        }
    }

    /// Changes a server as its game would by the SDK, or says that it is gone.
    pub(crate) async fn change_server(&self, name: &str, change: impl Fn(&mut GameServer) -> bool) -> bool {
        let api = Api::<GameServer>::namespaced(self.user.clone(), "default");
        while let Ok(mut server) = api.get(&ObjectKey::new("default", name)).await {
            if !change(&mut server) {
                return false;
            }
            match api.update(&server).await {
                Err(error) if error.is_conflict() => {}
                other => return other.is_ok(),
            }
        }
        false
    }
}

/// Of what is written here, so that it has its form.
pub(crate) fn object<T: DeserializeOwned>(value: serde_json::Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn task(work: impl Future<Output = ()> + Send + 'static) -> Task {
    Task(tokio::spawn(work))
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Players ask by the same library as the loops, and are under test as they are.
fn players(server: &ApiServer, clock: VirtualClock, randomness: &Randomness) -> (Allocator, Task) {
    let client = client(server, "controller-players");
    let randomness = Randomness::seeded(randomness.below(u64::MAX));
    let servers = Informer::<GameServer>::builder(Api::all(client.clone()));
    let servers = servers.consistent_start(true).randomness(randomness.clone()).build();
    let counts = PerNodeCounter::default();
    drop(servers.add_handler(counts.clone()));
    let writes = Arc::new(Writes::new(client, &servers));
    let events = Recorder::new("players", |_| {});
    let settings = AllocatorSettings::default();
    let (allocator, batches) = Allocator::new(writes, counts, settings, &events, randomness, Arc::new(clock));
    let working = async move {
        tokio::join!(servers.run(std::future::pending()), batches.run(std::future::pending()));
    };
    (allocator, task(working))
}

fn client(server: &ApiServer, name: &str) -> Client {
    let pipes = server.clone();
    let connector = move |_: &http::Uri| std::future::ready(pipes.try_connect());
    let client = Config::new(http::Uri::from_static("http://in-process"))
        .ok()
        .and_then(|config| Client::builder(config).connector(connector).user_agent(name).ok()?.build().ok());
    client.unwrap_or_else(|| unreachable!("the address and the name are good"))
}
