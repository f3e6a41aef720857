use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_api::{Kind, Object, Randomness};
use lariat_client::Api;
use lariat_store::{DuplicateIndex, Indexers, Lister, NAMESPACE_INDEX, Store};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::backoff::{Backoff, BackoffConfig};
use crate::cache::Cache;
use crate::error::{ErrorHandler, ReflectorError};
use crate::handler::EventHandler;
use crate::listener::{Delivery, Notification, listener};
use crate::reflector::{Reflector, SyncVersion};

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
pub struct Informer<K>(Arc<Shared<K>>);

/// Makes an [`Informer`].
pub struct InformerBuilder<K> {
    api: Api<K>,
    name: Option<String>,
    label_selector: String,
    field_selector: String,
    indexers: Indexers<K>,
    backoff: BackoffConfig,
    randomness: Option<Randomness>,
    on_error: Option<ErrorHandler>,
}

/// A handler's place in an informer.
#[derive(Debug, Clone)]
pub struct Registration {
    id: u64,
    synced: watch::Receiver<bool>,
}

/// A handler that came too late.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("informer {0:?} has stopped: handlers must be added before")]
pub struct Stopped(pub String);

struct Shared<K> {
    name: Arc<str>,
    api: Api<K>,
    cache: Arc<Cache<K>>,
    version: Arc<SyncVersion>,
    /// What the reflector is made of, until it is.
    parts: Mutex<Option<Parts>>,
    tasks: Mutex<Tasks<K>>,
}

struct Parts {
    label_selector: String,
    field_selector: String,
    backoff: BackoffConfig,
    randomness: Randomness,
    on_error: Option<ErrorHandler>,
}

struct Tasks<K> {
    next_id: u64,
    state: State<K>,
}

enum State<K> {
    /// Handlers that were added before the start.
    New(Vec<Delivery<K>>),
    Running(JoinSet<()>),
    Stopped,
}

impl<K: Object + DeserializeOwned> Informer<K> {
    /// Begins an informer of what `api` serves.
    pub fn builder(api: Api<K>) -> InformerBuilder<K> {
        InformerBuilder {
            api,
            name: None,
            label_selector: String::new(),
            field_selector: String::new(),
            indexers: Indexers::new(),
            backoff: BackoffConfig::default(),
            randomness: None,
            on_error: None,
        }
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
        }
        let mut tasks = guard.0.stop();
        while tasks.join_next().await.is_some() {}
    }

    fn start(&self) -> Option<Reflector<K>> {
        let parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut tasks = self.0.tasks();
        if let State::New(waiting) = &mut tasks.state {
            let waiting = std::mem::take(waiting);
            tasks.state = State::Running(waiting.into_iter().map(Delivery::run).collect());
        }
        Some(Reflector {
            name: self.0.name.clone(),
            api: self.0.api.clone(),
            label_selector: parts.label_selector,
            field_selector: parts.field_selector,
            cache: self.0.cache.clone(),
            backoff: Backoff::new(parts.backoff, parts.randomness.clone()),
            randomness: parts.randomness,
            on_error: parts.on_error,
            version: self.0.version.clone(),
            version_is_unavailable: false,
            lists_in_pages: false,
        })
    }
}

impl<K: Object> Informer<K> {
    /// Adds a handler, before the start or while the informer runs.
    ///
    /// It hears of every object that is in the cache as added, and then of all changes, without gap or repetition.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    ///
    /// # Panics
    ///
    /// If the informer runs and this is not called on its tokio runtime.
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration, Stopped> {
        let mut tasks = self.0.tasks();
        let id = tasks.next_id;
        let (done, synced) = watch::channel(false);
        let (listener, delivery) = listener(id, self.0.name.clone(), Arc::new(handler), done);
        match &mut tasks.state {
            State::New(waiting) => waiting.push(delivery),
            State::Running(running) => drop(running.spawn(delivery.run())),
            State::Stopped => return Err(Stopped(self.0.name.to_string())),
        }
        tasks.next_id += 1;

        let mut audience = self.0.cache.audience();
        for object in self.0.cache.store().list() {
            listener.send(Notification::Added { object, is_in_initial_list: true });
        }
        if *audience.synced.borrow() {
            listener.send(Notification::Synced);
        }
        audience.listeners.push(listener);
        Ok(Registration { id, synced })
    }

