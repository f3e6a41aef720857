//! The one thing behind the lock: storage, watchers and what is served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use lariat_api::{Clock, Randomness};
use serde_json::Value;
use tokio::sync::Notify;

use crate::kinds::Kinds;
use crate::storage::{Change, Key, ResourceName, Storage, Stored};
use crate::watch::Watchers;

pub(crate) struct State {
    pub(crate) storage: Storage,
    pub(crate) watchers: Watchers,
    pub(crate) kinds: Kinds,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Randomness,
    /// The revision up to which all watchers were told.
    pub(crate) told: Arc<AtomicU64>,
    /// Wakes those who wait for a revision.
    pub(crate) reached: Arc<Notify>,
    /// The versions of the definitions that were served last.
    pub(crate) definitions: Vec<String>,
    /// From where addresses and ports of services are given.
    pub(crate) allocated: u64,
    /// How many events a watcher's buffer holds.
    pub(crate) watch_buffer: usize,
}

impl State {
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.wall()
    }

    /// Writes an object and tells the watchers.
    pub(crate) fn put(&mut self, resource: &ResourceName, key: Key, object: Value) -> Arc<Stored> {
        let change = self.storage.put(resource, key, object);
        self.tell(&change);
        change.shown.clone()
    }

    /// Removes an object and tells the watchers.
    pub(crate) fn delete(&mut self, resource: &ResourceName, key: &str) -> Option<Arc<Stored>> {
        let change = self.storage.delete(resource, key)?;
        self.tell(&change);
        Some(change.shown.clone())
    }

    /// Counts writes that nothing else is known of.
    pub(crate) fn advance(&mut self, writes: u64) {
        self.storage.advance(writes);
        self.reached();
    }

    /// Tells the watchers that were held what they have missed, and those who wait that reads may find more.
    pub(crate) fn release(&mut self) {
        self.watchers.release(&self.storage);
        self.reached.notify_waiters();
    }

    /// A uid that nobody else has.
    pub(crate) fn new_uid(&self) -> String {
        let (high, low) = (self.randomness.below(u64::MAX), self.randomness.below(u64::MAX));
        // Version 4, variant 1, as in RFC 9562.
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | 0b10 << 62;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    /// The end of a generated name.
    pub(crate) fn name_suffix(&self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let letter = |_| char::from(LETTERS[self.randomness.below(LETTERS.len() as u64) as usize]);
        (0..5).map(letter).collect()
    }

    fn tell(&mut self, change: &Change) {
        self.watchers.tell(change);
        self.reached();
    }

    /// All watchers know of all writes.
    fn reached(&self) {
        self.told.store(self.storage.revision(), Ordering::Release);
        self.reached.notify_waiters();
    }
}
