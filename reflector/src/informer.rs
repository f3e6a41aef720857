use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use lariat_api::{Kind, Object, Randomness};
use lariat_client::Api;
use lariat_store::{Indexers, Lister};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::backoff::{Backoff, BackoffConfig};
use crate::builder::InformerBuilder;
use crate::cache::Cache;
use crate::delivery::Delivery;
use crate::error::ErrorHandler;
use crate::metrics::Metrics;
use crate::not_synced::{NotSynced, Unsynced};
use crate::progress::{LastError, Progress};
use crate::reflector::{Memory, Reflector, Settings};
use crate::registration::AddIndexersError;
use crate::sync::{Mutex, MutexGuard};

#[cfg(test)]
#[path = "interleavings.rs"]
mod interleavings;

/// A cache of one kind of object that follows an API server, shared by several handlers.
///
/// A clone is another handle to the same informer.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Kind, ObjectKey};
/// use lariat_client::Api;
/// use lariat_fixtures::{Pace, Recording, ReplayServer, recording_path};
/// use lariat_reflector::{HandlerFns, Informer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let recording = Recording::open(recording_path("agones-buffer-autoscale"))?;
/// # let server = ReplayServer::new(recording, Pace::Unpaced);
/// # let client = server.client()?;
/// let nodes = Kind::cluster("", "v1", "Node", "nodes");
/// let informer = Informer::<DynamicObject>::builder(Api::of_kind(client, nodes, "")).build();
/// informer.add_handler(HandlerFns::<DynamicObject>::new().on_add(|node, _| println!("{:?}", node.metadata.name)))?;
///
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let running = tokio::spawn({
///     let informer = informer.clone();
///     async move { informer.run(async { drop(stopped.await) }).await }
/// });
/// informer.wait_for_sync().await;
/// assert_eq!(informer.lister().store().len(), 20);
/// drop(stop);
/// running.await?;
/// # Ok(())
/// # }
/// ```
pub struct Informer<K>(pub(crate) Arc<Shared<K>>);

pub(crate) struct Shared<K> {
    pub(crate) name: Arc<str>,
    pub(crate) api: Api<K>,
    pub(crate) cache: Arc<Cache<K>>,
    pub(crate) metrics: Arc<dyn Metrics>,
    pub(crate) progress: Arc<Progress>,
    /// How often handlers are told of everything again that do not say; zero for never.
    pub(crate) resync: Duration,
    /// What the reflector is made of, until it is.
    pub(crate) parts: Mutex<Option<Parts>>,
    pub(crate) tasks: Mutex<Tasks<K>>,
}

pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) backoff: BackoffConfig,
    pub(crate) randomness: Randomness,
    pub(crate) on_error: Option<ErrorHandler>,
}

pub(crate) struct Tasks<K> {
    pub(crate) next_id: u64,
    pub(crate) state: State<K>,
}

pub(crate) enum State<K> {
    /// Handlers that were added before the start.
    New(Vec<Delivery<K>>),
    Running(JoinSet<()>),
    Stopped,
}

impl<K: Object + DeserializeOwned> Informer<K> {
    /// Begins an informer of what `api` serves.
    pub fn builder(api: Api<K>) -> InformerBuilder<K> {
        InformerBuilder::new(api)
    }

    /// Follows the server until `shutdown` is ready, then returns once every handler has heard of everything.
    ///
    /// An informer runs once: a second call returns at once, with a warning.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops everything at once; what the handlers have not heard of, they never will.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let Some(reflector) = self.start() else {
            tracing::warn!(informer = &*self.0.name, "an informer runs once; this call does nothing");
            return;
        };
        let guard = StopOnDrop(&self.0);
        tokio::select! {
            biased;
            () = shutdown => {}
            never = reflector.run() => match never {},
            () = self.resync() => {}
        }
        let mut tasks = guard.0.stop();
        while tasks.join_next().await.is_some() {}
    }

    fn start(&self) -> Option<Reflector<K>> {
        let parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.0.progress.start();
        let mut tasks = self.0.tasks();
        if let State::New(waiting) = &mut tasks.state {
            let waiting = std::mem::take(waiting);
            let mut running = JoinSet::new();
            waiting.into_iter().for_each(|delivery| delivery.spawn(&mut running));
            tasks.state = State::Running(running);
        }
        Some(Reflector {
            name: self.0.name.clone(),
            api: self.0.api.clone(),
            cache: self.0.cache.clone(),
            settings: parts.settings,
            backoff: Backoff::new(parts.backoff, parts.randomness.clone()),
            randomness: parts.randomness,
            on_error: parts.on_error,
            metrics: self.0.metrics.clone(),
            progress: self.0.progress.clone(),
            memory: Memory::default(),
        })
    }

    /// Tells handlers of everything when they are due; never ends.
    async fn resync(&self) {
        let check = self.0.cache.audience().resync_check;
        if check.is_zero() {
            return std::future::pending().await;
        }
        let mut ticks = interval_at(Instant::now() + check, check);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.0.cache.resync(Instant::now());
        }
    }
}

