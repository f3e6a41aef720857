//! A loop that handles the keys of one kind of object, and what its handler has.

pub(crate) mod cache;
mod context;
mod late;
pub(crate) mod ledger;
mod outcome;
mod predicate;
pub(crate) mod prepared;
mod source;
mod tracked;
mod trigger;
mod watch;
pub(crate) mod worker;
pub(crate) mod writes;

use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use lariat_api::{Kind, Object, ObjectKey, Resource};
use lariat_workqueue::RateLimiter;
use serde::de::DeserializeOwned;

pub(crate) use self::context::Common;
pub use self::context::{Context, NotWatched};
use self::late::Late;
pub use self::outcome::{Failure, Outcome};
pub use self::predicate::Predicate;
use self::source::Source;
pub use self::tracked::{Change, TrackedApi};
pub use self::trigger::Trigger;
use self::watch::Map;
pub use self::watch::Watch;
use crate::boxed::Boxed;
use crate::limits::{CACHE_SYNC_TIMEOUT, OWN_WRITE_TIMEOUT};

/// A loop that has keys of one kind of object handled, each by one worker at a time, again and again until what is wanted is so.
///
/// It begins with a name and a kind, goes on with what else it hears of, ends with its handler, and is given to a
/// [`Manager`](crate::Manager). The handler gets the key, the object as the cache has it, or none if it is gone, and a
/// [`Context`].
///
/// What comes with it: one worker (see [`workers`](Self::workers)); a queue in which what happens now goes before what was there
/// at the start; delays from 5 ms to 1,000 s after failures of a key; a handler that panics is as one that fails; and the
/// handler is not called for a key before the caches show what it wrote for that key the last time, or 10 s are over.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat::prelude::*;
///
/// lariat::object! {
///     /// A shop.
///     pub struct Shop: namespaced "example.dev" "v1" "Shop" "shops" {
///         /// How many sell.
///         pub sellers: u32,
///     }
/// }
///
/// async fn reconcile(key: ObjectKey, shop: Option<Arc<Shop>>, context: Context) -> Result<Outcome, Failure> {
///     let Some(shop) = shop else { return Ok(Outcome::Done) };
///     context.events().normal(&*shop, "Opened", format!("{key} has {} sellers", shop.sellers));
///     Ok(Outcome::RequeueAfter(Duration::from_secs(600)))
/// }
///
/// # fn add(manager: &Manager) -> Result<(), lariat::AddError> {
/// manager.add(Controller::<Shop>::new("shops").workers(4).reconcile(reconcile))?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a controller does nothing until it has a handler and is added to a manager"]
pub struct Controller<K> {
    settings: Settings,
    predicates: Vec<Predicate<K>>,
}

/// A [`Controller`] with its handler, to be added to a [`Manager`](crate::Manager).
#[must_use = "a controller does nothing until it is added to a manager"]
pub struct ReadyController {
    settings: Settings,
    own: Source,
    handler: MakeHandler,
}

/// What does not depend on the type of the objects.
struct Settings {
    name: Arc<str>,
    kind: Kind,
    sources: Vec<Source>,
    workers: usize,
    late: Late,
    limiter: Option<Box<dyn RateLimiter<ObjectKey>>>,
    time_limit: Option<Duration>,
    own_writes: Option<Duration>,
    cache_sync_timeout: Duration,
    needs_leadership: bool,
    warm_up: bool,
}

/// Makes the handler once there is the cache that it reads from.
type MakeHandler = Box<dyn FnOnce(&[Arc<dyn cache::Cache>]) -> worker::Handler + Send>;

impl<K: Resource + DeserializeOwned> Controller<K> {
    /// Begins a controller of a type. Its name is in logs, metrics, events and requests, and no two of a manager have the same.
    pub fn new(name: impl Into<String>) -> Self {
        Self::of_kind(name, K::KIND)
    }
}

impl<K: Object + DeserializeOwned> Controller<K> {
    /// Begins a controller of a kind that the type does not tell.
    pub fn of_kind(name: impl Into<String>, kind: Kind) -> Self {
        let name: Arc<str> = name.into().into();
        Self {
            settings: Settings {
                late: Late::new(&name),
                limiter: None,
                name,
                kind,
                sources: Vec::new(),
                workers: 1,
                time_limit: None,
                own_writes: Some(OWN_WRITE_TIMEOUT),
                cache_sync_timeout: CACHE_SYNC_TIMEOUT,
                needs_leadership: true,
                warm_up: false,
            },
            predicates: Vec::new(),
        }
    }

    /// Hears of its own objects only what the predicate lets pass; of several predicates, what all do.
    pub fn filter(mut self, predicate: Predicate<K>) -> Self {
        self.predicates.push(predicate);
        self
    }

    /// Hears of objects that its own ones control by an owner reference, and handles the owner.
    pub fn owns<C: Resource + DeserializeOwned>(self) -> Self {
        self.watch(Watch::<C>::owned())
    }

