//! List, then watch, for ever.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_api::{EventError, Object, Randomness, ResourceVersion, Status, WatchEvent};
use lariat_client::decode::WatchError;
use lariat_client::{Api, Error, Item, ListParams, WatchParams, WatchStream};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, sleep_until};

use crate::backoff::Backoff;
use crate::cache::{Cache, Relist};
use crate::error::{ErrorHandler, ReflectorError};
use crate::limits::{MIN_WATCH_TIMEOUT, PAGE_SIZE, SHORT_WATCH, SHORT_WATCHES_AT_ONCE};

/// Follows one collection of an API server and keeps a cache equal to it.
///
/// # Cancel safety
///
/// Dropping the future of [`run`](Self::run) at any point leaves the cache as the last complete step made it.
pub(crate) struct Reflector<K> {
    pub(crate) name: Arc<str>,
    pub(crate) api: Api<K>,
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) cache: Arc<Cache<K>>,
    pub(crate) backoff: Backoff,
    pub(crate) randomness: Randomness,
    pub(crate) on_error: Option<ErrorHandler>,
    pub(crate) version: Arc<SyncVersion>,
    /// The server said that it does not have the last version, so the next list asks for the newest.
    pub(crate) version_is_unavailable: bool,
    /// The server answers lists in pages even where it could answer from memory: it has no watch cache.
    pub(crate) lists_in_pages: bool,
}

/// The resourceVersion up to which a cache follows its server; `""` before the first list.
#[derive(Debug, Default)]
pub(crate) struct SyncVersion(Mutex<String>);

/// How a watch ended.
enum Ending {
    /// The server, or the network, closed it. The next one goes on from the same version.
    Closed { events: u64 },
    /// The server wants to be asked later.
    TooManyRequests(Box<Status>),
    /// It cannot be gone on with: back off, then list.
    Failed(ReflectorError),
}

impl<K: Object + DeserializeOwned> Reflector<K> {
    pub(crate) async fn run(mut self) -> Infallible {
        loop {
            let Err(error) = self.list_and_watch().await;
            self.report(&error);
            self.back_off().await;
        }
    }

    async fn list_and_watch(&mut self) -> Result<Infallible, ReflectorError> {
        self.list().await.map_err(ReflectorError::List)?;
        let mut short_watches = 0;
        loop {
            let opened = Instant::now();
            let params = self.watch_params();
            let stream = match self.api.watch(&params).await {
                Ok(stream) => stream,
                Err(error) if may_be_retried(&error) => {
                    self.report(&ReflectorError::WatchOpen(error));
                    self.back_off().await;
                    continue;
                }
                Err(error) => return Err(ReflectorError::WatchOpen(error)),
            };
            match self.follow(stream).await {
                Ending::Closed { events: 0 } if opened.elapsed() < SHORT_WATCH => {
                    return Err(ReflectorError::VeryShortWatch);
                }
                Ending::Closed { .. } => {
                    short_watches = if opened.elapsed() < SHORT_WATCH { short_watches + 1 } else { 0 };
                    if short_watches > SHORT_WATCHES_AT_ONCE {
                        sleep_until(opened + SHORT_WATCH).await;
                    }
                }
                Ending::TooManyRequests(status) => {
                    self.report(&ReflectorError::Ended(status));
                    self.back_off().await;
                }
                Ending::Failed(error) => return Err(error),
            }
        }
    }

    // === list ===

    /// Lists not older than the last version; if the server does not have that any more, or not yet, at its newest.
    async fn list(&mut self) -> Result<(), Error> {
        let version = match self.version.get() {
            _ if self.version_is_unavailable => String::new(),
            version if version.is_empty() => "0".to_owned(),
            version => version,
        };
        let listed = match self.list_at(version).await {
            Err(error) if error.status().is_some_and(version_unavailable) => {
                self.version_is_unavailable = true;
                self.list_at(String::new()).await
            }
            listed => listed,
        };
        let (relist, version) = listed?;
        self.version_is_unavailable = false;
        self.cache.finish_relist(relist);
        self.version.set(&version);
        Ok(())
    }

