//! One informer for each kind, made, run and ended together.

mod builder;
mod slot;
mod task;

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_api::{DynamicObject, Kind, Object, PartialObjectMetadata, Resource};
use lariat_client::Client;
use lariat_store::Lister;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use self::builder::Defaults;
pub use self::builder::{InformerFactoryBuilder, ListOptions};
use self::slot::Slot;
use self::task::Task;
use crate::builder::InformerBuilder;
use crate::informer::Informer;
use crate::not_synced::NotSynced;

/// Makes informers, one for each type and kind, and runs them as tasks of its own.
///
/// Those who ask for the same informer share it: one watch, one cache. Ask for all, add handlers, then
/// [`start`](Self::start) and [wait](Self::wait_for_sync).
///
/// A clone is another handle to the same factory. When the last one is dropped, all tasks are aborted; a handler that holds one
/// keeps that from happening, so let [`shutdown`](Self::shutdown) be called then.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_api::Kind;
/// use lariat_api::labels::Selector;
/// use lariat_apiserver::ApiServer;
/// use lariat_client::{Client, Config};
/// use lariat_reflector::InformerFactory;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = ApiServer::builder().build();
/// # let connector = move |_: &http::Uri| std::future::ready(Ok(server.connect()));
/// # let client = Client::builder(Config::new("http://in-process".parse()?)?).connector(connector).build()?;
/// let factory = InformerFactory::new(client);
/// let namespaces = factory.dynamic(Kind::cluster("", "v1", "Namespace", "namespaces")).lister();
/// let secrets = factory.metadata(Kind::namespaced("", "v1", "Secret", "secrets")).lister();
///
/// factory.start();
/// factory.wait_for_sync(Duration::from_secs(30)).await?;
/// assert!(namespaces.get(&"kube-system".parse()?).is_ok());
/// assert!(secrets.list(&Selector::everything()).is_empty());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct InformerFactory(Arc<Shared>);

/// An informer that exists already, so that nothing can be said about how it is made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "informer of {0} exists already and stays as it is: customise it before anybody asks for it, or stop it first"
)]
pub struct AlreadyMade(pub Kind);

struct Shared {
    client: Client,
    defaults: Defaults,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they were asked for.
    slots: Vec<Slot>,
    /// Those of informers that were forgotten and have not quite ended.
    ending: Vec<Arc<Task>>,
    is_shut_down: bool,
}

impl InformerFactory {
    /// A factory of informers of all namespaces, each as [`InformerBuilder`] makes it.
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Begins a factory.
    pub fn builder(client: Client) -> InformerFactoryBuilder {
        InformerFactoryBuilder::new(client)
    }

    fn with_defaults(client: Client, defaults: Defaults) -> Self {
        Self(Arc::new(Shared { client, defaults, state: Mutex::default() }))
    }

    /// The informer of a type, which is made if there is none.
    ///
    /// One that is made after [`start`](Self::start) waits for the next start.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_api::{Kind, Object, ObjectMeta, Resource};
    /// # use lariat_reflector::InformerFactory;
    /// # #[derive(serde::Deserialize)]
    /// # struct Fleet { metadata: ObjectMeta }
    /// # impl Object for Fleet {
    /// #     type Meta = ObjectMeta;
    /// #     fn meta(&self) -> &ObjectMeta { &self.metadata }
    /// # }
    /// # impl Resource for Fleet {
    /// #     const KIND: Kind = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
    /// # }
    /// # let client = lariat_fixtures::ScriptedServer::new([]).client()?;
    /// let factory = InformerFactory::new(client);
    /// assert_eq!(factory.informer::<Fleet>().name(), "fleets.agones.dev");
    /// # Ok::<(), lariat_client::Error>(())
    /// ```
    pub fn informer<K: Resource + DeserializeOwned>(&self) -> Informer<K> {
        self.informer_of(K::KIND)
    }