    /// Hears of other objects too.
    pub fn watch<C: Object + DeserializeOwned>(mut self, watch: Watch<C>) -> Self {
        let of = self.settings.kind.clone();
        self.settings.sources.push(Source::watch(watch, of));
        self
    }

    /// Has a cache of a type to read from, and hears nothing of it.
    pub fn reads<C: Resource + DeserializeOwned>(self) -> Self {
        self.reads_of::<C>(C::KIND)
    }

    /// As [`reads`](Self::reads), of a kind that the type does not tell.
    pub fn reads_of<C: Object + DeserializeOwned>(mut self, kind: Kind) -> Self {
        self.settings.sources.push(Source::cache::<C>(kind));
        self
    }

    /// Handles each key that a stream yields. One that ends is over, and the rest goes on.
    ///
    /// A receiver of a channel is [one](Self::channel) too; see [`trigger`](Self::trigger) for what needs neither.
    pub fn stream(mut self, keys: impl Stream<Item = ObjectKey> + Send + 'static) -> Self {
        self.settings.sources.push(Source::stream(keys));
        self
    }

    /// Handles each key that comes through a channel.
    pub fn channel(mut self, keys: tokio::sync::mpsc::Receiver<ObjectKey>) -> Self {
        self.settings.sources.push(Source::channel(keys));
        self
    }

    /// Handles a key, which may be of no object, when the controller starts, and then each `period`. Never starts it anew while
    /// it runs; a period of zero is a millisecond.
    pub fn timer(mut self, period: Duration, key: ObjectKey) -> Self {
        self.settings.sources.push(Source::timer(period, key));
        self
    }

    /// Handles all of its objects again each `period`, when nothing is more urgent. Periods under a second are a second.
    pub fn resync(mut self, period: Duration) -> Self {
        self.settings.sources.push(Source::resync::<K>(self.settings.kind.clone(), period));
        self
    }

    /// Has keys handled from anywhere.
    pub fn trigger(&self) -> Trigger {
        self.settings.late.trigger.clone()
    }

    /// How many keys are handled at once; one if nothing is said, and at least one.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.max(1);
        self
    }

    /// How long a key waits before it is tried again; 5 ms, doubled with each failure up to 1,000 s, if nothing is said.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<ObjectKey> + 'static) -> Self {
        self.settings.limiter = Some(Box::new(limiter));
        self
    }

    /// How long the handler may take with a key; for ever if nothing is said. After that its future is dropped, wherever it is, and
    /// the key is tried again.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// How long a key waits until the caches show what its handler wrote the last time; 10 s if nothing is said. Zero for not at
    /// all: then the handler may see the past.
    pub fn own_writes_within(mut self, time: Duration) -> Self {
        self.settings.own_writes = (!time.is_zero()).then_some(time);
        self
    }

    /// How long to wait for the first lists at the start; 2 minutes if nothing is said. After that the manager ends with an error.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.settings.cache_sync_timeout = timeout;
        self
    }

    /// Whether it works only while this process leads; it does if nothing is said. Of no effect in a manager without an elector.
    pub fn needs_leadership(mut self, needs: bool) -> Self {
        self.settings.needs_leadership = needs;
        self
    }

    /// Whether it fills its queue before this process leads, so that it is at work at once when it does. It does not if nothing is
    /// said.
    pub fn warm_up(mut self, warm_up: bool) -> Self {
        self.settings.warm_up = warm_up;
        self
    }

    /// Calls `handler` for each key that is to be handled: with the key, the object in the cache if there is one, and what else it
    /// may need. An error of any kind becomes a [`Failure`] by `?`.
    pub fn reconcile<F>(
        self,
        handler: impl Fn(ObjectKey, Option<Arc<K>>, Context) -> F + Send + Sync + 'static,
    ) -> ReadyController
    where
        F: Future<Output = Result<Outcome, Failure>> + Send + 'static,
    {
        let Self { settings, predicates } = self;
        let kind = settings.kind.clone();
        let own = Source::watch(Watch { kind: kind.clone(), map: Map::Same, predicates }, kind.clone());
        let make: MakeHandler = Box::new(move |caches| {
            let lister = cache::find::<K>(caches, &kind).map(|informer| informer.lister());
            Arc::new(move |key, context| {
                let object = lister.as_ref().and_then(|lister| lister.get(&key).ok());
                let run: Boxed<'static, Result<Outcome, Failure>> = Box::pin(handler(key, object, context));
                run
            })
        });
        ReadyController { settings, own, handler: make }
    }
}

impl<K> Debug for Controller<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.settings.name).finish_non_exhaustive()
    }
}

// === impl ReadyController ===

impl ReadyController {
    /// The name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Has keys handled from anywhere.
    pub fn trigger(&self) -> Trigger {
        self.settings.late.trigger.clone()
    }
}

impl Debug for ReadyController {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyController").field("name", &self.settings.name).finish_non_exhaustive()
    }
}
