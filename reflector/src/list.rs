//! What is there, by lists.

use lariat_api::Object;
use lariat_client::{Item, ListParams};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use crate::error::ReflectorError;
use crate::limits::{PAGE_SIZE, SILENCE};
use crate::reflector::{Reflector, version_unavailable};
use crate::relist::Relist;
use crate::version::is_older;

impl<K: Object + DeserializeOwned> Reflector<K> {
    /// Lists not older than the last version; if the server does not have that any more, or not yet, at its newest.
    pub(crate) async fn list(&mut self) -> Result<(), ReflectorError> {
        let began = Instant::now();
        let asked = match self.cache.version.current() {
            _ if self.memory.version_is_unavailable => String::new(),
            version if version.is_empty() && self.settings.consistent_start => version,
            version if version.is_empty() => "0".to_owned(),
            version => version,
        };
        // As client-go does, the choice of pages is made for the version that is asked for first.
        let limit = self.limit(&asked);
        let listed = match self.list_at(asked.clone(), limit).await {
            Err(ReflectorError::List(error)) if error.status().is_some_and(version_unavailable) => {
                self.memory.version_is_unavailable = true;
                self.list_at(String::new(), limit).await
            }
            Ok((_, answered)) if is_older(&answered, &asked) => {
                // One that is behind, and did not say so. The newest it has to ask others for.
                self.report(&ReflectorError::WentBack { asked, answered });
                self.memory.version_is_unavailable = true;
                self.list_at(String::new(), limit).await
            }
            listed => listed,
        };
        let (relist, version) = listed?;
        self.memory.version_is_unavailable = false;
        self.finish(relist, &version, began);
        Ok(())
    }

    /// How many objects a page has. What a server has in memory it gives at once.
    fn limit(&self, version: &str) -> u32 {
        let from_memory = !version.is_empty() && version != "0" && !self.memory.lists_in_pages;
        match self.settings.page_size {
            0 if from_memory => 0,
            0 => PAGE_SIZE,
            size => size,
        }
    }

    /// Makes the cache equal to a list.
    pub(crate) fn finish(&self, relist: Relist<K>, version: &str, began: Instant) {
        let objects = relist.objects();
        self.cache.finish_relist(relist, version);
        self.progress.succeed();
        self.metrics.listed(&self.name, objects, began.elapsed());
        self.metrics.bookmarked(&self.name, version);
    }

    /// Lists all pages. If the later ones expire, lists once more without pages.
    async fn list_at(&mut self, version: String, limit: u32) -> Result<(Relist<K>, String), ReflectorError> {
        let mut params = ListParams {
            label_selector: self.settings.label_selector.clone(),
            field_selector: self.settings.field_selector.clone(),
            limit,
            resource_version: version.clone(),
            ..ListParams::default()
        };
        let mut relist = Relist::new(&self.cache);
        let mut listed_version = None;
        loop {
            match self.list_page(&params, &mut relist).await {
                Ok(page) => {
                    // Pages belong to one version, the first one's, unless the server had to go on at a newer one.
                    let listed_version = listed_version.get_or_insert(page.resource_version);
                    if page.continue_token.is_empty() {
                        return Ok((relist, std::mem::take(listed_version)));
                    }
                    self.memory.lists_in_pages |= version == "0";
                    params.continue_token = page.continue_token;
                    params.resource_version.clear();
                }
                Err(ReflectorError::List(error)) if error.is_gone() && !params.continue_token.is_empty() => {
                    params.limit = 0;
                    params.continue_token.clear();
                    params.resource_version.clone_from(&version);
                    relist = Relist::new(&self.cache);
                    listed_version = None;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn list_page(
        &self,
        params: &ListParams,
        relist: &mut Relist<K>,
    ) -> Result<lariat_api::ListMeta, ReflectorError> {
        let mut list = self.api.list(params).await.map_err(ReflectorError::List)?;
        loop {
            let next = timeout(SILENCE, list.next()).await.map_err(|_| ReflectorError::Silent(SILENCE))?;
            match next.map_err(ReflectorError::List)? {
                None => break,
                Some(Item::Object(object)) => self.take(object, relist),
                Some(Item::Undecodable(item)) => {
                    if let Some(key) = item.key() {
                        relist.keep(key);
                    }
                    self.report(&ReflectorError::Undecodable(item));
                }
            }
        }
        self.tell_bytes(0, list.bytes_read());
        Ok(list.meta().cloned().unwrap_or_default())
    }

    /// Takes an object into a list. What cannot be used is reported; what the cache holds in its place stays.
    pub(crate) fn take(&self, object: K, relist: &mut Relist<K>) {
        match self.cache.prepare(object) {
            Ok(fresh) => relist.take(fresh, &self.cache),
            Err(error) => {
                if let ReflectorError::Transform { key, .. } = &error {
                    relist.keep(key.clone());
                }
                self.report(&error);
            }
        }
    }
}
