use std::cmp::Ordering;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lariat::api::{Clock, Metadata, ResourceVersion, SystemClock};
use lariat::prelude::*;
use lariat::reflector::Stopped;
use lariat::workqueue::{Metrics, Queue};

use super::cache::Writes;
use super::context::{Context, Outcome, SyncError};
use super::migration::{Doubts, Migrated};
use super::missing_pod::should_have_pod;
use super::ports::PortAllocator;
use super::predicates::{has_succeeded, is_unhealthy};
use super::settings::PodSettings;
use crate::events::Recorder;
use crate::gates::{FeatureGates, Gate};
use crate::keys::{KeyLocks, LateMetrics, add, queue, work};
use crate::types::{GameServer, GameServerState, Node, Pod};

/// The loops of game servers: creation, deletion, all else, and those that watch over them.
///
/// The informers are run by somebody else. They should resync now and then (30 s is the original's): that is when servers are
/// looked at whose pods are missing or have moved.
///
/// # Example
///
/// ```no_run
/// use std::sync::Arc;
/// use lariat::api::Randomness;
/// use lariat::prelude::*;
/// use lariat_controllers::events::Recorder;
/// use lariat_controllers::gameservers::ports::{PortAllocator, PortRange};
/// use lariat_controllers::gameservers::{GameServers, PodSettings, Writes};
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let factory = InformerFactory::new(client.clone());
/// let servers = factory.informer();
/// let writes = Arc::new(Writes::new(client.clone(), &servers));
/// let range = PortRange { min: 7_000, max: 8_000 };
/// let ports = PortAllocator::new([("default".to_owned(), range)], Randomness::from_os())?;
/// let settings = PodSettings { sidecar_image: "sdk-server:1".into(), ..PodSettings::default() };
/// let events = Recorder::new("gameserver-controller", |record| println!("{}", record.message));
/// let (pods, nodes) = (factory.informer(), factory.informer());
/// let loops = GameServers::new(client, servers, pods, nodes, writes, ports, settings, &events)?;
/// factory.start();
/// loops.run(shutdown).await;
/// # Ok(())
/// # }
/// ```
pub struct GameServers {
    context: Context,
    servers: Informer<GameServer>,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    queues: Queues,
    metrics: Arc<LateMetrics>,
    doubts: Arc<Doubts>,
    workers: usize,
}

/// How soon a server is looked at again after a failure: at first, and after five of them.
const FAST: Duration = Duration::from_millis(20);
const SLOW: Duration = Duration::from_millis(500);

/// How many servers are looked at at once in each queue, unless told otherwise.
const DEFAULT_WORKERS: usize = 64;

#[derive(Debug, Clone)]
struct Queues {
    creation: Queue<ObjectKey>,
    deletion: Queue<ObjectKey>,
    main: Queue<ObjectKey>,
    health: Queue<ObjectKey>,
    migration: Queue<ObjectKey>,
    missing_pod: Queue<ObjectKey>,
    succeeded: Queue<ObjectKey>,
}

/// How soon a server is looked at again whose pod may only be unknown yet.
const BEHIND: Duration = Duration::from_secs(1);

impl GameServers {
    /// Loops on three informers.
    ///
    /// # Errors
    ///
    /// If an informer has stopped.
    #[allow(clippy::too_many_arguments)] // each is a part of its own that the caller shares with other loops
    pub fn new(
        client: Client,
        servers: Informer<GameServer>,
        pods: Informer<Pod>,
        nodes: Informer<Node>,
        writes: Arc<Writes<GameServer>>,
        ports: PortAllocator,
        settings: PodSettings,
        events: &Recorder,
    ) -> Result<Self, Stopped> {
        let context = Context {
            gates: FeatureGates::default(),
            settings: Arc::new(settings),
            servers: writes,
            pods: pods.lister(),
            nodes: nodes.lister(),
            pod_api: Api::of_kind(client, Pod::KIND, ""),
            ports: Arc::new(ports),
            events: events.of("gameserver-controller"),
            clock: Arc::new(SystemClock),
        };
        let metrics = Arc::default();
        let queue = |name| queue(name, FAST, SLOW, &metrics);
        let queues = Queues {
            creation: queue("gameserver-creation"),
            deletion: queue("gameserver-deletion"),
            main: queue("gameserver"),
            health: queue("gameserver-health"),
            migration: queue("gameserver-migration"),
            missing_pod: queue("gameserver-missing-pod"),
            succeeded: queue("gameserver-succeeded"),
        };
        let doubts = Arc::new(Doubts::default());
        Ok(Self { context, servers, pods, nodes, queues, metrics, doubts, workers: DEFAULT_WORKERS })
    }

