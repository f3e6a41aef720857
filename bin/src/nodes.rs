//! `lariat nodes`: nodes that only seem to be there, for any API server.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use lariat::api::Randomness;
use lariat::prelude::*;
use lariat_controllers::simulated::{NodeSettings, SimulatedNodes};
use lariat_controllers::types::{GameServer, Node, Pod};
use tracing_subscriber::filter::LevelFilter;

use crate::controller::config;
use crate::{logging, preflight};

/// Simulate nodes until SIGINT or SIGTERM
///
/// They bind pods, mark them as running, say for game servers that they are ready as the SDK would, and take pods away that are
/// deleted. Nothing runs. Do not use it where there are real nodes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kubeconfig to use; without it those in KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// How many nodes
    #[arg(long, default_value_t = 20)]
    count: usize,

    /// What their names begin with
    #[arg(long, default_value = "lariat-node-")]
    prefix: String,

    /// How many milliseconds a pod takes to run
    #[arg(long, default_value_t = 0)]
    start_delay_ms: u64,

    /// How many of a million running pods fail each second, as if their game had crashed
    #[arg(long, value_name = "N", default_value_t = 0)]
    failures_per_million: u64,

    /// How many of a million running pods are evicted each second
    #[arg(long, value_name = "N", default_value_t = 0)]
    evictions_per_million: u64,

    /// How many of a million running pods vanish each second, as with their node
    #[arg(long, value_name = "N", default_value_t = 0)]
    vanishing_per_million: u64,

    /// After how many seconds players leave a server that was allocated; they stay if nothing is given
    #[arg(long, value_name = "SECONDS")]
    session: Option<u64>,

    /// The seed of what happens by chance; without it that is different each time
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::INFO);
    let config = config(args.kubeconfig.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(async {
        let mut signals = Box::pin(signals().context("cannot wait for signals")?);
        let client = Client::new(config)?;
        let settings = NodeSettings {
            count: args.count,
            prefix: args.prefix,
            start_delay: Duration::from_millis(args.start_delay_ms),
            failures_per_million: args.failures_per_million,
            evictions_per_million: args.evictions_per_million,
            vanishing_per_million: args.vanishing_per_million,
            session: args.session.map(Duration::from_secs),
            ..NodeSettings::default()
        };
        let randomness = args.seed.map_or_else(Randomness::from_os, Randomness::seeded);
        tracing::info!(server = %client.config().server(), nodes = args.count, "started");
        let needed = [Node::KIND, Pod::KIND, GameServer::KIND].map(|kind| (kind, String::new()));
        tokio::select! {
            biased;
            () = &mut signals => return Ok(()),
            ready = preflight::check(&client, &needed) => ready?,
        }
        let nodes = SimulatedNodes::new(client, settings, randomness);
        nodes
            .run(signals)
            .await
            .context("nodes need an account that may do as a kubelet and the scheduler do")?;
        tracing::info!("stopped");
        Ok(())
    })
}
