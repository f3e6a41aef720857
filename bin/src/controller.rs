//! `lariat controller`: the control loops against a live API server.

use std::path::PathBuf;

use anyhow::Context as _;
use lariat::client::config::Overrides;
use lariat::prelude::*;
use lariat_controllers::fleetautoscalers::FleetAutoscalers;
use tokio::sync::watch;
use tracing_subscriber::filter::LevelFilter;

use crate::logging;
use crate::signals::{is_set, stop_on_signal};

/// Run the control loops against an API server until SIGINT or SIGTERM
///
/// What was begun is finished after the signal; a second signal ends the program at once.
/// Logs go to standard error; the environment variable RUST_LOG chooses what is logged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kubeconfig to use; without it those in KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::INFO);
    let config = match &args.kubeconfig {
        Some(file) => Config::from_kubeconfig_file(file, &Overrides::default())?,
        None => Config::infer()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(follow(config))
}

async fn follow(config: Config) -> anyhow::Result<()> {
    let server = config.server().clone();
    let client = Client::new(config)?;
    let stop = stop_on_signal()?;
    let fleets = Informer::builder(Api::all(client.clone())).build();
    let autoscalers = Informer::builder(Api::all(client.clone())).build();
    let controller = FleetAutoscalers::new(client, fleets.clone(), autoscalers.clone())?;

    // The caches go on until the loop has finished what it began.
    let (loop_ended, loop_end) = watch::channel(false);
    let caches = tokio::spawn(async move {
        tokio::join!(fleets.run(is_set(loop_end.clone())), autoscalers.run(is_set(loop_end)));
    });
    tracing::info!(%server, controllers = "fleetautoscalers", "started");
    controller.run(is_set(stop)).await;
    loop_ended.send_replace(true);
    caches.await.context("an informer panicked")?;
    tracing::info!("stopped");
    Ok(())
}
