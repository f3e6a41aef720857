//! Runs controllers: in which order they start, what is asked of them meanwhile, and how they end.

mod builder;
mod elector;
mod error;
mod health;
mod inspect;
mod lease;
mod port;
mod runnable;
mod runner;
mod selection;
mod signals;
mod stop;

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_api::{Object, ObjectKey};
use lariat_client::Client;
use lariat_reflector::{Informer, InformerFactory};
use lariat_workqueue::Queue;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

pub use self::builder::ManagerBuilder;
pub use self::elector::{BoxError, Elector, Term};
pub use self::error::{AddError, Left, ManagerError, Stopped};
use self::health::Check;
pub use self::lease::LeaseElector;
pub use self::runnable::Runnable;
use self::runner::Runner;
pub use self::selection::{InvalidSelection, Selection};
pub use self::signals::signals;
pub use self::stop::Stop;
pub(crate) use self::stop::Stopper;
use crate::controller::ReadyController;
use crate::controller::prepared::Prepared;
use crate::env::Env;
use crate::events::Recorder;
use crate::shared::SharedControllerFactoryBuilder;

/// Runs controllers and what else belongs to a program, from the first list to the last key.
///
/// What starts, in this order: the ports; the caches, whose first lists it waits for; what needs no leadership; the warm-up of
/// controllers that want one; then, once this process leads, all the rest. What is added later starts when its turn is, or at
/// once. When it is to stop, everything is told to and has 30 s to finish what it has begun; then the caches, the ports, the
/// leadership and the events end, in this order. The first error of anything stops everything.
///
/// A clone is another handle to the same manager.
///
/// # Example
///
/// ```no_run
/// use lariat::prelude::*;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// const NODES: Kind = Kind::cluster("", "v1", "Node", "nodes");
///
/// let manager = Manager::new(Client::new(Config::infer()?)?);
/// manager.add(Controller::<DynamicObject>::of_kind("nodes", NODES).reconcile(|key, node, _| async move {
///     println!("{key} is {}", if node.is_some() { "there" } else { "gone" });
///     Ok(Outcome::Done)
/// }))?;
/// let stopped = manager.run(lariat::signals()?).await?;
/// println!("{} keys were left for the next time", stopped.left.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Manager(Arc<Shared>);

pub(crate) struct Shared {
    env: Arc<Env>,
    factory: InformerFactory,
    selection: Selection,
    serves_metrics: bool,
    state: Mutex<State>,
}

/// What is only needed to run.
struct Settings {
    listen: Vec<SocketAddr>,
    listeners: Vec<TcpListener>,
    selection: Selection,
    elector: Option<Arc<dyn Elector>>,
    grace: Duration,
    cache_sync_timeout: Duration,
    serves_metrics: bool,
}

struct State {
    stage: Stage,
    /// What was added and waits for the start.
    waiting: Vec<Component>,
    /// Where to what is added later goes.
    late: Option<mpsc::UnboundedSender<Component>>,
    /// Those of all controllers and runnables, also of those that do not run.
    names: BTreeSet<String>,
    health_checks: Vec<Check>,
    ready_checks: Vec<Check>,
    settings: Option<Settings>,
    addresses: Vec<SocketAddr>,
    leads: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    New,
    /// Until the caches have synced.
    Starting,
    Started,
    Stopping,
    Stopped,
}

/// Something that runs.
enum Component {
    Controller(Box<Prepared>),
    Runnable(Runnable),
}

impl Manager {
    /// A manager of a client that listens nowhere and always leads.
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Begins a manager.
    pub fn builder(client: Client) -> ManagerBuilder {
        ManagerBuilder::new(client)
    }

    fn with(env: Arc<Env>, factory: InformerFactory, settings: Settings) -> Self {
        let shared = Shared {
            env,
            factory,
            selection: settings.selection.clone(),
            serves_metrics: settings.serves_metrics,
            state: Mutex::new(State {
                stage: Stage::New,
                waiting: Vec::new(),
                late: None,
                names: BTreeSet::new(),
                health_checks: vec![Check { name: "ping".into(), ask: Arc::new(|| Ok(())) }],
                ready_checks: vec![Check { name: "ping".into(), ask: Arc::new(|| Ok(())) }],
                settings: Some(settings),
                addresses: Vec::new(),
                leads: false,
            }),
        };
        Self(Arc::new(shared))
    }

    /// Adds a controller, before the start or later. One that is not [selected](ManagerBuilder::select) is known by its name and
    /// nothing else: its caches are not made.
    ///
    /// # Errors
    ///
    /// If there is something of its name, or the manager has stopped.
    pub fn add(&self, controller: ReadyController) -> Result<(), AddError> {
        let name = controller.name().to_owned();
        self.0.claim(&name)?;
        if !self.0.selection.selects(&name) {
            tracing::info!(controller = name, "is not selected and does not run");
            return Ok(());
        }
        let prepared = Prepared::new(controller, &self.0.env, &self.0.factory);
        self.0.place(Component::Controller(Box::new(prepared)))
    }

    /// Adds something else that runs, before the start or later. It is always selected.
    ///
    /// # Errors
    ///
    /// If there is something of its name, or the manager has stopped.
    pub fn add_runnable(&self, runnable: Runnable) -> Result<(), AddError> {
        self.0.claim(&runnable.name)?;
        self.0.place(Component::Runnable(runnable))
    }

    /// Asks `check` too whether the program lives, as `/healthz` and `/healthz/NAME`. What it says when not, is logged.
    ///
    /// ```
    /// # fn add(manager: &lariat::Manager) {
    /// manager.add_health_check("disk", || Err("full".to_owned()));
    /// # }
    /// ```
    pub fn add_health_check(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.0.state().health_checks.push(Check { name: name.into(), ask: Arc::new(check) });
    }