    /// Lists all pages. If the later ones expire, lists once more without pages.
    async fn list_at(&mut self, version: String) -> Result<(Relist<K>, String), Error> {
        let from_memory = !version.is_empty() && version != "0" && !self.lists_in_pages;
        let mut params = ListParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            limit: if from_memory { 0 } else { PAGE_SIZE },
            resource_version: version.clone(),
            ..ListParams::default()
        };
        let mut relist = self.cache.begin_relist();
        let mut listed_version = None;
        loop {
            match self.list_page(&params, &mut relist).await {
                Ok(page) => {
                    // Pages belong to one version, the first one's, unless the server had to go on at a newer one.
                    let listed_version = listed_version.get_or_insert(page.resource_version);
                    if page.continue_token.is_empty() {
                        return Ok((relist, std::mem::take(listed_version)));
                    }
                    self.lists_in_pages |= version == "0";
                    params.continue_token = page.continue_token;
                    params.resource_version.clear();
                }
                Err(error) if error.is_gone() && !params.continue_token.is_empty() => {
                    params.limit = 0;
                    params.continue_token.clear();
                    params.resource_version.clone_from(&version);
                    relist = self.cache.begin_relist();
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
    ) -> Result<lariat_api::ListMeta, Error> {
        let mut list = self.api.list(params).await?;
        while let Some(item) = list.next().await? {
            match item {
                Item::Object(object) => {
                    if let Err(error) = relist.take(object, &self.cache) {
                        self.report(&ReflectorError::NoKey(error));
                    }
                }
                Item::Undecodable(item) => {
                    if let Some(key) = item.key() {
                        relist.keep(key);
                    }
                    self.report(&ReflectorError::Undecodable(item));
                }
            }
        }
        Ok(list.meta().cloned().unwrap_or_default())
    }

    // === watch ===

    fn watch_params(&self) -> WatchParams {
        WatchParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            resource_version: self.version.get(),
            bookmarks: true,
            timeout: Some(self.randomness.jitter(MIN_WATCH_TIMEOUT, 1.0)),
        }
    }

    /// Applies the events of a watch until it ends.
    async fn follow(&mut self, mut stream: WatchStream<K>) -> Ending {
        let mut events = 0;
        // A watch without a version begins with what there is, in no order, so the first versions say nothing.
        let mut version_counts = !matches!(self.version.get().as_str(), "" | "0");
        loop {
            let event = match stream.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return Ending::Closed { events },
                Err(Error::Transport { cause, .. }) => {
                    tracing::debug!(informer = &*self.name, %cause, "watch lost its connection");
                    return Ending::Closed { events };
                }
                // The server went away in the middle of an event, which the next watch sends again.
                Err(Error::Watch {
                    cause: WatchError::Event { error: EventError::Truncated(_), .. },
                    ..
                }) => {
                    return Ending::Closed { events };
                }
                Err(error) => return Ending::Failed(ReflectorError::Watch(error)),
            };
            events += 1;
            let (version, applied) = match event {
                WatchEvent::Added(object) => {
                    let version =
                        if version_counts { object.resource_version().to_owned() } else { String::new() };
                    (version, self.cache.apply(object))
                }
                WatchEvent::Modified(object) => {
                    (object.resource_version().to_owned(), self.cache.apply(object))
                }
                WatchEvent::Deleted(object) => {
                    (object.resource_version().to_owned(), self.cache.delete(object))
                }
                WatchEvent::Bookmark(bookmark) => (bookmark.resource_version, Ok(())),
                WatchEvent::Error(status) if status.is_too_many_requests() => {
                    return Ending::TooManyRequests(status);
                }
                WatchEvent::Error(status) => return Ending::Failed(ReflectorError::Ended(status)),
            };
            match applied {
                Ok(()) => {
                    version_counts |= !version.is_empty();
                    self.version.advance(&version);
                }
                Err(error) => self.report(&ReflectorError::NoKey(error)),
            }
        }
    }

    async fn back_off(&mut self) {
        sleep(self.backoff.step()).await;
    }

    fn report(&self, error: &ReflectorError) {
        if let Some(on_error) = &self.on_error {
            on_error(&self.name, error);
        }
        if error.status().is_some_and(Status::is_gone) {
            // The ordinary fate of a watch that was away for too long.
            tracing::debug!(informer = &*self.name, %error, "going on after an expired version");
        } else {
            tracing::warn!(informer = &*self.name, %error, "going on after an error");
        }
    }
}

// === impl SyncVersion ===

impl SyncVersion {
    pub(crate) fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, version: &str) {
        version.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Moves on to a version that an event carried, unless that is none or would be a step back.
    fn advance(&self, version: &str) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !version.is_empty() && !ResourceVersion::compare(version, &last).is_ok_and(|order| order.is_lt()) {
            version.clone_into(&mut last);
        }
    }
}

/// Whether a watch that could not be opened may be opened again without a new list.
fn may_be_retried(error: &Error) -> bool {
    error.is_connection_refused() || error.status().is_some_and(Status::is_too_many_requests)
}

/// Whether the server does not have the version that was asked for: not any more, or not yet.
fn version_unavailable(status: &Status) -> bool {
    status.is_gone() || status.is_too_large_resource_version()
}
