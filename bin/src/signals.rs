//! How a program that runs for long is stopped.

use anyhow::Context as _;
use tokio::sync::watch;

/// Becomes true at the first SIGINT or SIGTERM. At the second one the process ends with status 1.
pub(crate) fn stop_on_signal() -> anyhow::Result<watch::Receiver<bool>> {
    let signals = lariat::signals().context("cannot wait for signals")?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        signals.await;
        sender.send_replace(true);
    });
    Ok(receiver)
}

/// Waits until a flag is set.
pub(crate) async fn is_set(mut flag: watch::Receiver<bool>) {
    // An error means that nobody is left to set it, and so that the program is ending.
    let _ = flag.wait_for(|set| *set).await;
}