    /// Has these features on; the default ones if nothing is given.
    #[must_use]
    pub fn gates(mut self, gates: FeatureGates) -> Self {
        self.context.gates = gates;
        self
    }

    /// Looks at this many servers at once in each queue; 64 if nothing is given.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Takes the time of day from `clock`; the system's if nothing is given.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.context.clock = clock;
        self
    }

    /// Counts what happens in the queues with `metrics`; nobody does if nothing is given.
    #[must_use]
    pub fn queue_metrics(self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics.tell(metrics);
        self
    }

    /// The queues, for those who want to know how they are.
    pub fn queues(&self) -> Vec<Queue<ObjectKey>> {
        self.queues.all().map(Queue::clone).into()
    }

    /// The host ports that are given out.
    pub fn ports(&self) -> Arc<PortAllocator> {
        self.context.ports.clone()
    }

    /// Works until `shutdown` is ready, then returns when what was begun is finished.
    ///
    /// Nothing is done before the caches hold their first lists: the ports of all servers have to be known before one is
    /// given out.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is; a server goes on from the state that was written last.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { context, servers, pods, nodes, queues, doubts, workers, .. } = self;
        let mut shutdown = std::pin::pin!(shutdown);
        let synced = async {
            servers.wait_for_sync().await;
            pods.wait_for_sync().await;
            nodes.wait_for_sync().await;
        };
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = synced => {}
        }
        let known = servers.lister().store().list();
        let of_nodes = nodes.lister().store().list();
        context.ports.sync(of_nodes.iter().map(|node| &**node), known.iter().map(|server| &**server));

        let on_servers =
            OnServers { context: context.clone(), queues: queues.clone(), doubts: doubts.clone() };
        let on_pods = OnPods { context: context.clone(), queues: queues.clone() };
        let on_nodes = OnNodes { context: context.clone(), queues: queues.clone() };
        let added = (servers.add_handler(on_servers), pods.add_handler(on_pods), nodes.add_handler(on_nodes));
        let (Ok(of_servers), Ok(of_pods), Ok(of_nodes)) = added else { return };
        // Servers that went between the two would never be heard of.
        let known = servers.lister().store().list();
        context.ports.retain(&known.iter().map(|server| server.uid().to_owned()).collect());

        let locks = Arc::new(KeyLocks::default());
        let main = |queue: &Queue<ObjectKey>| {
            let (context, locks) = (context.clone(), locks.clone());
            work(queue, workers, move |key: ObjectKey| {
                let (context, locks) = (context.clone(), locks.clone());
                async move {
                    let _held = locks.hold(&key).await;
                    settled(context.sync(&key).await)
                }
            })
        };
        let creation = main(&queues.creation);
        let deletion = main(&queues.deletion);
        let others = main(&queues.main);
        let health = {
            let (context, locks) = (context.clone(), locks.clone());
            let again = queues.health.clone();
            work(&queues.health, workers, move |key: ObjectKey| {
                let (context, locks, again) = (context.clone(), locks.clone(), again.clone());
                async move {
                    let _held = locks.hold(&key).await;
                    let outcome = context.sync_health(&key).await;
                    if let Ok(Outcome::Waiting(_)) = outcome {
                        again.add_after(key, SLOW);
                    }
                    settled(outcome)
                }
            })
        };
        let migration = {
            let (context, locks, doubts) = (context.clone(), locks.clone(), doubts.clone());
            let again = queues.migration.clone();
            work(&queues.migration, workers, move |key: ObjectKey| {
                let (context, locks) = (context.clone(), locks.clone());
                let (doubts, again) = (doubts.clone(), again.clone());
                async move {
                    let _held = locks.hold(&key).await;
                    match context.sync_migration(&key, &doubts).await {
                        Ok(Migrated::Doubtful(left)) => again.add_after(key, left),
                        Ok(Migrated::Done) => {}
                        Err(error) => return Err(error),
                    }
                    Ok(())
                }
            })
        };
        let missing_pod = {
            let (context, locks) = (context.clone(), locks.clone());
            let (pods, again) = (pods.clone(), queues.missing_pod.clone());
            work(&queues.missing_pod, workers, move |key: ObjectKey| {
                let (context, locks) = (context.clone(), locks.clone());
                let (pods, again) = (pods.clone(), again.clone());
                async move {
                    let _held = locks.hold(&key).await;
                    let server = context.servers.get(&key);
                    if server.is_some_and(|server| may_not_know_pod_of(&pods, &server)) {
                        again.add_after(key, BEHIND);
                        return Ok(());
                    }
                    settled(context.sync_missing_pod(&key).await)
                }
            })
        };
        let succeeded = {
            let (context, locks) = (context.clone(), locks.clone());
            work(&queues.succeeded, workers, move |key: ObjectKey| {
                let (context, locks) = (context.clone(), locks.clone());
                async move {
                    let _held = locks.hold(&key).await;
                    settled(context.sync_succeeded(&key).await)
                }
            })
        };

        shutdown.await;
        servers.remove_handler(&of_servers);
        pods.remove_handler(&of_pods);
        nodes.remove_handler(&of_nodes);
        queues.shut_down();
        tokio::join!(creation, deletion, others, health, migration, missing_pod, succeeded);
    }
}

