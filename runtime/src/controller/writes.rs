use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lariat_api::{Kind, ObjectKey};
use tokio::time::{Instant, timeout_at};

use super::cache::{Cache, Write, is_same_resource};

/// What handlers wrote that their caches may not show yet, by the key that they handled.
pub(crate) struct Writes {
    /// None if nobody waits for own writes.
    patience: Option<Duration>,
    pending: Mutex<HashMap<ObjectKey, Vec<Pending>, FixedState>>,
}

/// From how many keys on those whose writes are not waited for any more are looked for, each time that there are so many more.
const SWEEP_EACH: usize = 1024;

#[derive(Clone)]
pub(crate) struct Pending {
    cache: Arc<dyn Cache>,
    write: Write,
    until: Instant,
}

impl Writes {
    pub(crate) fn new(patience: Option<Duration>) -> Self {
        Self { patience, pending: Mutex::default() }
    }

    /// Notes a write of the handler of a key, unless no cache is of its kind.
    pub(crate) fn note(&self, handled: &ObjectKey, caches: &[Arc<dyn Cache>], kind: &Kind, write: Write) {
        let Some(patience) = self.patience else { return };
        let until = Instant::now() + patience;
        let caches = caches.iter().filter(|cache| is_same_resource(cache.kind(), kind));
        let noted: Vec<_> =
            caches.map(|cache| Pending { cache: cache.clone(), write: write.clone(), until }).collect();
        if noted.is_empty() {
            return;
        }
        let mut pending = self.pending();
        if pending.len() % SWEEP_EACH == SWEEP_EACH - 1 {
            let now = Instant::now();
            pending.retain(|_, writes| writes.iter().any(|write| now < write.until));
        }
        let pending = pending.entry(handled.clone()).or_default();
        for new in noted {
            // Of the writes of an object the last one counts.
            pending
                .retain(|old| !(Arc::ptr_eq(&old.cache, &new.cache) && old.write.key() == new.write.key()));
            pending.push(new);
        }
    }

    /// The writes of the handler of a key that its caches do not show, and that are still waited for. The others are forgotten.
    pub(crate) fn unseen(&self, handled: &ObjectKey) -> Vec<Pending> {
        let mut pending = self.pending();
        if pending.is_empty() {
            return Vec::new();
        }
        let Some(mut writes) = pending.remove(handled) else { return Vec::new() };
        let now = Instant::now();
        writes.retain(|pending| {
            let is_shown = pending.cache.shows(&pending.write);
            if !is_shown && now >= pending.until {
                let kind = pending.cache.kind();
                tracing::warn!(key = %handled, %kind, "the cache does not show an own write in time; going on without");
            }
            !is_shown && now < pending.until
        });
        if !writes.is_empty() {
            pending.insert(handled.clone(), writes.clone());
        }
        writes
    }

    /// How many keys have writes that were not seen yet when they were last looked for.
    pub(crate) fn len(&self) -> usize {
        self.pending().len()
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<ObjectKey, Vec<Pending>, FixedState>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Debug for Writes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writes").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Pending {
    /// Waits until all are shown, or not waited for any more.
    pub(crate) async fn all_shown(pending: &[Self]) {
        for Self { cache, write, until } in pending {
            // Whether it was in time is looked at by who asks for the unseen ones again.
            let _ = timeout_at(*until, cache.shown(write)).await;
        }
    }
}

impl Write {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Written { key, .. } | Self::Deleted { key, .. } | Self::LetGo { key, .. } => key,
        }
    }
}
