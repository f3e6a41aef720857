//! A cluster for tests: an API server in this process, and virtual time.
//!
//! With it a test of an operator is an ordinary `#[tokio::test]`, needs no binary and no network, and takes milliseconds for
//! minutes. Put the crate with the feature `testing` among the `dev-dependencies`, and tokio with `test-util` for virtual time:
//! `#[tokio::test(start_paused = true)]`.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use lariat::prelude::*;
//! use lariat::testing::TestCluster;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! const MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
//!
//! let cluster = TestCluster::new();
//! cluster.put("configmaps", json!({"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}}));
//! let manager = cluster.manager();
//! manager.add(Controller::of_kind("maps", MAPS).reconcile(
//!     |key, map: Option<Arc<DynamicObject>>, context: Context| async move {
//!         if map.is_some_and(|map| map.metadata.labels.is_empty()) {
//!             let label = lariat::client::Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
//!             context.api_of::<DynamicObject>(MAPS).patch(&key, &label, &Default::default()).await?;
//!         }
//!         Ok(Outcome::Done)
//!     },
//! ))?;
//!
//! let running = cluster.run(manager);
//! cluster.until(|cluster| cluster.stored("configmaps", "default/a").is_some_and(|map| map["metadata"]["labels"]["seen"] == "yes")).await;
//! assert!(running.stop().await?.left.is_empty());
//! # Ok(())
//! # }
//! ```

use std::ops::Deref;
use std::time::Duration;

use lariat_api::Randomness;
pub use lariat_apiserver::{
    ApiServer, ApiServerBuilder, Asking, Fault, FaultPlan, Rule, Seen, Staleness, Struck,
};
use lariat_client::{Client, Config};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::{Manager, ManagerBuilder, ManagerError, Stopped};

/// An API server in this process with its client. It derefs to the [`ApiServer`].
#[derive(Debug, Clone)]
pub struct TestCluster {
    server: ApiServer,
    client: Client,
}

/// A manager that runs as a task. Dropping this ends it at once.
#[derive(Debug)]
#[must_use = "dropping this ends the manager"]
pub struct Running {
    stop: oneshot::Sender<()>,
    task: AbortOnDrop,
    manager: Manager,
}

#[derive(Debug)]
struct AbortOnDrop(JoinHandle<Result<Stopped, ManagerError>>);

/// How long [`TestCluster::until`] waits, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(3600);
const LOOK: Duration = Duration::from_millis(5);

impl TestCluster {
    /// A cluster with nothing in it but what a new one has, and with no randomness.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn new() -> Self {
        Self::of(ApiServer::builder().randomness(Randomness::seeded(1)).build())
    }

    /// A cluster of an API server.
    #[allow(clippy::expect_used)] // of what is fixed here
    pub fn of(server: ApiServer) -> Self {
        let pipes = server.clone();
        let connector = move |_: &http::Uri| std::future::ready(pipes.try_connect());
        let config = Config::new(http::Uri::from_static("http://test-cluster")).expect("an address");
        let client = Client::builder(config).connector(connector).build().expect("nothing that can fail");
        Self { server, client }
    }

    /// A client of the cluster.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A manager of the cluster, with no randomness.
    pub fn manager(&self) -> Manager {
        self.manager_builder().build()
    }

    /// Begins a manager of the cluster, with no randomness.
    pub fn manager_builder(&self) -> ManagerBuilder {
        Manager::builder(self.client()).randomness(Randomness::seeded(1))
    }

    /// Defines a custom resource.
    ///
    /// # Panics
    ///
    /// If the definition is wrong.
    #[allow(clippy::panic)] // a test fails by that
    pub fn define(&self, definition: Value) {
        if let Err(status) = self.server.define(definition) {
            panic!("the definition is wrong: {}", status.message);
        }
    }

    /// Runs a manager as a task.
    pub fn run(&self, manager: Manager) -> Running {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn({
            let manager = manager.clone();
            async move { manager.run(async { drop(stopped.await) }).await }
        });
        Running { stop, task: AbortOnDrop(task), manager }
    }

    /// Waits until something is so: an hour at most, which is an instant in virtual time.
    ///
    /// # Panics
    ///
    /// If it is not so after an hour.
    #[allow(clippy::panic)] // a test fails by that
    pub async fn until(&self, mut holds: impl FnMut(&Self) -> bool) {
        let began = tokio::time::Instant::now();
        while !holds(self) {
            if began.elapsed() > PATIENCE {
                panic!("what was waited for is not so after {PATIENCE:?}");
            }
            sleep(LOOK).await;
        }
    }
}

impl Default for TestCluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for TestCluster {
    type Target = ApiServer;

    fn deref(&self) -> &ApiServer {
        &self.server
    }
}

impl Running {
    /// The manager.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Waits until the manager is ready.
    pub async fn ready(&self) {
        while !self.manager.is_ready() && !self.task.0.is_finished() {
            sleep(LOOK).await;
        }
    }

    /// Tells the manager to stop, and waits until it has.
    ///
    /// # Errors
    ///
    /// What the manager ended with.
    pub async fn stop(self) -> Result<Stopped, ManagerError> {
        // It may have ended already.
        let _ = self.stop.send(());
        join(self.task).await
    }

    /// Waits until the manager has ended by itself.
    ///
    /// # Errors
    ///
    /// What it ended with.
    pub async fn ended(self) -> Result<Stopped, ManagerError> {
        let Self { stop, task, .. } = self;
        let ended = join(task).await;
        drop(stop);
        ended
    }
}

async fn join(mut task: AbortOnDrop) -> Result<Stopped, ManagerError> {
    match (&mut task.0).await {
        Ok(ended) => ended,
        Err(error) => match error.try_into_panic() {
            Ok(cause) => std::panic::resume_unwind(cause),
            Err(_) => Ok(Stopped::default()),
        },
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
