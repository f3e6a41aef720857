use std::io;

use lariat_store::DuplicateIndex;
use tokio::sync::watch;

/// A handler's place in an informer.
#[derive(Debug, Clone)]
pub struct Registration {
    pub(crate) id: u64,
    pub(crate) synced: watch::Receiver<bool>,
}

/// A handler that came too late.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("informer {0:?} has stopped: handlers must be added before")]
pub struct Stopped(pub String);

/// A channel of events could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The informer has stopped.
    #[error("{0}")]
    Stopped(Stopped),
    /// The operating system gives no thread that fills the channel.
    #[error("no thread for a channel of events: {0}")]
    Thread(io::Error),
}

/// Indexes could not be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddIndexersError {
    /// The informer has stopped.
    #[error("informer {0:?} has stopped: indexes must be added before")]
    Stopped(String),
    /// There is an index of one of the names.
    #[error("{0}")]
    Duplicate(DuplicateIndex),
}

impl Registration {
    /// Whether the handler was called for every object of the first list, or, if it came later, for every object that
    /// was there.
    pub fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until [`has_synced`](Self::has_synced), or until the handler hears nothing any more.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped changes nothing.
    pub async fn wait_for_sync(&self) {
        // An error means that nobody is left to set it, and so that there is nothing left to wait for.
        let _ = self.synced.clone().wait_for(|synced| *synced).await;
    }

    /// Waits until the handler is not called any more: the informer has stopped, or the handler was removed and its last call
    /// has returned.
    pub async fn finished(&self) {
        let mut synced = self.synced.clone();
        while synced.changed().await.is_ok() {}
    }
}
