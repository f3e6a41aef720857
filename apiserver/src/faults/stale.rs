//! A watch cache that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::active::Chosen;
use super::fault::{Since, Staleness};
use crate::options::{ListOptions, Version};
use crate::storage::Storage;

/// The objects as they were, until the plan ends.
pub(crate) struct Stale {
    /// Has no window: it holds no more than the objects, for however long.
    storage: Storage,
    always: bool,
    is_over: AtomicBool,
}

/// A read that finds the watch cache standing still.
pub(crate) struct StaleRead {
    stale: Arc<Stale>,
    chosen: Chosen,
}

impl Stale {
    pub(super) fn new(storage: &Storage, staleness: Staleness) -> Self {
        let revision = match staleness.since {
            Since::Behind(writes) => storage.revision().saturating_sub(writes),
            Since::At(revision) => revision,
        };
        let is_over = AtomicBool::new(false);
        Self { storage: storage.snapshot(revision), always: staleness.always, is_over }
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl StaleRead {
    pub(super) fn new(stale: Arc<Stale>, chosen: Chosen) -> Self {
        Self { stale, chosen }
    }

    /// What the cache holds; none if it is not stale any more.
    pub(crate) fn cache(&self) -> Option<&Storage> {
        (!self.stale.is_over.load(Ordering::Acquire)).then_some(&self.stale.storage)
    }

    /// What answers a get: the cache, or none for what is newest.
    pub(crate) fn of_get(&self, version: Version) -> Option<&Storage> {
        self.cache().filter(|_| self.stale.always || version != Version::Unset)
    }

    /// What answers a list: the cache, or none for the storage, which knows all versions in the window.
    pub(crate) fn of_list(&self, options: &ListOptions) -> Option<&Storage> {
        let cache = self.cache()?;
        let is_cached = match (&options.continue_from, options.version) {
            (Some(from), _) => u64::try_from(from.rv).map_or(self.stale.always, |rv| rv == cache.revision()),
            (None, Version::At(_)) => !options.exact,
            (None, Version::Zero) => true,
            (None, Version::Unset) => self.stale.always,
        };
        is_cached.then_some(cache)
    }

    /// Whether a read that is to begin with what is newest has to wait until the cache has it.
    pub(crate) fn waits_for_newest(&self) -> bool {
        !self.stale.always && self.cache().is_some()
    }

    pub(crate) fn happened(&self) {
        self.chosen.happened();
    }
}
