//! `lariat dev`: the embedded API server with nodes and all loops, on a port.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use lariat::client::config::Overrides;
use lariat::prelude::*;
use lariat_apiserver::{ApiServer, ServerIdentity, random_token};
use tokio::net::TcpListener;
use tracing_subscriber::filter::LevelFilter;

use crate::apiserver::write_kubeconfig;
use crate::demo::Local;
use crate::signals::{is_set, stop_on_signal};
use crate::{logging, output};

/// Run the embedded API server, simulated nodes and all loops until Ctrl-C, for kubectl
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// Where to write the kubeconfig, which only you may read
    #[arg(long, value_name = "FILE", default_value = "lariat.kubeconfig")]
    kubeconfig_out: PathBuf,

    /// How many simulated nodes
    #[arg(long, default_value_t = 10)]
    nodes: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::INFO);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(serve(args))
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let stop = stop_on_signal()?;
    let token = random_token()?;
    let server = ApiServer::builder().token(token.as_str()).remember_requests(false).build();
    let listener =
        TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = listener.local_addr().context("the listener has no address")?;
    let identity = ServerIdentity::generate(address.ip())?;
    write_kubeconfig(&args.kubeconfig_out, address, &token, &identity)?;
    let serving = server.clone();
    let serving = tokio::spawn(async move { serving.serve_tls(listener, identity).await });
    // A token goes over TLS only, so loops and nodes come in by the port as everybody does.
    let client = Client::new(Config::from_kubeconfig_file(&args.kubeconfig_out, &Overrides::default())?)?;
    let local = Local::start(&server, &client, args.nodes)?;
    output::print(&format!(
        "serving on https://{address}, with {} simulated nodes and all loops\nexport KUBECONFIG={}\n",
        args.nodes,
        args.kubeconfig_out.display()
    ))?;
    is_set(stop).await;
    local.stop().await;
    serving.abort();
    tracing::info!("stopped");
    Ok(())
}
