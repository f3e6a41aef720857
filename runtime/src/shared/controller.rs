use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lariat_api::{Kind, Object, ObjectKey};
use lariat_reflector::Informer;
use lariat_store::Lister;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::builder::Settings;
use super::chain::{Call, Chain};
use super::transaction::HandlerTransaction;
use crate::boxed::Boxed;
use crate::controller::prepared::{Prepared, left};
use crate::controller::worker::Desk;
use crate::controller::{Context, Controller, Failure, Predicate, Trigger};
use crate::env::Env;
use crate::manager::{Stop, Stopper};
use lariat_reflector::InformerFactory;

/// The controller of one kind, shared by several handlers; from a [`SharedControllerFactory`](crate::shared::SharedControllerFactory).
///
/// A clone is another handle to the same controller. Nothing is made before it is used: before a handler is registered, a key
/// added, or its cache asked for.
///
/// # Example
///
/// ```
/// use lariat::prelude::*;
/// use lariat::shared::SharedControllerFactory;
///
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let factory = SharedControllerFactory::new(client);
/// let nodes = factory.dynamic(Kind::cluster("", "v1", "Node", "nodes"));
/// nodes.register("greeter", |key, node, _context| async move {
///     println!("{key} is {}", if node.is_some() { "there" } else { "gone" });
///     Ok(None) // the next handler gets the same
/// });
/// factory.start(0).await?;
/// nodes.enqueue_key(ObjectKey::new("", "a"));
/// # Ok(())
/// # }
/// ```
pub struct SharedController<K>(Arc<Inner<K>>);

pub(super) struct Inner<K> {
    kind: Kind,
    name: Arc<str>,
    env: Arc<Env>,
    factory: InformerFactory,
    settings: Arc<Settings>,
    chain: Arc<Chain<K>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether somebody has done anything with it.
    is_used: bool,
    /// What was added before the start.
    early: Vec<Early>,
    running: Option<Running>,
}

/// A key that was added before the start.
enum Early {
    Plain(ObjectKey),
    RateLimited(ObjectKey),
    After(ObjectKey, Duration),
}

struct Running {
    trigger: Trigger,
    stopper: Stopper,
    desk: Arc<Desk>,
    task: Option<AbortOnDrop>,
}

struct AbortOnDrop(JoinHandle<()>);

/// A handler's place in a [`SharedController`].
///
/// Dropping it leaves the handler where it is.
///
/// # Example
///
/// ```
/// # use lariat::{DynamicObject, shared::{HandlerRegistration, SharedController}};
/// # fn run(nodes: SharedController<DynamicObject>) {
/// let greeter: HandlerRegistration = nodes.register("greeter", |_, _, _| async { Ok(None) });
/// greeter.remove();
/// # }
/// ```
pub struct HandlerRegistration {
    remove: Box<dyn Fn() + Send + Sync>,
}

impl<K: Object + DeserializeOwned> SharedController<K> {
    pub(super) fn new(kind: Kind, env: Arc<Env>, factory: InformerFactory, settings: Arc<Settings>) -> Self {
        let suffix = if K::IS_METADATA_ONLY { ":metadata" } else { "" };
        let name: Arc<str> = format!("{kind}{suffix}").into();
        let chain = Arc::new(Chain::new(name.clone(), env.metrics.lasso()));
        Self(Arc::new(Inner { kind, name, env, factory, settings, chain, state: Mutex::default() }))
    }

    /// Has `handler` called for each key after the handlers that are there: with the newest object that the cache or a handler
    /// before has of it, or none if it is gone. What it returns the next one gets; with none, what it got itself. A
    /// [`Failure::ignore`] counts for nothing; any other failure has the key tried again, and does not keep the others from being
    /// called. So does a panic.
    ///
    /// If the controller runs already, all of its keys are handled again.
    pub fn register<F>(
        &self,
        name: &str,
        handler: impl Fn(ObjectKey, Option<Arc<K>>, Context) -> F + Send + Sync + 'static,
    ) -> HandlerRegistration
    where
        F: Future<Output = Result<Option<Arc<K>>, Failure>> + Send + 'static,
    {
        let call: Call<K> = Arc::new(move |key, object, context| Box::pin(handler(key, object, context)));
        let id = self.add(name, call);
        let chain: Weak<Chain<K>> = Arc::downgrade(&self.0.chain);
        let remove = Box::new(move || {
            if let Some(chain) = chain.upgrade() {
                chain.remove(id);
            }
        });
        HandlerRegistration { remove }
    }

