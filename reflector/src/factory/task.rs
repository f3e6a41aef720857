use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::slot::Follow;

/// A task that runs one informer. It is aborted with its owner.
pub(super) struct Task {
    stop: watch::Sender<bool>,
    /// Closed once the task is over, in whatever way.
    over: watch::Receiver<()>,
    abort: AbortHandle,
}

impl Task {
    pub(super) fn spawn(informer: Arc<dyn Follow>) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let (alive, over) = watch::channel(());
        let task = tokio::spawn(async move {
            // An error means that the owner is gone.
            let shutdown = Box::pin(async move { drop(stopped.wait_for(|stopped| *stopped).await) });
            informer.run_until(shutdown).await;
            drop(alive);
        });
        Self { stop, over, abort: task.abort_handle() }
    }

    /// Asks the informer to stop.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.has_changed().is_err()
    }

    pub(super) async fn over(&self) {
        let mut over = self.over.clone();
        while over.changed().await.is_ok() {}
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort.abort();
    }
}