    /// Asks `check` too whether the program is ready, as `/readyz` and `/readyz/NAME`; whether its caches have synced is asked
    /// anyway, as `informers`.
    pub fn add_ready_check(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.0.state().ready_checks.push(Check { name: name.into(), ask: Arc::new(check) });
    }

    /// Runs everything until `shutdown` is ready, or something fails, and returns once all of it has ended. A manager runs once.
    ///
    /// # Errors
    ///
    /// What made it end, if it was not told to.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends everything at once, but for the informers, which end with the last handle to the manager.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) -> Result<Stopped, ManagerError> {
        let mut runner = Runner::begin(&self.0)?;
        runner.open().await?;
        let cause = tokio::select! {
            biased;
            () = shutdown => None,
            error = runner.drive() => Some(error),
        };
        runner.close(cause).await
    }

    /// The client, whose requests are counted.
    pub fn client(&self) -> &Client {
        &self.0.env.client
    }

    /// The informers, for listers and handlers of one's own. What is asked for after the start needs to be
    /// [started](InformerFactory::start).
    pub fn informers(&self) -> &InformerFactory {
        &self.0.factory
    }

    /// Begins a factory of shared controllers on the manager's client, caches and metrics. Give its
    /// [`runnable`](crate::shared::SharedControllerFactory::runnable) to [`add_runnable`](Self::add_runnable).
    pub fn shared_controllers(&self) -> SharedControllerFactoryBuilder {
        SharedControllerFactoryBuilder::of_env(self.0.env.clone(), self.0.factory.clone())
    }

    /// Lets an informer that no controller uses be seen: `/readyz` asks whether it has synced, and `/debug/state` and `/metrics` say
    /// how it is.
    ///
    /// ```
    /// # fn show(manager: &lariat::Manager, queue: lariat::workqueue::Queue<lariat::ObjectKey>) {
    /// let pods = manager.informers().dynamic(lariat::Kind::namespaced("", "v1", "Pod", "pods"));
    /// manager.show_informer(&pods);
    /// manager.show_queue(&queue);
    /// # }
    /// ```
    pub fn show_informer<K: Object>(&self, informer: &Informer<K>) {
        self.0.env.remember(&[Arc::new(informer.clone())]);
    }

    /// Lets a queue that no controller uses be seen by `/debug/state` and `/metrics`. What happens in it is only counted if it was made
    /// with the [metrics for queues](Self::queue_metrics).
    pub fn show_queue(&self, queue: &Queue<ObjectKey>) {
        self.0.env.show_queue(queue);
    }

    /// Counts what happens in queues that are made with it, as in those of controllers.
    pub fn queue_metrics(&self) -> Arc<dyn lariat_workqueue::Metrics> {
        self.0.env.metrics.queues()
    }

    /// Tells people what happened, in the name of a component.
    pub fn recorder(&self, component: &str) -> Recorder {
        self.0.env.recorder(component)
    }

    /// Where it listens, once it does.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.state().addresses.clone()
    }

    /// Whether the program is ready: the caches have synced, and all checks agree.
    pub fn is_ready(&self) -> bool {
        self.0.ready_checks().iter().all(|check| (check.ask)().is_ok())
    }

    /// What `/metrics` says.
    pub fn metrics(&self) -> String {
        self.0.env.metrics.text()
    }

    /// Adds metrics of one's own to those of `/metrics`.
    pub fn register_metrics(&self, register: impl FnOnce(&mut Registry)) {
        self.0.env.metrics.with_registry(register);
    }

    /// What `/debug/state` says.
    pub fn debug_state(&self) -> serde_json::Value {
        self.0.state_of_all()
    }
}

impl Debug for Manager {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let state = self.0.state();
        f.debug_struct("Manager")
            .field("stage", &state.stage)
            .field("names", &state.names)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn claim(&self, name: &str) -> Result<(), AddError> {
        let mut state = self.state();
        if state.stage >= Stage::Stopping {
            return Err(AddError::Stopped(name.to_owned()));
        }
        if !state.names.insert(name.to_owned()) {
            return Err(AddError::Duplicate(name.to_owned()));
        }
        Ok(())
    }

    /// Lets a component run when its turn is.
    fn place(&self, component: Component) -> Result<(), AddError> {
        let mut state = self.state();
        match &state.late {
            Some(late) => {
                late.send(component).map_err(|refused| AddError::Stopped(refused.0.name().to_owned()))
            }
            None if state.stage == Stage::New => {
                state.waiting.push(component);
                Ok(())
            }
            None => Err(AddError::Stopped(component.name().to_owned())),
        }
    }

    fn health_checks(&self) -> Vec<Check> {
        self.state().health_checks.clone()
    }

    fn ready_checks(&self) -> Vec<Check> {
        let (stage, mut checks) = {
            let state = self.state();
            (state.stage, state.ready_checks.clone())
        };
        let unsynced: Vec<_> =
            self.env.caches().into_iter().filter(|cache| !cache.synced).map(|cache| cache.name).collect();
        let ask = move || match (stage, unsynced.as_slice()) {
            (Stage::Started, []) => Ok(()),
            (Stage::Started, names) => Err(format!("not synced: {}", names.join(", "))),
            (stage, _) => Err(format!("{stage:?}").to_lowercase()),
        };
        checks.push(Check { name: "informers".into(), ask: Arc::new(ask) });
        checks
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Component {
    fn name(&self) -> &str {
        match self {
            Self::Controller(prepared) => &prepared.desk.name,
            Self::Runnable(runnable) => &runnable.name,
        }
    }

    fn needs_leadership(&self) -> bool {
        match self {
            Self::Controller(prepared) => prepared.needs_leadership,
            Self::Runnable(runnable) => runnable.needs_leadership,
        }
    }
}
