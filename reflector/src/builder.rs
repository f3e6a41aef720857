use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Object, Randomness};
use lariat_client::Api;
use lariat_store::{Indexers, NAMESPACE_INDEX, Store};

use crate::backoff::BackoffConfig;
use crate::cache::{Cache, Transform};
use crate::error::{ErrorHandler, ReflectorError, TransformError};
use crate::informer::{Informer, Parts, Shared, Tasks};
use crate::limits::MIN_RESYNC;
use crate::metrics::{Metrics, NoMetrics};
use crate::reflector::{InitialList, Settings};
use crate::sync::Mutex;

/// Makes an [`Informer`].
pub struct InformerBuilder<K> {
    api: Api<K>,
    name: Option<String>,
    settings: Settings,
    indexers: Indexers<K>,
    transform: Option<Transform<K>>,
    tell_unchanged: bool,
    recreation_is_update: bool,
    resync: Duration,
    backoff: BackoffConfig,
    randomness: Option<Randomness>,
    on_error: Option<ErrorHandler>,
    metrics: Arc<dyn Metrics>,
}

impl<K> InformerBuilder<K> {
    pub(crate) fn new(api: Api<K>) -> Self {
        Self {
            api,
            name: None,
            settings: Settings {
                label_selector: String::new(),
                field_selector: String::new(),
                initial_list: InitialList::default(),
                consistent_start: false,
                page_size: 0,
                internal_error_retry: Duration::ZERO,
            },
            indexers: Indexers::new(),
            transform: None,
            tell_unchanged: false,
            recreation_is_update: false,
            resync: Duration::ZERO,
            backoff: BackoffConfig::default(),
            randomness: None,
            on_error: None,
            metrics: Arc::new(NoMetrics),
        }
    }
}

impl<K: Object> InformerBuilder<K> {
    /// The name in errors, logs and metrics; the kind's if none is given.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Follows only objects with matching labels.
    #[must_use]
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.settings.label_selector = selector.into();
        self
    }

    /// Follows only objects with matching fields.
    #[must_use]
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.settings.field_selector = selector.into();
        self
    }

    /// How to get what is there: [`InitialList::Streaming`] if nothing is said.
    #[must_use]
    pub fn initial_list(mut self, initial_list: InitialList) -> Self {
        self.settings.initial_list = initial_list;
        self
    }

    /// How many objects a list asks for at once. If nothing is said, 500 from a server's database, and all from its memory.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.settings.page_size = objects;
        self
    }

    /// Changes objects before they are stored, for example to drop what is not needed.
    ///
    /// Whether an object has changed is judged by its resourceVersion before. An object that this fails for is left out, what
    /// the cache holds in its place stays, and if it was in a watch, everything is listed again.
    #[must_use]
    pub fn transform(
        mut self,
        transform: impl Fn(&mut K) -> Result<(), TransformError> + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// How often handlers are told of every object again that do not have a period of their own; never if nothing is said.
    /// Periods under a second are a second.
    #[must_use]
    pub fn resync_period(mut self, period: Duration) -> Self {
        self.resync = if period.is_zero() { period } else { period.max(MIN_RESYNC) };
        self
    }

    /// Whether handlers are told of objects that came again in the same version, by a list or an event: client-go's way
    /// where nothing is resynced. They are not if nothing is said.
    #[must_use]
    pub fn tell_unchanged(mut self, tell: bool) -> Self {
        self.tell_unchanged = tell;
        self
    }

    /// Whether handlers are told of an object that was deleted and created again while nobody looked as of an update: client-go's
    /// way. If nothing is said, they are told of a deletion and an addition.
    #[must_use]
    pub fn recreation_is_update(mut self, is_update: bool) -> Self {
        self.recreation_is_update = is_update;
        self
    }

    /// Whether the first list is of what is newest, also if it costs the server a look into its storage. If nothing is said, a
    /// list (not a [streaming](InitialList::Streaming) one) takes what a server of the API has at hand, as in client-go: that may
    /// be older than what an earlier run of the same program has seen and written. Later lists are never older than what was seen.
    #[must_use]
    pub fn consistent_start(mut self, is_consistent: bool) -> Self {
        self.settings.consistent_start = is_consistent;
        self
    }

    /// For how long internal errors of the server in a watch lead to another watch and not to a list, from the first of a
    /// series; not at all if nothing is said.
    #[must_use]
    pub fn internal_error_retry(mut self, duration: Duration) -> Self {
        self.settings.internal_error_retry = duration;
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

    /// Is told what happens.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// The informer. Nothing is asked of the server before it runs.
    pub fn build(self) -> Informer<K> {
        let mut indexers = self.indexers;
        if self.api.kind().is_namespaced() && !indexers.names().any(|name| name == NAMESPACE_INDEX) {
            indexers = indexers.with(NAMESPACE_INDEX, |object: &K, emit| emit(object.namespace()));
        }
        let name = self.name.unwrap_or_else(|| self.api.kind().to_string());
        let store = Store::with_indexers(indexers);
        let cache = Cache::new(self.api.kind().clone(), store, self.transform);
        {
            let mut audience = cache.audience();
            audience.tell_unchanged = self.tell_unchanged;
            audience.recreation_is_update = self.recreation_is_update;
            audience.resync_check = self.resync;
        }
        Informer(Arc::new(Shared {
            name: name.into(),
            cache: Arc::new(cache),
            api: self.api,
            metrics: self.metrics,
            progress: Arc::default(),
            resync: self.resync,
            parts: Mutex::new(Some(Parts {
                settings: self.settings,
                backoff: self.backoff,
                randomness: self.randomness.unwrap_or_else(Randomness::from_os),
                on_error: self.on_error,
            })),
            tasks: Mutex::new(Tasks::new()),
        }))
    }
}

impl<K> Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder").field("api", &self.api).finish_non_exhaustive()
    }
}