impl std::fmt::Debug for GameServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GameServers").field("workers", &self.workers).finish_non_exhaustive()
    }
}

/// Whoever waits is told when what it waits for comes.
/// Whether the cache of pods is older than the server: then it need not have heard of a pod that is there. So it is for a while
/// after a start, when a server of the API answers a list from a cache that is behind.
fn may_not_know_pod_of(pods: &Informer<Pod>, server: &GameServer) -> bool {
    let known = pods.last_sync_resource_version();
    ResourceVersion::compare(&known, server.resource_version()).is_ok_and(Ordering::is_lt)
}

fn settled(outcome: Result<Outcome, SyncError>) -> Result<(), SyncError> {
    outcome.map(drop)
}

impl Queues {
    fn route(&self, server: &GameServer) {
        let queue = match server.status.state {
            _ if server.metadata.is_being_deleted() => &self.main,
            GameServerState::None | GameServerState::PortAllocation | GameServerState::Creating => {
                &self.creation
            }
            GameServerState::Shutdown => &self.deletion,
            _ => &self.main,
        };
        add(queue, server);
    }

    fn all(&self) -> [&Queue<ObjectKey>; 7] {
        let Self { creation, deletion, main, health, migration, missing_pod, succeeded } = self;
        [creation, deletion, main, health, migration, missing_pod, succeeded]
    }

    fn shut_down(&self) {
        self.all().into_iter().for_each(Queue::shut_down);
    }
}

struct OnServers {
    context: Context,
    queues: Queues,
    doubts: Arc<Doubts>,
}

impl OnServers {
    fn look_for_pod(&self, server: &GameServer) {
        let Ok(key) = server.key() else { return };
        if should_have_pod(server) && !self.context.pods.get(&key).is_ok_and(|pod| pod.is_game_server_pod()) {
            self.queues.missing_pod.add(key);
        }
    }
}

