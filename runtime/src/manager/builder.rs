use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Clock, Randomness, SystemClock};
use lariat_client::Client;
use lariat_reflector::{InformerFactory, InformerFactoryBuilder};
use tokio::net::TcpListener;

use super::{Elector, Manager, Selection, Settings};
use crate::env::Env;
use crate::limits::{CACHE_SYNC_TIMEOUT, GRACE};
use crate::metrics::{Metrics, Observer};

/// Makes a [`Manager`].
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat::Manager;
///
/// # fn make(client: lariat::Client) -> Result<Manager, Box<dyn std::error::Error>> {
/// let manager = Manager::builder(client)
///     .listen("127.0.0.1:8081".parse()?)
///     .select("*,-autoscaler".parse()?)
///     .informers(|informers| informers.namespace("games"))
///     .grace(Duration::from_secs(20))
///     .build();
/// # Ok(manager)
/// # }
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct ManagerBuilder {
    client: Client,
    settings: Settings,
    observer: Option<Arc<dyn Observer>>,
    clock: Arc<dyn Clock>,
    randomness: Option<Randomness>,
    informers: Vec<Box<dyn FnOnce(InformerFactoryBuilder) -> InformerFactoryBuilder + Send>>,
}

impl ManagerBuilder {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            settings: Settings {
                listen: Vec::new(),
                listeners: Vec::new(),
                selection: Selection::all(),
                elector: None,
                grace: GRACE,
                cache_sync_timeout: CACHE_SYNC_TIMEOUT,
                serves_metrics: true,
            },
            observer: None,
            clock: Arc::new(SystemClock),
            randomness: None,
            informers: Vec::new(),
        }
    }

    /// Serves `/healthz`, `/readyz`, `/metrics` and `/debug/state` at an address, in plain HTTP; nowhere if nothing is said. May be
    /// repeated.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.settings.listen.push(address);
        self
    }

    /// As [`listen`](Self::listen), on a port that is open already.
    pub fn listener(mut self, listener: TcpListener) -> Self {
        self.settings.listeners.push(listener);
        self
    }

    /// Which of the controllers that are added run; all if nothing is said. One that does not costs nothing.
    pub fn select(mut self, selection: Selection) -> Self {
        self.settings.selection = selection;
        self
    }

    /// Who decides whether this process leads; nobody if nothing is said, and then it does.
    pub fn elector(mut self, elector: impl Elector) -> Self {
        self.settings.elector = Some(Arc::new(elector));
        self
    }

    /// How long what runs may go on after it was told to stop; 30 s if nothing is said. Zero for not at all, [`Duration::MAX`] for
    /// as long as it takes.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// How long the first lists may take at the start; 2 minutes if nothing is said. After that the manager ends with an error.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.settings.cache_sync_timeout = timeout;
        self
    }

    /// Says how informers are made: of which namespace, by which selectors, with which transforms.
    pub fn informers(
        mut self,
        customize: impl FnOnce(InformerFactoryBuilder) -> InformerFactoryBuilder + Send + 'static,
    ) -> Self {
        self.informers.push(Box::new(customize));
        self
    }

    /// Whether there is `/metrics`; there is if nothing is said.
    pub fn serve_metrics(mut self, serves: bool) -> Self {
        self.settings.serves_metrics = serves;
        self
    }

    /// Tells `observer` too what the client, the informers and the queues do, for metrics under further names; see
    /// [`Manager::register_metrics`].
    pub fn observer(
        mut self,
        observer: Arc<impl lariat_client::Metrics + lariat_reflector::Metrics + lariat_workqueue::Metrics>,
    ) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Takes the time of day from `clock`; the system's if nothing is given.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Where jitter comes from; the operating system's randomness if nothing is given.
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.randomness = Some(randomness);
        self
    }

    /// The manager. Nothing is asked of the server, and nothing listens, before it runs.
    pub fn build(self) -> Manager {
        let Self { client, settings, observer, clock, randomness, informers } = self;
        let randomness = randomness.unwrap_or_else(Randomness::from_os);
        let metrics = Metrics::new(observer);
        let client = client.with_metrics(metrics.client());
        let mut factory = InformerFactory::builder(client.clone())
            .metrics(metrics.informers())
            .randomness(randomness.clone());
        for customize in informers {
            factory = customize(factory);
        }
        let env = Env::new(client, clock, randomness, metrics);
        Manager::with(env, factory.build(), settings)
    }
}

impl Debug for ManagerBuilder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerBuilder").field("client", &self.client).finish_non_exhaustive()
    }
}
