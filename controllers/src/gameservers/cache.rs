use std::sync::Arc;
use std::time::Duration;

use lariat::api::ObjectMeta;
use lariat::client::Error;
use lariat::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The cache of an informer with own writes over it, and the way to write: so that nothing is ever written over a version
/// that this program itself has made stale.
///
/// The loops of a program share one for each kind: what one writes, the others see at once.
pub struct Writes<K> {
    api: Api<K>,
    cache: MutationCache<K>,
}

/// How many own writes are remembered that the watch has not brought yet.
const CAPACITY: usize = 100_000;

/// For how long.
const TTL: Duration = Duration::from_secs(60);

impl<K: Resource<Meta = ObjectMeta> + Serialize + DeserializeOwned> Writes<K> {
    /// Own writes over an informer's cache.
    pub fn new(client: Client, informer: &Informer<K>) -> Self {
        let cache = MutationCache::new(informer).capacity(CAPACITY).ttl(TTL).include_adds(true);
        Self { api: Api::all(client), cache }
    }

    /// The newest version that is known.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.cache.get(key)
    }

    /// The resourceVersion up to which the informer's cache follows the server. What was written up to then and is in no list that
    /// is taken afterwards is gone.
    pub fn reached(&self) -> String {
        self.cache.last_sync_resource_version()
    }

    /// All objects with a value of an index.
    pub fn by_index(&self, name: &str, value: &str) -> Vec<Arc<K>> {
        // An index that is missing is a fault of the wiring, which tests would show: there is nothing under it.
        self.cache.by_index(name, value).unwrap_or_default()
    }

    /// All objects.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.cache.list()
    }

    /// Creates an object.
    ///
    /// # Errors
    ///
    /// As [`Api::create`].
    pub async fn create(&self, object: &K) -> Result<Arc<K>, Error> {
        self.api.create(object).await.map(|written| self.note(written))
    }

    /// Replaces an object.
    ///
    /// # Errors
    ///
    /// As [`Api::update`].
    pub async fn update(&self, object: &K) -> Result<Arc<K>, Error> {
        self.api.update(object).await.map(|written| self.note(written))
    }

    /// Replaces an object's status.
    ///
    /// # Errors
    ///
    /// As [`Api::update_status`].
    pub async fn update_status(&self, object: &K) -> Result<Arc<K>, Error> {
        self.api.update_status(object).await.map(|written| self.note(written))
    }

    /// The API, for what is neither.
    pub fn api(&self) -> &Api<K> {
        &self.api
    }

    fn note(&self, written: K) -> Arc<K> {
        let written = Arc::new(written);
        // An object without a name cannot come back from a server.
        let _ = self.cache.mutated(written.clone());
        written
    }

    /// Notes that an object is gone.
    pub fn deleted(&self, last_known: &K) {
        let _ = self.cache.deleted(last_known);
    }
}

impl<K> std::fmt::Debug for Writes<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writes").field("api", &self.api).finish_non_exhaustive()
    }
}