    /// The informer of a kind that the type does not tell.
    ///
    /// There is one for each type and each group, version and plural.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_api::{DynamicObject, Kind};
    /// # use lariat_reflector::InformerFactory;
    /// # let factory = InformerFactory::new(lariat_fixtures::ScriptedServer::new([]).client()?);
    /// let nodes = factory.informer_of::<DynamicObject>(Kind::cluster("", "v1", "Node", "nodes"));
    /// assert_eq!(nodes.kind().kind(), "Node");
    /// # Ok::<(), lariat_client::Error>(())
    /// ```
    pub fn informer_of<K: Object + DeserializeOwned>(&self, kind: Kind) -> Informer<K> {
        if let Some(informer) = self.state().find(&kind) {
            return informer;
        }
        // Made without the lock, since that calls what the user gave.
        let made = self.0.defaults.builder(self.0.client.clone(), kind.clone()).build();
        let mut state = self.state();
        state.find(&kind).unwrap_or_else(|| state.add(made))
    }

    /// The informer of a kind that is known only at run time, with objects as they come.
    #[inline] // so that it is compiled where somebody calls it, and only there
    pub fn dynamic(&self, kind: Kind) -> Informer<DynamicObject> {
        self.informer_of(kind)
    }

    /// The informer of the metadata of a kind. The server is asked for nothing else.
    ///
    /// Its name ends in `:metadata`.
    #[inline] // so that it is compiled where somebody calls it, and only there
    pub fn metadata(&self, kind: Kind) -> Informer<PartialObjectMetadata> {
        self.informer_of(kind)
    }

    /// Makes the informer of a type in a way of its own: `customize` gets it as this factory would make it.
    ///
    /// # Errors
    ///
    /// If it exists already, whoever asked for it: what `customize` says would have no effect then.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_api::{DynamicObject, Kind};
    /// # use lariat_reflector::InformerFactory;
    /// # let client = lariat_fixtures::ScriptedServer::new([]).client()?;
    /// let factory = InformerFactory::new(client);
    /// let pods = Kind::namespaced("", "v1", "Pod", "pods");
    /// let games = |builder: lariat_reflector::InformerBuilder<DynamicObject>| builder.label_selector("role=game");
    /// assert!(factory.informer_of_with(pods.clone(), games).is_ok());
    /// assert!(factory.informer_of_with(pods, games).is_err());
    /// # Ok::<(), lariat_client::Error>(())
    /// ```
    pub fn informer_with<K: Resource + DeserializeOwned>(
        &self,
        customize: impl FnOnce(InformerBuilder<K>) -> InformerBuilder<K>,
    ) -> Result<Informer<K>, AlreadyMade> {
        self.informer_of_with(K::KIND, customize)
    }

    /// As [`informer_with`](Self::informer_with), of a kind that the type does not tell.
    ///
    /// # Errors
    ///
    /// If it exists already.
    pub fn informer_of_with<K: Object + DeserializeOwned>(
        &self,
        kind: Kind,
        customize: impl FnOnce(InformerBuilder<K>) -> InformerBuilder<K>,
    ) -> Result<Informer<K>, AlreadyMade> {
        let made = customize(self.0.defaults.builder(self.0.client.clone(), kind.clone())).build();
        let mut state = self.state();
        if state.find::<K>(&kind).is_some() {
            return Err(AlreadyMade(kind));
        }
        Ok(state.add(made))
    }

    /// A read-only view of the cache of the informer of a type, which is made if there is none.
    pub fn lister<K: Resource + DeserializeOwned>(&self) -> Lister<K> {
        self.informer::<K>().lister()
    }

    /// Starts all informers that were not started yet, and returns at once. After [`shutdown`](Self::shutdown) it does nothing.
    ///
    /// # Panics
    ///
    /// If there is one to start and this is not called on a tokio runtime.
    pub fn start(&self) {
        let mut state = self.state();
        if state.is_shut_down {
            return;
        }
        for slot in state.slots.iter_mut().filter(|slot| slot.task.is_none()) {
            slot.task = Some(Arc::new(Task::spawn(slot.informer.clone())));
        }
    }

