//! What is there, by a watch that begins with it.

use lariat_api::{Object, WatchEvent};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::error::{ReflectorError, may_be_retried};
use crate::limits::{
    SHORT_WATCH, SILENT_STREAMING, STREAMING_AT_ONCE, STREAMING_ATTEMPTS, STREAMING_WARNING,
};
use crate::reflector::{Ending, Opened, Reflector, version_unavailable};
use crate::relist::Relist;

/// How an attempt at a streaming list ended.
enum Attempt<K> {
    /// All is there; the watch goes on with what changes.
    Complete(Opened<K>),
    /// It ended too early.
    Incomplete {
        events: u64,
    },
    /// The server wants to be asked later, or nobody was there.
    Later(ReflectorError),
    /// It does not have the version that was asked for.
    Unavailable(ReflectorError),
    Failed(ReflectorError),
}

impl<K: Object + DeserializeOwned> Reflector<K> {
    /// Gets what is there by a watch, and returns it at that point; none if it is to be listed.
    pub(crate) async fn stream_initial_list(&mut self) -> Option<Opened<K>> {
        let mut incomplete = 0;
        loop {
            let failed = match self.attempt_streaming().await {
                Attempt::Complete(watch) => {
                    self.memory.version_is_unavailable = false;
                    return Some(watch);
                }
                Attempt::Later(error) => {
                    self.report(&error);
                    self.back_off().await;
                    continue;
                }
                Attempt::Unavailable(error) if !self.memory.version_is_unavailable => {
                    self.memory.version_is_unavailable = true;
                    self.report(&ReflectorError::Streaming(Box::new(error)));
                    continue;
                }
                Attempt::Incomplete { events } => {
                    incomplete += 1;
                    if incomplete < STREAMING_ATTEMPTS {
                        self.report(&ReflectorError::Incomplete { events });
                        if incomplete > STREAMING_AT_ONCE {
                            self.back_off().await;
                        }
                        continue;
                    }
                    ReflectorError::Incomplete { events }
                }
                Attempt::Unavailable(error) | Attempt::Failed(error) => error,
            };
            self.report(&ReflectorError::Streaming(Box::new(failed)));
            return None;
        }
    }

    async fn attempt_streaming(&self) -> Attempt<K> {
        let mut watch = match self.open(true).await {
            Ok(watch) => watch,
            Err(error) => return of_error(error),
        };
        let mut relist = Relist::new(&self.cache);
        let mut warned = watch.at;
        loop {
            let event = match self.next(&mut watch, SILENT_STREAMING).await {
                Ok(Some(event)) => event,
                Ok(None) => continue,
                Err(Ending::Silent) => {
                    return Attempt::Failed(ReflectorError::Silent(SILENT_STREAMING));
                }
                Err(Ending::Closed) if watch.events == 0 && watch.at.elapsed() < SHORT_WATCH => {
                    return Attempt::Failed(ReflectorError::VeryShortWatch);
                }
                Err(Ending::Closed) => return Attempt::Incomplete { events: watch.events },
                Err(Ending::TooManyRequests(status)) => return Attempt::Later(ReflectorError::Ended(status)),
                Err(Ending::Failed(error)) => return of_error(error),
            };
            match event {
                WatchEvent::Added(object) => self.take(object, &mut relist),
                WatchEvent::Modified(object) => match self.cache.prepare(object) {
                    Ok(fresh) => relist.change(fresh, &self.cache),
                    Err(error) => self.report(&error),
                },
                WatchEvent::Deleted(object) => match object.key() {
                    Ok(key) => relist.remove(&key),
                    Err(error) => self.report(&ReflectorError::NoKey(error)),
                },
                WatchEvent::Bookmark(bookmark) if bookmark.initial_events_end => {
                    self.finish(relist, &bookmark.resource_version, watch.at);
                    watch.told_bytes = self.tell_bytes(watch.told_bytes, watch.stream.bytes_read());
                    return Attempt::Complete(watch);
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return of_error(ReflectorError::Ended(status)),
            }
            if warned.elapsed() >= STREAMING_WARNING {
                warned = Instant::now();
                let (informer, events, took) = (&*self.name, watch.events, watch.at.elapsed());
                tracing::warn!(informer, events, ?took, "streaming list is not complete yet");
            }
        }
    }
}

/// RF-35: what is tried again, and how.
fn of_error<K>(error: ReflectorError) -> Attempt<K> {
    let is_later = match &error {
        ReflectorError::WatchOpen(error) => may_be_retried(error),
        ReflectorError::Ended(status) => status.is_too_many_requests(),
        _ => false,
    };
    if is_later {
        return Attempt::Later(error);
    }
    if error.status().is_some_and(version_unavailable) {
        return Attempt::Unavailable(error);
    }
    Attempt::Failed(error)
}