    /// Removes a handler. What is in its queue it still hears of; nothing that happens from now on.
    ///
    /// A handler that was removed before is ignored.
    pub fn remove_handler(&self, registration: &Registration) {
        self.0.cache.audience().listeners.retain(|listener| listener.id != registration.id);
    }

    /// A read-only view of the cache.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.0.api.kind().clone(), self.0.cache.store().clone())
    }

    /// Adds indexes to the cache, before the start or while the informer runs.
    ///
    /// # Errors
    ///
    /// If there is an index of one of the names.
    pub fn add_indexers(&self, indexers: Indexers<K>) -> Result<(), DuplicateIndex> {
        self.0.cache.store().add_indexers(indexers)
    }

    /// The name, as errors and logs give it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        self.0.api.kind()
    }

    /// The resourceVersion up to which the cache follows the server; `""` before the first list.
    pub fn last_sync_resource_version(&self) -> String {
        self.0.version.get()
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        *self.0.cache.audience().synced.borrow()
    }

    /// Waits until the first list is in the cache. This may be for ever: a server may refuse to list.
    pub async fn wait_for_sync(&self) {
        let synced = self.0.cache.audience().synced.subscribe();
        wait(synced).await;
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

impl Registration {
    /// Whether the handler was called for every object of the first list, or, if it came later, for every object that
    /// was there.
    pub fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until [`has_synced`](Self::has_synced), or until the informer has stopped.
    pub async fn wait_for_sync(&self) {
        wait(self.synced.clone()).await;
    }
}

async fn wait(mut synced: watch::Receiver<bool>) {
    // An error means that nobody is left to set it, and so that there is nothing left to wait for.
    let _ = synced.wait_for(|synced| *synced).await;
}

// === impl InformerBuilder ===

impl<K: Object> InformerBuilder<K> {
    /// The name in errors and logs; the kind's if none is given.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Follows only objects with matching labels.
    #[must_use]
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = selector.into();
        self
    }

    /// Follows only objects with matching fields.
    #[must_use]
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = selector.into();
        self
    }

    /// Indexes of the cache, beside the one by namespace, which namespaced kinds always have.
    #[must_use]
    pub fn indexers(mut self, indexers: Indexers<K>) -> Self {
        self.indexers = indexers;
        self
    }

    /// How long to wait between attempts that fail.
    #[must_use]
    pub fn backoff(mut self, backoff: BackoffConfig) -> Self {
        self.backoff = backoff;
        self
    }

    /// Where jitter comes from; the operating system's randomness if nothing is given.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.randomness = Some(randomness);
        self
    }

    /// Is told of everything that goes wrong; all of it is logged too.
    #[must_use]
    pub fn on_error(mut self, f: impl Fn(&str, &ReflectorError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(f));
        self
    }

    /// The informer. Nothing is asked of the server before it runs.
    pub fn build(self) -> Informer<K> {
        let mut indexers = self.indexers;
        if self.api.kind().is_namespaced() && !indexers.names().any(|name| name == NAMESPACE_INDEX) {
            indexers = indexers.with(NAMESPACE_INDEX, |object: &K, emit| emit(object.namespace()));
        }
        let name = self.name.unwrap_or_else(|| self.api.kind().to_string());
        Informer(Arc::new(Shared {
            name: name.into(),
            cache: Arc::new(Cache::new(Store::with_indexers(indexers))),
            api: self.api,
            version: Arc::default(),
            parts: Mutex::new(Some(Parts {
                label_selector: self.label_selector,
                field_selector: self.field_selector,
                backoff: self.backoff,
                randomness: self.randomness.unwrap_or_else(Randomness::from_os),
                on_error: self.on_error,
            })),
            tasks: Mutex::new(Tasks { next_id: 0, state: State::New(Vec::new()) }),
        }))
    }
}

impl<K> Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder").field("api", &self.api).finish_non_exhaustive()
    }
}

// === impl Shared ===

impl<K> Shared<K> {
    fn tasks(&self) -> MutexGuard<'_, Tasks<K>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> Shared<K> {
    /// Lets no more handlers in and closes the queues of those that are there.
    fn stop(&self) -> JoinSet<()> {
        let state = std::mem::replace(&mut self.tasks().state, State::Stopped);
        self.cache.audience().listeners.clear();
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
