//! The one place that names the lock, so that a model checker's can be put in its stead.

pub(crate) use std::sync::Arc;
use std::sync::PoisonError;
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A mutex that outlives a panic of its holder.
///
/// Only code of the item's type (`Hash`, `Eq`, `Clone`) or of a rate limiter can panic under a lock of this crate. One
/// such panic must not stop every other worker, so poisoning is ignored.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
