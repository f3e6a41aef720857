use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_api::{DynamicObject, Kind, Object, PartialObjectMetadata, Resource};
use lariat_client::Client;
use lariat_reflector::{InformerFactory, NotSynced};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::builder::{Settings, SharedControllerFactoryBuilder};
use super::controller::{SharedController, Slot};
use crate::boxed::Boxed;
use crate::controller::cache::is_same_resource;
use crate::env::Env;
use crate::manager::{BoxError, Runnable, Stop, Stopper};

/// Makes one [`SharedController`] for each type and kind, and starts and stops them together.
///
/// A clone is another handle to the same factory. When the last one is dropped, everything ends at once.
///
/// # Example
///
/// ```no_run
/// use lariat::prelude::*;
/// use lariat::shared::SharedControllerFactory;
///
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let factory = SharedControllerFactory::new(client);
/// let maps = factory.dynamic(Kind::namespaced("", "v1", "ConfigMap", "configmaps"));
/// maps.register("greeter", |key, _, _| async move {
///     println!("hello {key}");
///     Ok(None)
/// });
/// factory.start(0).await?;
/// signals()?.await;
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedControllerFactory(Arc<Shared>);

/// Why controllers could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The first lists took too long. The controllers can be started again.
    #[error("{0}")]
    NotSynced(NotSynced),
}

struct Shared {
    env: Arc<Env>,
    informers: InformerFactory,
    settings: Arc<Settings>,
    slots: Mutex<Vec<Arc<dyn Slot>>>,
    /// Whether the events are this factory's to send.
    owns_env: bool,
    events: Mutex<Option<Events>>,
}

/// The task that sends events.
struct Events {
    stopper: Stopper,
    task: JoinHandle<()>,
}

impl SharedControllerFactory {
    /// A factory with 5 workers for each kind.
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Begins a factory.
    pub fn builder(client: Client) -> SharedControllerFactoryBuilder {
        SharedControllerFactoryBuilder::new(client)
    }

    pub(super) fn with(
        env: Arc<Env>,
        informers: InformerFactory,
        settings: Settings,
        owns_env: bool,
    ) -> Self {
        Self(Arc::new(Shared {
            env,
            informers,
            settings: Arc::new(settings),
            slots: Mutex::default(),
            owns_env,
            events: Mutex::default(),
        }))
    }

    /// The controller of a type.
    pub fn controller<K: Resource + DeserializeOwned>(&self) -> SharedController<K> {
        self.controller_of(K::KIND)
    }

    /// The controller of a kind that the type does not tell. There is one for each type and each group, version and plural.
    pub fn controller_of<K: Object + DeserializeOwned>(&self, kind: Kind) -> SharedController<K> {
        let mut slots = self.slots();
        let of_type = slots.iter().filter_map(|slot| slot.as_any().downcast_ref::<SharedController<K>>());
        if let Some(known) = of_type.into_iter().find(|known| is_same_resource(known.kind(), &kind)) {
            return known.clone();
        }
        let Shared { env, informers, settings, .. } = &*self.0;
        let made = SharedController::<K>::new(kind, env.clone(), informers.clone(), settings.clone());
        slots.push(Arc::new(made.clone()));
        made
    }

    /// The controller of a kind that is known only at run time, with objects as they come.
    #[inline] // so that it is compiled where somebody calls it, and only there
    pub fn dynamic(&self, kind: Kind) -> SharedController<DynamicObject> {
        self.controller_of(kind)
    }

    /// The controller of the metadata of a kind. The server is asked for nothing else.
    #[inline] // so that it is compiled where somebody calls it, and only there
    pub fn metadata(&self, kind: Kind) -> SharedController<PartialObjectMetadata> {
        self.controller_of(kind)
    }

