//! Reads, which may have to wait: for a version that is not there yet, and for a watch cache that stands still.

use std::time::Duration;

use lariat_api::Status;
use tokio::time::{Instant, timeout_at};

use crate::context::Context;
use crate::failure;
use crate::faults::StaleRead;
use crate::options::{ListOptions, Version, WatchOptions};
use crate::reply::Reply;
use crate::server::Shared;
use crate::verbs::{self, Listed};

/// How long a read waits for a version that the server has not reached.
const VERSION_WAIT: Duration = Duration::from_secs(3);

impl Shared {
    pub(crate) async fn get(&self, context: &Context, stale: Option<&StaleRead>) -> Result<Reply, Status> {
        let version = Version::of_get(&context.query);
        if let Version::At(version) = version
            && !self.reaches(version, stale).await
        {
            return Err(failure::too_large_version(version, self.revision(stale)));
        }
        let Some(stale) = stale else { return verbs::get(&self.state().storage, context) };
        let state = self.state();
        let Some(cache) = stale.of_get(version) else { return verbs::get(&state.storage, context) };
        stale.happened();
        verbs::get(cache, context)
    }

    pub(crate) async fn list(&self, context: &Context, stale: Option<&StaleRead>) -> Result<Reply, Status> {
        let options = ListOptions::parse(&context.query)?;
        loop {
            let (listed, is_stale) = {
                let state = self.state();
                let cache = stale.and_then(|stale| stale.of_list(&options));
                (verbs::list(cache.unwrap_or(&state.storage), context, &options)?, cache.is_some())
            };
            match listed {
                Listed::Done(reply) => {
                    if let Some(stale) = stale.filter(|_| is_stale) {
                        stale.happened();
                    }
                    return Ok(reply);
                }
                Listed::Wait(version) if self.reaches(version, stale).await => {}
                Listed::Wait(version) => {
                    return Err(failure::too_large_version(version, self.revision(stale)));
                }
            }
        }
    }

    pub(crate) async fn watch(&self, context: &Context, stale: Option<&StaleRead>) -> Result<Reply, Status> {
        let options = WatchOptions::parse(&context.query)?;
        let required = match options.version {
            Version::At(version) if options.initial_events => Some(version),
            Version::Unset if options.initial_events => {
                stale.filter(|stale| stale.waits_for_newest()).map(|_| self.state().storage.revision())
            }
            _ => None,
        };
        if let Some(version) = required {
            // One that is not reached is an event of the watch.
            self.reaches(version, stale).await;
        }
        let mut state = self.state();
        let cache = stale.and_then(StaleRead::cache);
        if let (Some(stale), Some(_)) = (stale, cache) {
            stale.happened();
        }
        verbs::watch(&mut state, context, &options, required, cache)
    }

    /// Waits for a version; whether it came in time.
    async fn reaches(&self, version: u64, stale: Option<&StaleRead>) -> bool {
        let deadline = Instant::now() + VERSION_WAIT;
        let reached = self.state().reached.clone();
        loop {
            let mut written = std::pin::pin!(reached.notified());
            // From here on no write is missed.
            written.as_mut().enable();
            if self.revision(stale) >= version {
                return true;
            }
            if timeout_at(deadline, written).await.is_err() {
                return false;
            }
        }
    }

    /// The newest version that a read can have.
    fn revision(&self, stale: Option<&StaleRead>) -> u64 {
        let state = self.state();
        stale.and_then(StaleRead::cache).unwrap_or(&state.storage).revision()
    }
}
