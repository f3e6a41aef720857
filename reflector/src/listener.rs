//! One handler's queue, and the task that empties it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::handler::{Deleted, EventHandler};

/// What a handler is told.
pub(crate) enum Notification<K> {
    Added {
        object: Arc<K>,
        is_in_initial_list: bool,
    },
    Updated {
        old: Arc<K>,
        new: Arc<K>,
    },
    Deleted(Deleted<K>),
    /// All that the handler was to hear about the first list comes before this.
    Synced,
}

/// The sending end of a handler's queue.
///
/// It has no bound: an informer never waits for a handler. A handler that is slow for long holds memory.
pub(crate) struct Listener<K> {
    pub(crate) id: u64,
    queue: mpsc::UnboundedSender<Notification<K>>,
}

/// The receiving end, with the handler.
pub(crate) struct Delivery<K> {
    queue: mpsc::UnboundedReceiver<Notification<K>>,
    handler: Arc<dyn EventHandler<K>>,
    synced: watch::Sender<bool>,
    informer: Arc<str>,
}

/// How many notifications are taken from the queue at once.
const BATCH: usize = 64;

pub(crate) fn listener<K>(
    id: u64,
    informer: Arc<str>,
    handler: Arc<dyn EventHandler<K>>,
    synced: watch::Sender<bool>,
) -> (Listener<K>, Delivery<K>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Listener { id, queue: sender }, Delivery { queue: receiver, handler, synced, informer })
}

impl<K> Listener<K> {
    pub(crate) fn send(&self, notification: Notification<K>) {
        // The task ends before its listener only when the whole informer is dropped.
        let _ = self.queue.send(notification);
    }
}

impl<K: Send + Sync + 'static> Delivery<K> {
    /// Calls the handler until the listener is dropped and the queue is empty.
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.queue.recv_many(&mut batch, BATCH).await > 0 {
            for notification in batch.drain(..) {
                self.deliver(&notification);
            }
            tokio::task::yield_now().await;
        }
    }

    fn deliver(&self, notification: &Notification<K>) {
        let handler = &*self.handler;
        let call = || match notification {
            Notification::Added { object, is_in_initial_list } => {
                handler.on_add(object, *is_in_initial_list);
            }
            Notification::Updated { old, new } => handler.on_update(old, new),
            Notification::Deleted(deleted) => handler.on_delete(deleted),
            Notification::Synced => {
                self.synced.send_replace(true);
            }
        };
        // The default panic hook has said what and where; here the story goes on for the other objects.
        if panic::catch_unwind(AssertUnwindSafe(call)).is_err() {
            tracing::error!(
                informer = &*self.informer,
                "an event handler panicked; its later calls still come"
            );
        }
    }
}