    /// As [`register`](Self::register), once a transaction is committed. One that is not registers nothing.
    pub fn register_in<F>(
        &self,
        transaction: &mut HandlerTransaction,
        name: &str,
        handler: impl Fn(ObjectKey, Option<Arc<K>>, Context) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Option<Arc<K>>, Failure>> + Send + 'static,
    {
        let (controller, name) = (self.clone(), name.to_owned());
        transaction.push(move || drop(controller.register(&name, handler)));
    }

    fn add(&self, name: &str, call: Call<K>) -> u64 {
        let id = self.0.chain.add(name, call);
        let trigger = {
            let mut state = self.0.state();
            state.is_used = true;
            state.running.as_ref().map(|running| running.trigger.clone())
        };
        if let Some(trigger) = trigger {
            for key in self.informer().lister().store().keys() {
                trigger.enqueue(key);
            }
        }
        id
    }

    /// Has a key handled when the rate limiter allows, and charges it with a failure. Before the start, it is handled then.
    pub fn enqueue(&self, key: ObjectKey) {
        self.push(Early::RateLimited(key));
    }

    /// Has a key handled as soon as there is a worker. Before the start, it is handled then.
    pub fn enqueue_key(&self, key: ObjectKey) {
        self.push(Early::Plain(key));
    }

    /// Has a key handled after a time. Before the start, the time begins then.
    pub fn enqueue_after(&self, key: ObjectKey, delay: Duration) {
        self.push(Early::After(key, delay));
    }

    fn push(&self, early: Early) {
        let mut state = self.0.state();
        state.is_used = true;
        match &state.running {
            Some(running) => early.add(&running.trigger),
            None => state.early.push(early),
        }
    }

    /// The informer behind the cache.
    pub fn informer(&self) -> Informer<K> {
        self.0.state().is_used = true;
        self.0.factory.informer_of(self.0.kind.clone())
    }

    /// A read-only view of the cache.
    pub fn lister(&self) -> Lister<K> {
        self.informer().lister()
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The name, as logs, metrics and requests have it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it has been started and not stopped since.
    pub fn is_running(&self) -> bool {
        self.0.state().running.is_some()
    }
}

impl<K> Inner<K> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Early {
    fn add(self, trigger: &Trigger) {
        match self {
            Self::Plain(key) => trigger.enqueue(key),
            Self::RateLimited(key) => trigger.enqueue_rate_limited(key),
            Self::After(key, delay) => trigger.enqueue_after(key, delay),
        }
    }
}

impl<K> Clone for SharedController<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Debug for SharedController<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedController").field("name", &self.0.name).finish_non_exhaustive()
    }
}

// === impl HandlerRegistration ===

impl HandlerRegistration {
    /// Removes the handler: it is called no more, but for a call that has begun.
    pub fn remove(&self) {
        (self.remove)();
    }

    /// Removes the handler when `ended` is ready. The future has to be polled by somebody.
    pub async fn remove_when(self, ended: impl Future<Output = ()>) {
        ended.await;
        self.remove();
    }
}

impl Debug for HandlerRegistration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("HandlerRegistration")
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

// === What the factory does with a controller of whatever type ===

pub(super) trait Slot: Send + Sync {
    fn kind(&self) -> &Kind;

    /// Prepares the start, if it is used and does not run: its cache is made, and keys go into its queue from now on.
    fn prepare(&self, workers: usize) -> Option<Begun>;

    /// Goes on with the start.
    fn spawn(&self, begun: Begun);

    /// Stops, and says which keys were left if it is to. It may be started again.
    fn stop(&self, report: bool) -> Boxed<'_, BTreeSet<ObjectKey>>;

    /// Has keys be handled at the next start.
    fn restore(&self, keys: BTreeSet<ObjectKey>);

    fn as_any(&self) -> &dyn std::any::Any;
}

/// A controller that is about to start.
pub(super) struct Begun {
    prepared: Prepared,
    stop: Stop,
}

impl<K: Object + DeserializeOwned> Slot for SharedController<K> {
    fn kind(&self) -> &Kind {
        &self.0.kind
    }

    fn prepare(&self, workers: usize) -> Option<Begun> {
        let Inner { kind, name, env, factory, settings, chain, .. } = &*self.0;
        let mut state = self.0.state();
        if !state.is_used || state.running.is_some() {
            return None;
        }
        let mut controller = Controller::<K>::of_kind(&**name, kind.clone())
            .workers(settings.workers_of(kind, workers))
            .rate_limiter(settings.limiter_of(kind))
            .cache_sync_timeout(settings.cache_sync_timeout);
        if settings.only_changed {
            controller = controller.filter(Predicate::resource_version_changed());
        }
        let chain = chain.clone();
        let controller = controller.reconcile(move |key, object, context| {
            let chain = chain.clone();
            async move { chain.run(key, object, context).await }
        });
        let trigger = controller.trigger();
        let prepared = Prepared::new(controller, env, factory);
        let (stopper, stop) = Stop::new();
        for early in state.early.drain(..) {
            early.add(&trigger);
        }
        state.running = Some(Running { trigger, stopper, desk: prepared.desk.clone(), task: None });
        Some(Begun { prepared, stop })
    }

    fn spawn(&self, begun: Begun) {
        let name = self.0.name.clone();
        let run: Boxed<'static, ()> = Box::pin(async move {
            let Begun { prepared, stop } = begun;
            if let Err(error) = prepared.run(None, stop).await {
                tracing::error!(controller = &*name, %error, "a shared controller has ended");
            }
        });
        let task = tokio::spawn(run);
        match &mut self.0.state().running {
            Some(running) => running.task = Some(AbortOnDrop(task)),
            // It was stopped meanwhile.
            None => task.abort(),
        }
    }

    fn stop(&self, report: bool) -> Boxed<'_, BTreeSet<ObjectKey>> {
        let running = self.0.state().running.take();
        Box::pin(async move {
            let Some(Running { stopper, desk, task, .. }) = running else { return BTreeSet::new() };
            stopper.stop();
            match task {
                // An error means that it was aborted, or panicked and said so.
                Some(mut task) => drop((&mut task.0).await),
                None => desk.queue.shut_down(),
            }
            if report { left(&desk).await } else { BTreeSet::new() }
        })
    }

    fn restore(&self, keys: BTreeSet<ObjectKey>) {
        self.0.state().early.extend(keys.into_iter().map(Early::Plain));
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
