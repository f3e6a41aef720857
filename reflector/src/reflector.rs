//! List, then watch, for ever.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{EventError, Object, Randomness, Status, WatchEvent};
use lariat_client::decode::WatchError;
use lariat_client::{Api, Error, Undecodable, WatchParams, WatchStream};
use serde::de::DeserializeOwned;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::backoff::Backoff;
use crate::cache::{Cache, Change};
use crate::error::{ErrorHandler, ReflectorError};
use crate::limits::{
    COALESCE_FROM, EVENTS_AT_ONCE, IDLE_WATCH, INTERNAL_ERROR_SERIES, MIN_WATCH_TIMEOUT, SHORT_WATCH,
    SHORT_WATCHES_AT_ONCE,
};
use crate::metrics::Metrics;
use crate::progress::Progress;

/// Follows one collection of an API server and keeps a cache equal to it.
///
/// # Cancel safety
///
/// Dropping the future of [`run`](Self::run) at any point leaves the cache as the last complete step made it.
pub(crate) struct Reflector<K> {
    pub(crate) name: Arc<str>,
    pub(crate) api: Api<K>,
    pub(crate) cache: Arc<Cache<K>>,
    pub(crate) settings: Settings,
    pub(crate) backoff: Backoff,
    pub(crate) randomness: Randomness,
    pub(crate) on_error: Option<ErrorHandler>,
    pub(crate) metrics: Arc<dyn Metrics>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) memory: Memory,
}

/// What the user asked for.
pub(crate) struct Settings {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) initial_list: InitialList,
    /// Whether the first list is of what is newest.
    pub(crate) consistent_start: bool,
    /// Objects in a page, 0 for the choice that client-go makes.
    pub(crate) page_size: u32,
    /// For how long internal errors in watches do not lead to a list, from the first of a series.
    pub(crate) internal_error_retry: Duration,
}

/// How an informer gets what is there, before it watches what changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialList {
    /// By a watch that begins with it, which costs a server the least memory. A server that cannot do so is listed.
    #[default]
    Streaming,
    /// By a list, in pages if the server does not have it in memory.
    List,
}

/// What is learned of a server.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// It does not have the last version, so the next list asks for the newest.
    pub(crate) version_is_unavailable: bool,
    /// It answers lists in pages even where it could answer from memory: it has no watch cache.
    pub(crate) lists_in_pages: bool,
    /// The first and the last of a series of internal errors.
    internal_errors: Option<(Instant, Instant)>,
}

/// A watch that is open.
pub(crate) struct Opened<K> {
    pub(crate) stream: WatchStream<K>,
    /// When it was asked for.
    pub(crate) at: Instant,
    pub(crate) events: u64,
    /// How many bytes were told of.
    pub(crate) told_bytes: u64,
}

/// Events of a watch on their way into the cache.
struct Batch<K> {
    changes: Vec<Change<K>>,
    /// Whether the cache has come to the version of an event once that is applied.
    version_counts: bool,
}