    /// Waits until all informers that are started by now have their first list, but no longer than this.
    ///
    /// One that is [stopped](Self::stop) meanwhile is not waited for any more. A [shutdown](Self::shutdown) ends the waiting.
    ///
    /// # Errors
    ///
    /// If some have not synced: each is named, with what went wrong last, such as a permission that is missing.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped changes nothing.
    pub async fn wait_for_sync(&self, within: Duration) -> Result<(), NotSynced> {
        let began = Instant::now();
        let started: Vec<_> = {
            let state = self.state();
            let started = |slot: &Slot| Some((slot.informer.clone(), slot.task.clone()?));
            state.slots.iter().filter_map(started).collect()
        };
        let all = async {
            for (informer, task) in &started {
                tokio::select! {
                    biased;
                    () = informer.synced() => {}
                    () = task.over() => {}
                }
            }
        };
        // What counts is who has synced, in time or just after.
        let _ = timeout(within, all).await;
        let state = self.state();
        let is_forgotten = |task: &Arc<Task>| {
            !state.slots.iter().any(|slot| slot.task.as_ref().is_some_and(|known| Arc::ptr_eq(known, task)))
        };
        let informers: Vec<_> = started
            .iter()
            .filter(|(_, task)| !is_forgotten(task))
            .filter_map(|(informer, _)| informer.unsynced())
            .collect();
        if informers.is_empty() { Ok(()) } else { Err(NotSynced { waited: began.elapsed(), informers }) }
    }

    /// Stops and forgets the informers of a kind, of whatever type, as for a resource that is served no more. Says whether there
    /// was one. Returns once its handlers have heard of everything that was applied.
    ///
    /// An informer runs once: to follow the kind again, ask for its informer again, add handlers, and start.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_api::Kind;
    /// # use lariat_reflector::InformerFactory;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let factory = InformerFactory::new(lariat_fixtures::ScriptedServer::new([]).client()?);
    /// let fleets = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
    /// let first = factory.dynamic(fleets.clone());
    /// factory.start();
    /// assert!(factory.stop(&fleets).await && first.is_stopped());
    /// let second = factory.dynamic(fleets);
    /// factory.start();
    /// assert!(!second.is_stopped());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// The informers are forgotten and stop even if the future is dropped after its first poll.
    pub async fn stop(&self, kind: &Kind) -> bool {
        let (removed, tasks) = {
            let mut state = self.state();
            let (removed, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.slots).into_iter().partition(|slot| slot.is_of(kind));
            state.slots = kept;
            let tasks: Vec<_> = removed.iter().filter_map(|slot| slot.task.clone()).collect();
            state.ending.retain(|task| !task.is_over());
            state.ending.extend(tasks.iter().cloned());
            (removed.len(), tasks)
        };
        end(&tasks).await;
        self.state().ending.retain(|task| !task.is_over());
        removed > 0
    }

    /// Stops all informers, and returns once none of their tasks is left: every handler has heard of what was applied. From then
    /// on nothing is started any more, while the caches can still be read. May be repeated.
    ///
    /// A handler that hangs keeps this from returning; dropping the factory does not wait for it.
    ///
    /// # Cancel safety
    ///
    /// The informers stop even if the future is dropped after its first poll.
    pub async fn shutdown(&self) {
        let tasks: Vec<_> = {
            let mut state = self.state();
            state.is_shut_down = true;
            let running = state.slots.iter().filter_map(|slot| slot.task.as_ref());
            running.chain(&state.ending).cloned().collect()
        };
        end(&tasks).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops tasks side by side and waits for all.
async fn end(tasks: &[Arc<Task>]) {
    for task in tasks {
        task.stop();
    }
    for task in tasks {
        task.over().await;
    }
}

impl State {
    fn find<K: Object>(&self, kind: &Kind) -> Option<Informer<K>> {
        self.slots.iter().find_map(|slot| slot.informer_of(kind))
    }

    fn add<K: Object + DeserializeOwned>(&mut self, informer: Informer<K>) -> Informer<K> {
        self.slots.push(Slot::new(informer.clone()));
        informer
    }
}

impl Debug for InformerFactory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerFactory").field("client", &self.0.client).finish_non_exhaustive()
    }
}