impl<K: Object> Informer<K> {
    /// A read-only view of the cache.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.0.api.kind().clone(), self.0.cache.store().clone())
    }

    /// Adds indexes to the cache, before the start or while the informer runs.
    ///
    /// # Errors
    ///
    /// If there is an index of one of the names, or the informer has stopped.
    pub fn add_indexers(&self, indexers: Indexers<K>) -> Result<(), AddIndexersError> {
        if self.is_stopped() {
            return Err(AddIndexersError::Stopped(self.0.name.to_string()));
        }
        self.0.cache.store().add_indexers(indexers).map_err(AddIndexersError::Duplicate)
    }

    /// The name, as errors, logs and metrics give it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        self.0.api.kind()
    }

    /// The resourceVersion up to which the cache follows the server; `""` before the first list.
    ///
    /// What the server knew at that version is in the cache, so this is client-go's `LastStoreSyncResourceVersion` as well as
    /// its `LastSyncResourceVersion`.
    pub fn last_sync_resource_version(&self) -> String {
        self.0.cache.version.current()
    }

    /// Waits until the cache holds what the server knew at a version: after a write, at the version that it returned, one reads
    /// one's own write. Waits for ever if the informer does not run, so give it a time-out.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped changes nothing.
    pub async fn wait_for(&self, resource_version: &str) {
        self.0.cache.version.reached(resource_version).await;
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        *self.0.cache.audience().synced.borrow()
    }

    /// Waits until the first list is in the cache. This may be for ever: a server may refuse to list.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped changes nothing.
    pub async fn wait_for_sync(&self) {
        let mut synced = self.0.cache.audience().synced.subscribe();
        // An error means that nobody is left to set it, and so that there is nothing left to wait for.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Waits until the first list is in the cache, but no longer than this.
    ///
    /// # Errors
    ///
    /// If the time is over: says for how long the server was asked, and what went wrong last.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped changes nothing.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lariat_api::{DynamicObject, Kind};
    /// # use lariat_client::Api;
    /// # use lariat_fixtures::{ScriptedServer, Step};
    /// # use lariat_reflector::Informer;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = ScriptedServer::new([]).client()?;
    /// # let nodes = Kind::cluster("", "v1", "Node", "nodes");
    /// let informer = Informer::<DynamicObject>::builder(Api::of_kind(client, nodes, "")).build();
    /// let error = informer.wait_for_sync_within(Duration::from_secs(5)).await.unwrap_err();
    /// assert_eq!(error.to_string(), "1 informer has not synced after 5s: \"nodes\" (not started)");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_sync_within(&self, timeout: Duration) -> Result<(), NotSynced> {
        let began = Instant::now();
        // What counts is whether it has synced, in time or just after.
        let _ = tokio::time::timeout(timeout, self.wait_for_sync()).await;
        self.unsynced().map_or(Ok(()), |one| Err(NotSynced { waited: began.elapsed(), informers: vec![one] }))
    }

    /// Why the informer has not synced; none if it has.
    pub(crate) fn unsynced(&self) -> Option<Unsynced> {
        (!self.has_synced()).then(|| Unsynced {
            name: self.name().to_owned(),
            kind: self.kind().clone(),
            is_stopped: self.is_stopped(),
            trying_since: self.0.progress.started(),
            last_error: self.last_error(),
        })
    }

    /// What went wrong last since a list was complete or a watch was opened; none if nothing did.
    pub fn last_error(&self) -> Option<LastError> {
        self.0.progress.last_error()
    }

    /// Whether the informer was stopped.
    pub fn is_stopped(&self) -> bool {
        matches!(self.0.tasks().state, State::Stopped)
    }

    /// How many changes the handler that is furthest behind has yet to hear of.
    pub fn pending(&self) -> usize {
        self.0.cache.audience().listeners.iter().map(|listener| listener.queue.len()).max().unwrap_or(0)
    }

    /// How many changes were folded into others, because their handler was too far behind, by the handlers that are there.
    pub fn coalesced(&self) -> u64 {
        self.0.cache.audience().listeners.iter().map(|listener| listener.queue.coalesced()).sum()
    }
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Debug for Informer<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer").field("name", &self.0.name).finish_non_exhaustive()
    }
}

// === impl Shared ===

impl<K> Shared<K> {
    pub(crate) fn tasks(&self) -> MutexGuard<'_, Tasks<K>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Tasks<K> {
    pub(crate) fn new() -> Self {
        Self { next_id: 0, state: State::New(Vec::new()) }
    }
}

impl<K: Object> Shared<K> {
    /// Lets no more handlers in and closes the queues of those that are there.
    fn stop(&self) -> JoinSet<()> {
        let state = std::mem::replace(&mut self.tasks().state, State::Stopped);
        for listener in self.cache.audience().listeners.drain(..) {
            listener.queue.close();
        }
        match state {
            State::Running(running) => running,
            State::New(_) | State::Stopped => JoinSet::new(),
        }
    }
}

/// Stops an informer whose [`Informer::run`] is dropped: the tasks are aborted with their set.
struct StopOnDrop<'a, K: Object>(&'a Shared<K>);

impl<K: Object> Drop for StopOnDrop<'_, K> {
    fn drop(&mut self) {
        drop(self.0.stop());
    }
}
