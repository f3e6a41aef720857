use std::fmt::{self, Debug, Formatter};

use tokio::sync::watch;

/// Says when something is to stop. A clone says the same.
///
/// # Example
///
/// ```
/// use lariat::{Runnable, Stop};
///
/// let sweeper = Runnable::new("sweeper", |stop: Stop| async move {
///     stop.stopped().await;
///     Ok(())
/// });
/// # let _ = sweeper;
/// ```
#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

/// Says to stop. So does dropping it.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

impl Stop {
    pub(crate) fn new() -> (Stopper, Self) {
        let (sender, receiver) = watch::channel(false);
        (Stopper(sender), Self(receiver))
    }

    /// Waits until it is to stop.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped changes nothing.
    pub async fn stopped(&self) {
        // An error means that whoever could say it is gone.
        let _ = self.0.clone().wait_for(|stopped| *stopped).await;
    }

    /// Whether it is to stop.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

impl Debug for Stop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.is_stopped()).finish()
    }
}

impl Stopper {
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }
}
