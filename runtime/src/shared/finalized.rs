use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lariat_api::{Metadata, Object};
use tokio::time::Instant;

/// Objects whose last finalizer was removed, which a cache that is behind may still show.
#[derive(Debug, Default)]
pub(super) struct Finalized(Mutex<VecDeque<(String, Instant)>>);

/// For how long they are remembered, and when a key is looked at again whose object is one, as in Lasso.
const REMEMBERED: Duration = Duration::from_secs(60);
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// How many are remembered: the cache is behind for seconds at most, and a thousand objects a second are not deleted.
const MOST: usize = 4096;

impl Finalized {
    /// Remembers an object if nothing holds it any more.
    pub(super) fn note<K: Object>(&self, object: &K) {
        let meta = object.meta();
        if !meta.is_being_deleted() || !meta.finalizers().is_empty() || meta.uid().is_empty() {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back((meta.uid().to_owned(), Instant::now()));
    }

    /// Whether an object is one of those.
    pub(super) fn has<K: Object>(&self, object: &K) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while known.front().is_some_and(|(_, since)| now.duration_since(*since) > REMEMBERED) {
            known.pop_front();
        }
        known.iter().any(|(uid, _)| uid == object.uid())
    }
}
