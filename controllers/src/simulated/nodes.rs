use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat::api::{Clock, DynamicObject, Kind, Metadata, Randomness, SystemClock};
use lariat::client::Error;
use lariat::prelude::*;
use lariat::reflector::Stopped;
use serde_json::{Value, json};

use super::fate::Sessions;
use super::placement::Placement;
use crate::gameservers::Writes;
use crate::keys::{Failure, add, queue, work};
use crate::time::rfc3339;
use crate::types::{GameServer, GameServerState, Pod, PodIp};

/// What simulated nodes are like.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// How many there are; 20 if nothing is given.
    pub count: usize,
    /// What their names begin with; `lariat-node-` if nothing is given.
    pub prefix: String,
    /// How long a pod takes to run; nothing if nothing is given.
    pub start_delay: Duration,
    /// How many of a million running pods fail each second, as if their game had crashed; none if nothing is given.
    pub failures_per_million: u64,
    /// How many of a million running pods are evicted each second; none if nothing is given.
    pub evictions_per_million: u64,
    /// How many of a million running pods vanish each second, as with their node; none if nothing is given.
    pub vanishing_per_million: u64,
    /// How long players play on a server that was allocated. They play for ever if nothing is given.
    pub session: Option<Duration>,
    /// How many pods are seen to at once; 16 if nothing is given.
    pub workers: usize,
}

/// Nodes that only seem to be there.
///
/// # Example
///
/// ```no_run
/// use lariat::api::Randomness;
/// use lariat::prelude::*;
/// use lariat_controllers::simulated::{NodeSettings, SimulatedNodes};
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let nodes = SimulatedNodes::new(client, NodeSettings::default(), Randomness::from_os());
/// nodes.run(shutdown).await?;
/// # Ok(())
/// # }
/// ```
pub struct SimulatedNodes {
    client: Client,
    settings: NodeSettings,
    randomness: Randomness,
    clock: Arc<dyn Clock>,
    told: Arc<Told>,
}

/// What the nodes have seen.
#[derive(Debug, Default)]
struct Told {
    clashes: AtomicU64,
}

/// Why nodes cannot seem to be there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodesError {
    /// A request failed.
    #[error("{0}")]
    Request(#[from] Error),
    /// An informer has stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// An object is not as the API has them.
    #[error("{0}")]
    Encode(#[from] serde_json::Error),
}

impl Failure for NodesError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }
}

const FAST: Duration = Duration::from_millis(20);
const SLOW: Duration = Duration::from_millis(500);

/// How soon a pod is looked at again for which there is no node.
const CROWDED: Duration = Duration::from_secs(1);

/// How often pods may fail.
pub(super) const TICK: Duration = Duration::from_secs(1);

const NODES: Kind = Kind::cluster("", "v1", "Node", "nodes");
const BINDINGS: Kind = Kind::namespaced("", "v1", "Binding", "bindings");

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            count: 20,
            prefix: "lariat-node-".to_owned(),
            start_delay: Duration::ZERO,
            failures_per_million: 0,
            evictions_per_million: 0,
            vanishing_per_million: 0,
            session: None,
            workers: 16,
        }
    }
}

impl SimulatedNodes {
    /// Nodes of an API server.
    pub fn new(client: Client, settings: NodeSettings, randomness: Randomness) -> Self {
        Self { client, settings, randomness, clock: Arc::new(SystemClock), told: Arc::default() }
    }

    /// Takes the time of day from `clock`; the system's if nothing is given.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// A count of pods that were on a node with a port that another pod had there: 0 if all is well. It grows while the nodes run.
    pub fn clashes(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let told = self.told.clone();
        move || told.clashes.load(Ordering::Relaxed)
    }

