use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Clock, Kind, ObjectKey, Randomness, SystemClock};
use lariat_client::Client;
use lariat_reflector::{InformerFactory, InformerFactoryBuilder};
use lariat_workqueue::{ItemExponentialFailure, ItemFastSlow, MaxOf, RateLimiter};

use super::factory::SharedControllerFactory;
use crate::controller::cache::is_same_resource;
use crate::env::Env;
use crate::limits::{CACHE_SYNC_TIMEOUT, SHARED_RESYNC, SHARED_WORKERS};
use crate::metrics::Metrics;

/// Makes a [`SharedControllerFactory`].
///
/// # Example
///
/// ```
/// use lariat::{Client, Kind, shared::SharedControllerFactory};
///
/// # fn make(client: Client) -> SharedControllerFactory {
/// let nodes = Kind::cluster("", "v1", "Node", "nodes");
/// SharedControllerFactory::builder(client).workers(10).workers_of(&nodes, 1).sync_only_changed(true).build()
/// # }
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct SharedControllerFactoryBuilder {
    source: Source,
    settings: Settings,
}

/// What the factory is made from.
enum Source {
    Client {
        client: Client,
        clock: Arc<dyn Clock>,
        randomness: Option<Randomness>,
        informers: Vec<Box<dyn FnOnce(InformerFactoryBuilder) -> InformerFactoryBuilder + Send>>,
    },
    /// Of a manager.
    Env { env: Arc<Env>, factory: InformerFactory },
}

pub(super) struct Settings {
    workers: usize,
    workers_of: Vec<(Kind, usize)>,
    limiter: MakeLimiter,
    limiters_of: Vec<(Kind, MakeLimiter)>,
    pub(super) only_changed: bool,
    pub(super) cache_sync_timeout: Duration,
}

type MakeLimiter = Arc<dyn Fn() -> Box<dyn RateLimiter<ObjectKey>> + Send + Sync>;

impl SharedControllerFactoryBuilder {
    pub(super) fn new(client: Client) -> Self {
        let source = Source::Client {
            client,
            clock: Arc::new(SystemClock),
            randomness: None,
            informers: vec![Box::new(|informers| informers.resync_period(SHARED_RESYNC))],
        };
        Self::of(source)
    }

    pub(crate) fn of_env(env: Arc<Env>, factory: InformerFactory) -> Self {
        Self::of(Source::Env { env, factory })
    }

    fn of(source: Source) -> Self {
        let settings = Settings {
            workers: 0,
            workers_of: Vec::new(),
            limiter: Arc::new(default_limiter),
            limiters_of: Vec::new(),
            only_changed: false,
            cache_sync_timeout: CACHE_SYNC_TIMEOUT,
        };
        Self { source, settings }
    }

    /// How many keys of each kind are handled at once, unless [the start](SharedControllerFactory::start) says; 5 if nothing is
    /// said.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers;
        self
    }

    /// How many keys of one kind are handled at once, whatever else is said.
    pub fn workers_of(mut self, kind: &Kind, workers: usize) -> Self {
        self.settings.workers_of.push((kind.clone(), workers));
        self
    }

    /// How long keys wait before they are tried again. If nothing is said: 5 ms, doubled with each failure up to 30 s, and 2
    /// minutes after 30 failures.
    pub fn rate_limiter<L: RateLimiter<ObjectKey> + 'static>(
        mut self,
        make: impl Fn() -> L + Send + Sync + 'static,
    ) -> Self {
        self.settings.limiter = Arc::new(move || Box::new(make()));
        self
    }

    /// How long keys of one kind wait before they are tried again.
    pub fn rate_limiter_of<L: RateLimiter<ObjectKey> + 'static>(
        mut self,
        kind: &Kind,
        make: impl Fn() -> L + Send + Sync + 'static,
    ) -> Self {
        self.settings.limiters_of.push((kind.clone(), Arc::new(move || Box::new(make()))));
        self
    }

    /// Whether updates in which nothing changed, which are those of resyncs, are passed over. They are not if nothing is said.
    pub fn sync_only_changed(mut self, only_changed: bool) -> Self {
        self.settings.only_changed = only_changed;
        self
    }

    /// How long the first lists may take at a start; 2 minutes if nothing is said.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.settings.cache_sync_timeout = timeout;
        self
    }

    /// Says how informers are made: of which namespace, by which selectors, with which transforms. If nothing is said they tell
    /// of everything again each 10 hours. Of no effect in a factory [of a manager](crate::Manager::shared_controllers), which has
    /// the manager's.
    pub fn informers(
        mut self,
        customize: impl FnOnce(InformerFactoryBuilder) -> InformerFactoryBuilder + Send + 'static,
    ) -> Self {
        if let Source::Client { informers, .. } = &mut self.source {
            informers.push(Box::new(customize));
        }
        self
    }

    /// Takes the time of day from a clock; the system's if nothing is given, and the manager's in one of a manager.
    pub fn clock(mut self, new: impl Clock) -> Self {
        if let Source::Client { clock, .. } = &mut self.source {
            *clock = Arc::new(new);
        }
        self
    }

    /// Where jitter comes from; the operating system's randomness if nothing is given, and the manager's in one of a manager.
    pub fn randomness(mut self, new: Randomness) -> Self {
        if let Source::Client { randomness, .. } = &mut self.source {
            *randomness = Some(new);
        }
        self
    }

    /// The factory. Nothing is asked of the server before it is started.
    pub fn build(self) -> SharedControllerFactory {
        let Self { source, settings } = self;
        let (env, factory, owns_env) = match source {
            Source::Env { env, factory } => (env, factory, false),
            Source::Client { client, clock, randomness, informers } => {
                let randomness = randomness.unwrap_or_else(Randomness::from_os);
                let metrics = Metrics::new(None);
                let client = client.with_metrics(metrics.client());
                let mut factory = InformerFactory::builder(client.clone())
                    .metrics(metrics.informers())
                    .randomness(randomness.clone());
                for customize in informers {
                    factory = customize(factory);
                }
                (Env::new(client, clock, randomness, metrics), factory.build(), true)
            }
        };
        SharedControllerFactory::with(env, factory, settings, owns_env)
    }
}

impl Debug for SharedControllerFactoryBuilder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedControllerFactoryBuilder").finish_non_exhaustive()
    }
}

impl Settings {
    /// Of a kind, if the start asks for so many; 0 for whatever is right.
    pub(super) fn workers_of(&self, kind: &Kind, asked: usize) -> usize {
        let own = self.workers_of.iter().rev().find(|(known, _)| is_same_resource(known, kind));
        let all = [own.map_or(0, |(_, workers)| *workers), asked, self.workers];
        all.into_iter().find(|workers| *workers > 0).unwrap_or(SHARED_WORKERS)
    }

    pub(super) fn limiter_of(&self, kind: &Kind) -> Box<dyn RateLimiter<ObjectKey>> {
        let own = self.limiters_of.iter().rev().find(|(known, _)| is_same_resource(known, kind));
        own.map_or(&self.limiter, |(_, make)| make)()
    }
}

/// Lasso's.
fn default_limiter() -> Box<dyn RateLimiter<ObjectKey>> {
    let fast = ItemFastSlow::new(Duration::from_millis(1), Duration::from_secs(120), 30);
    let growing = ItemExponentialFailure::new(Duration::from_millis(5), Duration::from_secs(30));
    Box::new(MaxOf::new([Box::new(fast) as Box<dyn RateLimiter<ObjectKey>>, Box::new(growing)]))
}
