use std::io;

/// Waits for the first signal that asks the program to stop, SIGINT or SIGTERM. From then on a second one ends it at once, with
/// status 1.
///
/// # Errors
///
/// If the operating system does not let the program wait for signals.
///
/// # Panics
///
/// Outside a tokio runtime with its I/O enabled.
///
/// # Example
///
/// ```no_run
/// # async fn run(manager: lariat::Manager) -> Result<(), Box<dyn std::error::Error>> {
/// manager.run(lariat::signals()?).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(unix)]
pub fn signals() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    Ok(async move {
        next().await;
        tracing::info!("stopping; a second signal ends the program at once");
        tokio::spawn(async move {
            next().await;
            std::process::exit(1);
        });
    })
}

/// Waits for the first Ctrl-C. From then on a second one ends the program at once, with status 1.
///
/// # Errors
///
/// None here; there are some on other systems.
#[cfg(not(unix))]
pub fn signals() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async move {
        // An error means that there will be none.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("stopping; a second signal ends the program at once");
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(1);
            }
        });
    })
}
