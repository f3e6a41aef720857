use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lariat_api::ObjectKey;
use tokio::time::Instant;

/// What became of the keys that were taken from a queue: who has which, which come again, and at the end which were left.
///
/// A key that is queued and was not taken is the queue's business.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// What each worker has, and since when.
    workers: Vec<Option<(ObjectKey, Instant)>>,
    pending: HashMap<ObjectKey, Pending, FixedState>,
    left: BTreeSet<ObjectKey>,
}

/// A key that somebody has, or that comes again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending {
    pub(crate) stage: Stage,
    /// How often in a row it has failed.
    pub(crate) failures: u32,
    pub(crate) last_error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    /// A worker has it.
    #[default]
    Running,
    /// It waits until the caches show what was written for it.
    Waiting,
    /// It comes again after a while.
    Delayed,
}

impl Ledger {
    pub(crate) fn set_workers(&self, count: usize) {
        self.state().workers.resize(count, None);
    }

    pub(crate) fn running(&self, worker: usize, key: &ObjectKey, now: Instant) {
        let mut state = self.state();
        if let Some(slot) = state.workers.get_mut(worker) {
            *slot = Some((key.clone(), now));
        }
        state.pending.entry(key.clone()).or_default().stage = Stage::Running;
    }

    pub(crate) fn waiting(&self, key: &ObjectKey) {
        self.state().pending.entry(key.clone()).or_default().stage = Stage::Waiting;
    }

    /// A worker is done with a key, which does not come again by itself.
    pub(crate) fn done(&self, worker: usize, key: &ObjectKey) {
        let mut state = self.state();
        state.free(worker);
        state.pending.remove(key);
    }

    /// A worker is done with a key, which comes again; after a failure if there was one.
    pub(crate) fn delayed(&self, worker: usize, key: &ObjectKey, error: Option<String>) {
        let mut state = self.state();
        state.free(worker);
        let pending = state.pending.entry(key.clone()).or_default();
        pending.stage = Stage::Delayed;
        pending.failures = if error.is_some() { pending.failures.saturating_add(1) } else { 0 };
        pending.last_error = error;
    }

    /// A key was taken and not handled, since the program is to stop.
    pub(crate) fn leave(&self, key: &ObjectKey) {
        self.state().left.insert(key.clone());
    }

    /// What was not handled, once nobody works any more: what was left, was interrupted or was to come again.
    pub(crate) fn take_left(&self) -> BTreeSet<ObjectKey> {
        let mut state = self.state();
        state.workers.fill(None);
        let pending = std::mem::take(&mut state.pending);
        let mut left = std::mem::take(&mut state.left);
        left.extend(pending.into_keys());
        left
    }

    /// What each worker has.
    pub(crate) fn workers(&self) -> Vec<Option<(ObjectKey, Instant)>> {
        self.state().workers.clone()
    }

    /// Those that come again after a failure, or wait, at most so many.
    pub(crate) fn pending(&self, most: usize) -> Vec<(ObjectKey, Pending)> {
        let state = self.state();
        let waiting = state.pending.iter().filter(|(_, pending)| pending.stage != Stage::Running);
        let mut some: Vec<_> =
            waiting.take(most).map(|(key, pending)| (key.clone(), pending.clone())).collect();
        some.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        some
    }

    /// How many keys there are of which something is known.
    pub(crate) fn len(&self) -> usize {
        self.state().pending.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn free(&mut self, worker: usize) {
        if let Some(slot) = self.workers.get_mut(worker) {
            *slot = None;
        }
    }
}