    /// Makes the nodes and runs pods on them until `shutdown` is ready. The nodes stay.
    ///
    /// # Errors
    ///
    /// If the nodes cannot be made.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves pods as they are.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), NodesError> {
        let names: Vec<String> =
            (0..self.settings.count).map(|number| format!("{}{number}", self.settings.prefix)).collect();
        for (number, name) in names.iter().enumerate() {
            make_node(&self.client, name, number).await?;
        }
        let pods = Informer::<Pod>::builder(Api::all(self.client.clone())).resync_period(TICK * 30);
        let pods = pods.randomness(self.randomness.clone()).build();
        let servers = Informer::<GameServer>::builder(Api::all(self.client.clone()));
        let servers = servers.randomness(self.randomness.clone()).build();
        let of_pods = queue("simulated-pods", FAST, SLOW, &Arc::default());
        let of_servers = queue("simulated-servers", FAST, SLOW, &Arc::default());
        let sessions = Arc::new(Sessions::of(self.settings.session));
        let seen = Arc::new(Seen {
            pods: pods.lister(),
            servers: Writes::new(self.client.clone(), &servers),
            sessions: sessions.clone(),
            pod_api: Api::all(self.client.clone()),
            bindings: Api::of_kind(self.client.clone(), BINDINGS, ""),
            client: self.client.clone(),
            placement: Mutex::new(Placement::new(names)),
            settings: self.settings.clone(),
            randomness: self.randomness,
            clock: self.clock,
            told: self.told,
        });
        pods.add_handler(OnPods { pods: of_pods.clone(), servers: of_servers.clone(), seen: seen.clone() })?;
        servers.add_handler(OnServers { queue: of_servers.clone(), sessions })?;
        let workers = self.settings.workers;
        let run_pods = {
            let (seen, again) = (seen.clone(), of_pods.clone());
            work(&of_pods, workers, move |key: ObjectKey| {
                let (seen, again) = (seen.clone(), again.clone());
                async move { seen.sync_pod(&key, &again).await }
            })
        };
        let run_servers = {
            let (seen, again) = (seen.clone(), of_servers.clone());
            work(&of_servers, workers, move |key: ObjectKey| {
                let (seen, again) = (seen.clone(), again.clone());
                async move { seen.sync_server(&key, &again).await }
            })
        };
        let misfortune = seen.misfortune();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let follow = |mut stopped: tokio::sync::watch::Receiver<bool>| async move {
            drop(stopped.wait_for(|stopped| *stopped).await);
        };
        let ending = async {
            shutdown.await;
            of_pods.shut_down();
            of_servers.shut_down();
            tokio::join!(run_pods, run_servers);
            stop.send_replace(true);
        };
        tokio::select! {
            biased;
            ((), (), ()) = async {
                tokio::join!(pods.run(follow(stopped.clone())), servers.run(follow(stopped)), ending)
            } => {}
            () = misfortune => {}
        }
        Ok(())
    }
}

impl std::fmt::Debug for SimulatedNodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulatedNodes").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Makes a node, or finds it made.
async fn make_node(client: &Client, name: &str, number: usize) -> Result<(), NodesError> {
    let api = Api::<DynamicObject>::of_kind(client.clone(), NODES, "");
    let address = |first: u8| format!("{first}.{}.{}.1", number / 250 % 250, number % 250);
    let status = json!({
        "addresses": [
            {"type": "InternalIP", "address": address(10)},
            {"type": "ExternalIP", "address": address(20)},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
        "capacity": {"cpu": "64", "memory": "256Gi", "pods": "110"},
        "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"},
    });
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "status": status,
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "lariat/simulated": "true"}},
    });
    let node: DynamicObject = serde_json::from_value(node)?;
    let mut made = match api.create(&node).await {
        Ok(made) => made,
        Err(error) if error.is_already_exists() => api.get(&ObjectKey::new("", name)).await?,
        Err(error) => return Err(error.into()),
    };
    made.other.insert("status".to_owned(), status);
    match api.update_status(&made).await {
        Ok(_) => Ok(()),
        // Somebody else writes the same node: it is there.
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What the workers share.
pub(super) struct Seen {
    pub(super) pods: Lister<Pod>,
    servers: Writes<GameServer>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) pod_api: Api<Pod>,
    bindings: Api<DynamicObject>,
    client: Client,
    placement: Mutex<Placement>,
    pub(super) settings: NodeSettings,
    pub(super) randomness: Randomness,
    clock: Arc<dyn Clock>,
    told: Arc<Told>,
}

impl Seen {
    async fn sync_pod(&self, key: &ObjectKey, again: &Queue<ObjectKey>) -> Result<(), NodesError> {
        let Ok(pod) = self.pods.get(key) else { return Ok(()) };
        if pod.metadata.is_being_deleted() {
            return self.remove(&pod).await;
        }
        if pod.spec.node_name.is_empty() {
            let node = self.placement().place(pod.uid(), host_ports(&pod)).map(str::to_owned);
            match node {
                Some(node) => return self.bind(&pod, &node).await,
                None => again.add_after(key.clone(), CROWDED),
            }
            return Ok(());
        }
        let is_ours = pod.spec.node_name.starts_with(&self.settings.prefix);
        if is_ours && matches!(pod.status.phase.as_str(), "" | "Pending") {
            if !self.settings.start_delay.is_zero() {
                tokio::time::sleep(self.settings.start_delay).await;
            }
            return self.start(&pod).await;
        }
        Ok(())
    }