impl EventHandler<GameServer> for OnServers {
    fn on_add(&self, server: &Arc<GameServer>, _is_in_initial_list: bool) {
        self.queues.route(server);
        // Pods that vanished while nobody looked (issues 1170, 1102).
        self.look_for_pod(server);
    }

    fn on_update(&self, old: &Arc<GameServer>, new: &Arc<GameServer>) {
        if old.status.state != new.status.state || new.metadata.is_being_deleted() {
            self.queues.route(new);
        }
        self.look_for_pod(new);
    }

    fn on_delete(&self, deleted: &Deleted<GameServer>) {
        let server = deleted.object();
        self.context.ports.deallocate(server.uid());
        self.context.servers.deleted(server);
        self.doubts.settle(server.uid());
    }
}

struct OnPods {
    context: Context,
    queues: Queues,
}

impl OnPods {
    fn changed(&self, old: Option<&Pod>, pod: &Pod) {
        let Ok(key) = pod.key() else { return };
        if !pod.is_game_server_pod() {
            return;
        }
        let has_moved = old.is_none_or(|old| {
            old.spec.node_name != pod.spec.node_name || old.status.pod_ips != pod.status.pod_ips
        });
        if has_moved && !pod.spec.node_name.is_empty() {
            self.queues.main.add(key.clone());
        }
        if pod.metadata.is_being_deleted() {
            return;
        }
        if !self.context.gates.has(Gate::SidecarContainers) && old.is_some() {
            // Its containers may be what a server waits for.
            self.queues.main.add(key.clone());
        }
        if is_unhealthy(pod, self.context.gates) {
            self.queues.health.add(key.clone());
        }
        let gates = self.context.gates;
        if gates.has(Gate::SidecarContainers) && has_succeeded(pod, gates) {
            self.queues.succeeded.add(key.clone());
        }
        if !pod.spec.node_name.is_empty() && self.may_have_migrated(&key, pod) {
            self.queues.migration.add(key);
        }
    }

    fn may_have_migrated(&self, key: &ObjectKey, pod: &Pod) -> bool {
        let Some(server) = self.context.servers.get(key) else { return false };
        if server.status.node_name.is_empty() {
            return false;
        }
        server.status.node_name != pod.spec.node_name
            || self
                .context
                .node(&pod.spec.node_name)
                .is_some_and(|node| !super::address::has_address(&node, &server.status.address))
    }
}

impl EventHandler<Pod> for OnPods {
    fn on_add(&self, pod: &Arc<Pod>, _is_in_initial_list: bool) {
        self.changed(None, pod);
    }

    fn on_update(&self, old: &Arc<Pod>, new: &Arc<Pod>) {
        self.changed(Some(old), new);
    }

    fn on_delete(&self, deleted: &Deleted<Pod>) {
        if deleted.object().is_game_server_pod() {
            self.queues.main.add(deleted.key().clone());
            self.queues.health.add(deleted.key().clone());
        }
    }
}

/// Servers wait for nodes that their pods are on and that are not known yet.
struct OnNodes {
    context: Context,
    queues: Queues,
}

impl OnNodes {
    fn changed(&self, node: &Node) {
        for pod in self.context.pods.store().list_where(|pod| pod.spec.node_name == *node.metadata.name) {
            if pod.is_game_server_pod() {
                add(&self.queues.main, &*pod);
            }
        }
    }
}

impl EventHandler<Node> for OnNodes {
    fn on_add(&self, node: &Arc<Node>, is_in_initial_list: bool) {
        if !is_in_initial_list {
            self.changed(node);
        }
    }

    fn on_update(&self, old: &Arc<Node>, new: &Arc<Node>) {
        if old.status.addresses != new.status.addresses {
            self.changed(new);
        }
    }

    fn on_delete(&self, _deleted: &Deleted<Node>) {}
}
