//! `lariat controller`: the control loops against a live API server.

mod args;
mod leadership;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use lariat::client::config::Overrides;
use lariat::leaderelection::Lease;
use lariat::prelude::*;
use lariat::{ManagerError, Runnable};
use lariat_controllers::controllers::{Controllers, Settings};
use lariat_controllers::metrics::AgonesMetrics;

pub(crate) use self::args::Args;
use self::leadership::Leadership;
use crate::{logging, preflight};

/// How long what was begun may take after a signal. A kubelet kills after 30 s, and the Lease has to be given back before.
const GRACE: Duration = Duration::from_secs(20);

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    logging::init(args.log_level());
    args.warn();
    let kubeconfig = args.kubeconfig.clone();
    let port = (args.listen, args.prometheus_exporter);
    let leadership = args.leadership.clone();
    let settings = args.settings()?;
    let config = config(kubeconfig.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(follow(config, settings, &leadership, port))
}

/// The configuration in a file, or else where it is looked for.
pub(crate) fn config(file: Option<&Path>) -> anyhow::Result<Config> {
    Ok(match file {
        Some(file) => Config::from_kubeconfig_file(file, &Overrides::default())?,
        None => Config::infer()?,
    })
}

async fn follow(
    config: Config,
    settings: Settings,
    leadership: &Leadership,
    (listen, serves_metrics): (SocketAddr, bool),
) -> anyhow::Result<()> {
    let mut signals = Box::pin(signals().context("cannot wait for signals")?);
    let server = config.server().clone();
    let client = Client::new(config)?;
    tracing::info!(%server, loops = ?settings.loops, "started");
    let mut needed = preflight::kinds_of(&settings.loops);
    if let Some(namespace) = leadership.namespace() {
        needed.push((Lease::KIND, namespace.to_owned()));
    }
    tokio::select! {
        biased;
        () = &mut signals => return Ok(()),
        ready = preflight::check(&client, &needed) => ready?,
    }

    let (client, candidate) = leadership.candidate(client)?;
    let metrics = Arc::new(AgonesMetrics::default());
    let mut builder = Manager::builder(client)
        .listen(listen)
        .serve_metrics(serves_metrics)
        .grace(GRACE)
        .observer(metrics.clone());
    let mut fence = None;
    if let Some((elector, allows)) = candidate {
        builder = builder.elector(elector);
        fence = Some(allows);
    }
    let resync = settings.resync;
    let manager = builder.informers(move |all| all.resync_period(resync).consistent_start(true)).build();
    // The Events of the election are sent after its end, and so not by the loops' client.
    let client = match fence {
        Some(fence) => manager.client().fenced(fence),
        None => manager.client().clone(),
    };
    manager.register_metrics(|registry| metrics.register(registry));
    let controllers = Controllers::new(client, settings).metrics(metrics);
    if leadership.is_cold() {
        manager.add_runnable(Runnable::new("loops", |stop| async move {
            controllers.run(async move { stop.stopped().await }).await.map_err(Into::into)
        }))?;
    } else {
        controllers.add_to(&manager)?;
    }
    let stopped = manager.run(signals).await.map_err(|error| match error {
        ManagerError::Listen { .. } => anyhow::Error::new(error).context("--listen"),
        other => other.into(),
    })?;
    if !stopped.overdue.is_empty() {
        tracing::warn!(names = stopped.overdue.join(", "), "ended before they were done");
    }
    tracing::info!("stopped");
    Ok(())
}