    /// Starts the controllers that are used and do not run, and returns once their caches have their first lists. With `workers`
    /// of 0 each has as many as the [builder](SharedControllerFactoryBuilder::workers) says. What is used later needs another start;
    /// what runs is not touched.
    ///
    /// # Errors
    ///
    /// If the first lists take too long: none of those controllers has started then.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn start(&self, workers: usize) -> Result<(), StartError> {
        self.send_events();
        let slots = self.slots().clone();
        let begun: Vec<_> =
            slots.into_iter().filter_map(|slot| slot.prepare(workers).map(|begun| (slot, begun))).collect();
        self.0.informers.start();
        if let Err(error) = self.0.informers.wait_for_sync(self.0.settings.cache_sync_timeout).await {
            for (slot, begun) in begun {
                drop(begun);
                let keys = slot.stop(true).await;
                slot.restore(keys);
            }
            return Err(StartError::NotSynced(error));
        }
        for (slot, begun) in begun {
            slot.spawn(begun);
        }
        Ok(())
    }

    /// Stops the controllers, lets them finish what they have begun, and keeps caches and handlers: they can be
    /// [started](Self::start) again. Returns how many keys were left.
    pub async fn stop(&self) -> usize {
        self.stop_all(true).await
    }

    async fn stop_all(&self, report: bool) -> usize {
        let slots = self.slots().clone();
        let mut left = 0;
        for slot in slots {
            left += slot.stop(report).await.len();
        }
        left
    }

    /// Stops and forgets the controllers of a kind, of whatever type, with their caches and handlers, as for a resource that is
    /// served no more. Says whether there was one. Handles that are left do nothing more.
    pub async fn remove(&self, kind: &Kind) -> bool {
        let removed = {
            let mut slots = self.slots();
            let (removed, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut *slots).into_iter().partition(|slot| is_same_resource(slot.kind(), kind));
            *slots = kept;
            removed
        };
        for slot in &removed {
            slot.stop(true).await;
        }
        self.0.informers.stop(kind).await;
        self.0.env.forget(kind);
        !removed.is_empty()
    }

    /// Stops everything, caches too, but for those of a manager. Returns how many keys were left; in a factory [of a
    /// manager](crate::Manager::shared_controllers) that is for the manager to say.
    pub async fn shutdown(&self) -> usize {
        // What is left by one of a manager's, the manager reports.
        let left = self.stop_all(self.0.owns_env).await;
        if !self.0.owns_env {
            return left;
        }
        self.0.informers.shutdown().await;
        let events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut events) = events {
            events.stopper.stop();
            // Whether they could all be sent is logged.
            let _ = tokio::time::timeout(crate::limits::EVENT_FLUSH, &mut events.task).await;
        }
        left
    }

    /// The factory as something that a [`Manager`](crate::Manager) runs: it starts it when its turn is, with as many workers, and
    /// stops it in the end.
    pub fn runnable(&self, name: impl Into<String>, workers: usize) -> Runnable {
        let factory = self.clone();
        Runnable::new(name, move |stop: Stop| async move {
            tokio::select! {
                biased;
                () = stop.stopped() => {}
                started = factory.start(workers) => {
                    started.map_err(BoxError::from)?;
                    stop.stopped().await;
                }
            }
            factory.shutdown().await;
            Ok(())
        })
    }

    /// The informers.
    pub fn informers(&self) -> &InformerFactory {
        &self.0.informers
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.0.env.client
    }

    /// All metrics, as Prometheus reads them.
    pub fn metrics(&self) -> String {
        self.0.env.metrics.text()
    }

    fn send_events(&self) {
        let mut events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.owns_env || events.is_some() {
            return;
        }
        let (stopper, stop) = Stop::new();
        let env = self.0.env.clone();
        let send: Boxed<'static, ()> = Box::pin(async move { env.broadcaster.run(stop.stopped()).await });
        let task = tokio::spawn(send);
        *events = Some(Events { stopper, task });
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Arc<dyn Slot>>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Debug for SharedControllerFactory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.slots().iter().map(|slot| slot.kind().to_string()).collect();
        f.debug_struct("SharedControllerFactory").field("kinds", &kinds).finish_non_exhaustive()
    }
}