    async fn bind(&self, pod: &Pod, node: &str) -> Result<(), NodesError> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": pod.name(), "namespace": pod.namespace(), "uid": pod.uid()},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let bound = self.bindings.create(&serde_json::from_value(binding)?).await;
        match bound {
            // Bound before, or gone.
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
            other => other.map(drop).map_err(NodesError::Request),
        }
    }

    async fn start(&self, pod: &Pod) -> Result<(), NodesError> {
        let mut running = pod.clone();
        let number = self.randomness.below(1 << 24);
        let ip = format!("172.{}.{}.{}", 16 + (number >> 20), number >> 12 & 255, number >> 4 & 255);
        let now = rfc3339(self.clock.wall());
        let containers = running.spec.other.get("containers").and_then(Value::as_array);
        let statuses = containers.into_iter().flatten().map(|container| {
            json!({
                "name": container["name"], "ready": true, "started": true, "restartCount": 0,
                "image": container["image"], "imageID": "", "containerID": format!("simulated://{}", pod.uid()),
                "state": {"running": {"startedAt": now}}, "lastState": {},
            })
        });
        running.status.container_statuses = serde_json::from_value(statuses.collect())?;
        "Running".clone_into(&mut running.status.phase);
        running.status.pod_ips = vec![PodIp { ip: ip.clone() }];
        running.status.other.insert("podIP".to_owned(), ip.into());
        running.status.other.insert("startTime".to_owned(), now.into());
        self.write_status(&running).await
    }

    pub(super) async fn write_status(&self, pod: &Pod) -> Result<(), NodesError> {
        match self.pod_api.update_status(pod).await {
            // The next event brings the pod back here.
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
            other => other.map(drop).map_err(NodesError::Request),
        }
    }

    /// A kubelet ends a pod's grace by deleting it without any.
    async fn remove(&self, pod: &Pod) -> Result<(), NodesError> {
        let path = format!("pods/{}/eviction", pod.name());
        let evictions = Kind::new("", "v1", "Eviction", path, true);
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod.name(), "namespace": pod.namespace()},
            "deleteOptions": {"gracePeriodSeconds": 0},
        });
        let api = Api::<DynamicObject>::of_kind(self.client.clone(), evictions, "");
        match api.create(&serde_json::from_value(eviction)?).await {
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
            other => other.map(drop).map_err(NodesError::Request),
        }
    }

    /// What the SDK does when a game says that it is ready.
    async fn sync_server(&self, key: &ObjectKey, again: &Queue<ObjectKey>) -> Result<(), NodesError> {
        let Some(server) = self.servers.get(key) else { return Ok(()) };
        match self.sessions.note(&server) {
            Some(Duration::ZERO) => return self.leave(&server).await,
            // Whoever looked at it in between has ended the wait.
            Some(left) => again.add_after(key.clone(), left),
            None => {}
        }
        let runs =
            self.pods.get(key).is_ok_and(|pod| pod.status.phase == "Running" && pod.belongs_to(&server));
        if server.status.state != GameServerState::Scheduled || !runs || server.metadata.is_being_deleted() {
            return Ok(());
        }
        let mut ready = GameServer::clone(&server);
        ready.status.state = GameServerState::RequestReady;
        self.write_server(&ready).await
    }

    pub(super) async fn write_server(&self, server: &GameServer) -> Result<(), NodesError> {
        match self.servers.update(server).await {
            // The next event brings the server back here.
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
            other => other.map(drop).map_err(NodesError::Request),
        }
    }

    fn placement(&self) -> std::sync::MutexGuard<'_, Placement> {
        self.placement.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ports on the node that a pod asks for.
fn host_ports(pod: &Pod) -> BTreeSet<(i64, String)> {
    let containers = ["containers", "initContainers"].into_iter();
    let containers = containers.filter_map(|field| pod.spec.other.get(field)?.as_array()).flatten();
    let ports = containers.filter_map(|container| container["ports"].as_array()).flatten();
    ports
        .filter_map(|port| {
            Some((port["hostPort"].as_i64()?, port["protocol"].as_str().unwrap_or("TCP").to_owned()))
        })
        .collect()
}

struct OnPods {
    pods: Queue<ObjectKey>,
    servers: Queue<ObjectKey>,
    seen: Arc<Seen>,
}

impl OnPods {
    fn changed(&self, pod: &Pod) {
        if !pod.spec.node_name.is_empty()
            && !self.seen.placement().note(pod.uid(), &pod.spec.node_name, host_ports(pod))
        {
            self.seen.told.clashes.fetch_add(1, Ordering::Relaxed);
        }
        add(&self.pods, pod);
        if pod.status.phase == "Running" {
            add(&self.servers, pod);
        }
    }
}

impl EventHandler<Pod> for OnPods {
    fn on_add(&self, pod: &Arc<Pod>, _is_in_initial_list: bool) {
        self.changed(pod);
    }

    fn on_update(&self, _old: &Arc<Pod>, new: &Arc<Pod>) {
        self.changed(new);
    }

    fn on_delete(&self, deleted: &Deleted<Pod>) {
        self.seen.placement().remove(deleted.object().uid());
    }
}

struct OnServers {
    queue: Queue<ObjectKey>,
    sessions: Arc<Sessions>,
}

impl EventHandler<GameServer> for OnServers {
    fn on_add(&self, server: &Arc<GameServer>, _is_in_initial_list: bool) {
        self.changed(server);
    }

    fn on_update(&self, _old: &Arc<GameServer>, new: &Arc<GameServer>) {
        self.changed(new);
    }

    fn on_delete(&self, deleted: &Deleted<GameServer>) {
        self.sessions.end(deleted.object());
    }
}

impl OnServers {
    fn changed(&self, server: &GameServer) {
        if server.status.state == GameServerState::Scheduled {
            add(&self.queue, server);
        }
        if let (Some(left), Ok(key)) = (self.sessions.note(server), server.key()) {
            self.queue.add_after(key, left);
        }
    }
}