/// How a watch ended.
pub(crate) enum Ending {
    /// The server, or the network, closed it. The next one goes on from the same version.
    Closed,
    /// Nothing came for so long that the connection is taken for dead.
    Silent,
    /// The server wants to be asked later.
    TooManyRequests(Box<Status>),
    /// It cannot be gone on with.
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
        let mut watch = match self.settings.initial_list {
            InitialList::Streaming => self.stream_initial_list().await,
            InitialList::List => None,
        };
        if watch.is_none() {
            self.list().await?;
        }
        let mut short_watches = 0;
        loop {
            let mut watch = match watch.take() {
                Some(watch) => watch,
                None => match self.open(false).await {
                    Ok(watch) => watch,
                    Err(error) if error.causes_relist() => return Err(error),
                    Err(error) => {
                        self.report(&error);
                        self.back_off().await;
                        continue;
                    }
                },
            };
            let ending = self.follow(&mut watch).await;
            let lasted = watch.at.elapsed();
            self.metrics.watch_ended(&self.name, watch.events, lasted);
            match ending {
                Ending::Closed if watch.events == 0 && lasted < SHORT_WATCH => {
                    return Err(ReflectorError::VeryShortWatch);
                }
                Ending::Closed => {
                    short_watches = if lasted < SHORT_WATCH { short_watches + 1 } else { 0 };
                    if short_watches > SHORT_WATCHES_AT_ONCE {
                        sleep_until(watch.at + SHORT_WATCH).await;
                    }
                }
                Ending::Silent => self.report(&ReflectorError::Silent(IDLE_WATCH)),
                Ending::TooManyRequests(status) => {
                    self.report(&ReflectorError::Ended(status));
                    self.back_off().await;
                }
                Ending::Failed(ReflectorError::Ended(status)) if self.may_ignore(&status) => {
                    self.report(&ReflectorError::Ended(status));
                }
                Ending::Failed(error) => return Err(error),
            }
        }
    }

    /// Opens a watch from the last version, with what is there at its beginning or not.
    pub(crate) async fn open(&self, send_initial_events: bool) -> Result<Opened<K>, ReflectorError> {
        let version = match send_initial_events && self.memory.version_is_unavailable {
            true => String::new(),
            false => self.cache.version.current(),
        };
        let params = WatchParams {
            label_selector: self.settings.label_selector.clone(),
            field_selector: self.settings.field_selector.clone(),
            resource_version: version,
            bookmarks: true,
            timeout: Some(self.randomness.jitter(MIN_WATCH_TIMEOUT, 1.0)),
            send_initial_events,
        };
        let at = Instant::now();
        // What the transport waits for on purpose, such as Retry-After, is not silence.
        let stream = self.api.watch(&params).await.map_err(ReflectorError::WatchOpen)?;
        self.metrics.watch_opened(&self.name);
        if !send_initial_events {
            self.progress.succeed();
        }
        Ok(Opened { stream, at, events: 0, told_bytes: 0 })
    }

    /// Applies the events of a watch until it ends: those that are here at once, together.
    async fn follow(&self, watch: &mut Opened<K>) -> Ending {
        let mut batch = Batch {
            changes: Vec::new(),
            // A watch without a version begins with what there is, in no order, so the first versions say nothing.
            version_counts: !matches!(self.cache.version.current().as_str(), "" | "0"),
        };
        loop {
            let mut next = self.next(watch, IDLE_WATCH).await;
            let ending = loop {
                let taken = match next {
                    Ok(Some(event)) => self.take_event(event, &mut batch),
                    Ok(None) => Ok(()),
                    Err(ending) => Err(ending),
                };
                if let Err(ending) = taken {
                    break Some(ending);
                }
                if batch.changes.len() >= EVENTS_AT_ONCE {
                    break None;
                }
                match watch.stream.next_ready().transpose() {
                    Some(ready) => next = self.judge(ready.map(Some), watch),
                    None => break None,
                }
            };
            let behind = self.apply(&mut batch);
            watch.told_bytes = self.tell_bytes(watch.told_bytes, watch.stream.bytes_read());
            if let Some(ending) = ending {
                return ending;
            }
            // A handler that was woken by this task may have to wait for its thread.
            if behind > COALESCE_FROM / 2 {
                yield_now().await;
            }
        }
    }

    /// Takes an event of a watch into a batch.
    fn take_event(&self, event: WatchEvent<K>, batch: &mut Batch<K>) -> Result<(), Ending> {
        let change = match event {
            WatchEvent::Added(object) => self
                .cache
                .prepare(object)
                .map(|fresh| Change::Put { fresh, version_counts: batch.version_counts }),
            WatchEvent::Modified(object) => self.cache.prepare(object).map(|fresh| {
                batch.version_counts |= !fresh.version().is_empty();
                Change::Put { fresh, version_counts: batch.version_counts }
            }),
            WatchEvent::Deleted(object) => {
                batch.version_counts |= !object.resource_version().is_empty();
                self.cache.prepare_deletion(object).map(Change::Delete)
            }
            WatchEvent::Bookmark(bookmark) => {
                batch.version_counts |= !bookmark.resource_version.is_empty();
                // What came before it is applied before its version is reached.
                self.apply(batch);
                self.cache.version.advance(&bookmark.resource_version);
                self.metrics.bookmarked(&self.name, &bookmark.resource_version);
                return Ok(());
            }
            WatchEvent::Error(status) if status.is_too_many_requests() => {
                return Err(Ending::TooManyRequests(status));
            }
            WatchEvent::Error(status) => return Err(Ending::Failed(ReflectorError::Ended(status))),
        };
        match change {
            Ok(change) => batch.changes.push(change),
            // A list is tried, so that the version does not pass what could not be applied.
            Err(error @ ReflectorError::Transform { .. }) => return Err(Ending::Failed(error)),
            Err(error) => self.report(&error),
        }
        Ok(())
    }

    /// Applies a batch, and returns how far the slowest handler is behind.
    fn apply(&self, batch: &mut Batch<K>) -> usize {
        if batch.changes.is_empty() {
            return 0;
        }
        let (events, began) = (batch.changes.len(), Instant::now());
        let behind = self.cache.apply(batch.changes.drain(..));
        self.metrics.applied(&self.name, events, began.elapsed());
        behind
    }

    /// Tells how many bytes were read since the last time, and returns how many there were in all.
    pub(crate) fn tell_bytes(&self, told: u64, read: u64) -> u64 {
        if read > told {
            self.metrics.read(&self.name, read - told);
        }
        read
    }

    /// The next event of a watch; none if it was one to be passed over.
    pub(crate) async fn next(
        &self,
        watch: &mut Opened<K>,
        silence: Duration,
    ) -> Result<Option<WatchEvent<K>>, Ending> {
        let next = match timeout(silence, watch.stream.next()).await {
            Ok(next) => next,
            Err(_) => {
                return Err(Ending::Silent);
            }
        };
        self.judge(next, watch)
    }

    /// What is to be done about what a watch brought.
    fn judge(
        &self,
        next: Result<Option<WatchEvent<K>>, Error>,
        watch: &mut Opened<K>,
    ) -> Result<Option<WatchEvent<K>>, Ending> {
        match next {
            Ok(Some(event)) => {
                watch.events += 1;
                Ok(Some(event))
            }
            Ok(None) => Err(Ending::Closed),
            Err(Error::Transport { cause, .. }) => {
                tracing::debug!(informer = &*self.name, %cause, "watch lost its connection");
                Err(Ending::Closed)
            }
            // The server went away in the middle of an event, which the next watch sends again.
            Err(Error::Watch {
                cause: WatchError::Event { error: EventError::Truncated(_), .. }, ..
            }) => Err(Ending::Closed),
            Err(Error::Watch {
                cause: WatchError::Event { error: EventError::Object(error), raw }, ..
            }) => {
                watch.events += 1;
                self.report(&ReflectorError::Undecodable(Undecodable::of_event(&raw, error)));
                Ok(None)
            }
            Err(error) => Err(Ending::Failed(ReflectorError::Watch(error))),
        }
    }

    /// Whether an internal error is in the time in which they do not lead to a list.
    fn may_ignore(&mut self, status: &Status) -> bool {
        if !status.is_internal_error() || self.settings.internal_error_retry.is_zero() {
            return false;
        }
        let now = Instant::now();
        let series = self.memory.internal_errors.filter(|(_, last)| now - *last < INTERNAL_ERROR_SERIES);
        let first = series.map_or(now, |(first, _)| first);
        self.memory.internal_errors = Some((first, now));
        now - first < self.settings.internal_error_retry
    }

    pub(crate) async fn back_off(&mut self) {
        sleep(self.backoff.step()).await;
    }

    pub(crate) fn report(&self, error: &ReflectorError) {
        self.progress.fail(error);
        self.metrics.failed(&self.name, error);
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

/// Whether the server does not have the version that was asked for: not any more, or not yet.
pub(crate) fn version_unavailable(status: &Status) -> bool {
    status.is_gone() || status.is_too_large_resource_version()
}
