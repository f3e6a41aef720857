//! The guard of an item that a worker has.

use std::fmt;
use std::hash::Hash;
use std::ops::Deref;

use crate::queue::Handle;
use crate::slots::Place;
use crate::state::Taken;

/// An item that is being processed, and by nobody else.
///
/// Dropping the guard says that the worker is done, however it comes to be dropped: at the end of a scope, by a panic,
/// or with a task that is cancelled. If the item was added in the meantime, it is then queued once more.
///
/// # Example
///
/// ```
/// use lariat_workqueue::Queue;
///
/// let queue = Queue::new();
/// queue.add("fleet");
/// let item = queue.get_blocking().unwrap();
/// queue.add("fleet"); // it changed again while it was processed
/// assert_eq!(queue.len(), 0);
/// drop(item);
/// assert_eq!(queue.len(), 1);
/// ```
#[must_use = "dropping the guard says that the item was processed"]
pub struct Processing<T: Hash + Eq + Clone> {
    shared: Handle<T>,
    place: Place,
    item: T,
    priority: i32,
}

impl<T: Hash + Eq + Clone> Processing<T> {
    pub(crate) fn new(shared: Handle<T>, taken: Taken<T>) -> Self {
        let Taken { place, item, priority } = taken;
        Self { shared, place, item, priority }
    }
}

impl<T: Hash + Eq + Clone> Processing<T> {
    /// The priority in which the item was queued, 0 if none was given. Who queues the item again because it failed should give
    /// it the same.
    ///
    /// ```
    /// # use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};
    /// let queue = Queue::new();
    /// queue.add_with("old", AddOptions { priority: LOW_PRIORITY, ..AddOptions::default() });
    /// assert_eq!(queue.get_blocking().unwrap().priority(), LOW_PRIORITY);
    /// ```
    pub fn priority(&self) -> i32 {
        self.priority
    }
}

impl<T: Hash + Eq + Clone> Deref for Processing<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

impl<T: Hash + Eq + Clone> Drop for Processing<T> {
    fn drop(&mut self) {
        // What is returned is dropped here, after the lock.
        let _item = self.shared.operate(|state, now| state.done(self.place, now));
    }
}

impl<T: Hash + Eq + Clone + fmt::Debug> fmt::Debug for Processing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Processing").field(&self.item).finish()
    }
}
