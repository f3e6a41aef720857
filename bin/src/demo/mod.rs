//! `lariat demo`: everything in one process, with players.

mod allocation;
mod players;
mod report;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::Uri;
use lariat::api::Randomness;
use lariat::prelude::*;
use lariat_apiserver::ApiServer;
use lariat_controllers::controllers::{Controllers, Settings};
use lariat_controllers::gameservers::PodSettings;
use lariat_controllers::simulated::{NodeSettings, SimulatedNodes};
use lariat_controllers::types::{Fleet, FleetAutoscaler};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing_subscriber::filter::LevelFilter;

use self::allocation::Allocations;
use self::players::Players;
use self::report::Sample;
use crate::{logging, output};

/// Watch a fleet follow its players: an API server, nodes, all loops and players, in this process
///
/// Players come in pairs, allocate servers, play and leave; an autoscaler keeps 9 servers free for them. It ends by itself, with
/// status 1 if anything went wrong on the way: a size beyond the autoscaler's limits, a server lost, or a port given twice.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many seconds it lasts
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    duration: u64,

    /// How many simulated nodes
    #[arg(long, default_value_t = 5)]
    nodes: usize,

    /// Write a page with the curves, which needs nothing else
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// The seed of what happens by chance; without it that is different each time
    #[arg(long)]
    seed: Option<u64>,
}

/// The autoscaler of the classic example.
const BUFFER: i32 = 9;
const MIN: i32 = 9;
const MAX: i32 = 30;

/// How often the state is shown.
const TICK: Duration = Duration::from_millis(500);

/// How many lines of the live view are shown at once.
const SHOWN: usize = 20;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::WARN);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(play(args))
}

/// Nodes, loops and the allocation API on an embedded server.
pub(crate) struct Local {
    stop: watch::Sender<bool>,
    loops: JoinHandle<anyhow::Result<()>>,
    nodes: JoinHandle<anyhow::Result<()>>,
    allocations: Allocations,
    clashes: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Local {
    pub(crate) fn start(server: &ApiServer, client: &Client, nodes: usize) -> anyhow::Result<Self> {
        for definition in lariat_controllers::definitions::all() {
            let refused = server.define(definition);
            refused.map_err(|status| anyhow::anyhow!("a definition was refused: {}", status.message))?;
        }
        let (stop, stopped) = watch::channel(false);
        let until = || {
            let mut stopped = stopped.clone();
            async move { drop(stopped.wait_for(|stopped| *stopped).await) }
        };
        let settings = NodeSettings { count: nodes, ..NodeSettings::default() };
        let nodes = SimulatedNodes::new(client.clone(), settings, Randomness::from_os());
        let clashes = Arc::new(nodes.clashes());
        let (of_nodes, of_loops) = (until(), until());
        let nodes = tokio::spawn(async move { Ok(nodes.run(of_nodes).await?) });
        let pods = PodSettings { sidecar_image: "simulated/sdk-server".into(), ..PodSettings::default() };
        let controllers = Controllers::new(client.clone(), Settings { pods, ..Settings::default() });
        let loops = tokio::spawn(async move { Ok(controllers.run(of_loops).await?) });
        let allocations = Allocations::start(server, client, until())?;
        Ok(Self { stop, loops, nodes, allocations, clashes })
    }

    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        self.allocations.ended().await;
        for ended in [self.loops.await, self.nodes.await] {
            if let Ok(Err(error)) = ended {
                tracing::warn!("{error:#}");
            }
        }
    }
}

/// A client of a server in this process.
fn client_of(server: &ApiServer) -> anyhow::Result<Client> {
    let pipes = server.clone();
    let connector = move |_: &Uri| std::future::ready(pipes.try_connect());
    let config = Config::new(Uri::from_static("http://in-process"))?;
    Ok(Client::builder(config).connector(connector).build()?)
}

async fn play(args: &Args) -> anyhow::Result<()> {
    let server = ApiServer::builder().build();
    let client = client_of(&server)?;
    let local = Local::start(&server, &client, args.nodes)?;
    let fleet: Fleet = serde_json::from_value(fleet())?;
    Api::<Fleet>::namespaced(client.clone(), "default").create(&fleet).await?;
    let autoscaler: FleetAutoscaler = serde_json::from_value(autoscaler())?;
    Api::<FleetAutoscaler>::namespaced(client.clone(), "default").create(&autoscaler).await?;
    let randomness = args.seed.map_or_else(Randomness::from_os, Randomness::seeded);
    let players = Players::start(client.clone(), Duration::from_secs(args.duration), randomness);

    let is_live = std::io::stdout().is_terminal();
    let start = Instant::now();
    let mut samples: Vec<Sample> = Vec::new();
    let mut broken: Vec<String> = Vec::new();
    let mut requests = 0;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    if !is_live {
        output::print(&format!("{}\n", Sample::HEADER))?;
    }
    while start.elapsed() < Duration::from_secs(args.duration) {
        ticks.tick().await;
        let seen = server.seen().len();
        let sample = Sample::take(&server, start.elapsed(), seen - requests, TICK);
        requests = seen;
        broken.extend(check(&sample, samples.last()));
        samples.push(sample);
        show(&samples, is_live)?;
    }
    let played = players.stop().await;
    let clashes = (local.clashes)();
    local.stop().await;
    if clashes > 0 {
        broken.push(format!("{clashes} pods had a port that another pod had on their node"));
    }
    broken.extend(played.lost.iter().map(|name| format!("server {name} was lost while players were on it")));

    let summary = report::summary(&samples, &played, requests, start.elapsed());
    output::print(&format!("\n{summary}"))?;
    if let Some(path) = &args.report {
        let page = report::page(&samples, &summary);
        std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
        output::print(&format!("curves: {}\n", path.display()))?;
    }
    if broken.is_empty() {
        return Ok(());
    }
    bail!("{}", broken.join("\n"))
}

/// What must hold at all times.
fn check(sample: &Sample, last: Option<&Sample>) -> Option<String> {
    let at = sample.at.as_secs_f32();
    // The fleet begins with fewer servers than the autoscaler wants.
    let is_settled = last.is_some_and(|last| last.desired >= MIN);
    if sample.desired > MAX || (is_settled && sample.desired < MIN) {
        return Some(format!(
            "at {at:.1} s the fleet was to have {} servers, not {MIN} to {MAX}",
            sample.desired
        ));
    }
    None
}

fn show(samples: &[Sample], is_live: bool) -> anyhow::Result<()> {
    let Some(last) = samples.last() else { return Ok(()) };
    if is_live {
        let first = samples.len().saturating_sub(SHOWN);
        let lines: Vec<String> = samples[first..].iter().map(Sample::line).collect();
        // Home, then each line over what was there, then nothing below.
        let lines = lines.join("\x1b[K\n");
        output::print(&format!("\x1b[H\x1b[K{}\x1b[K\n{lines}\x1b[K\n\x1b[J", Sample::HEADER))?;
    } else if samples.len() % 2 == 1 {
        output::print(&format!("{}\n", last.line()))?;
    }
    Ok(())
}

fn fleet() -> Value {
    json!({
        "apiVersion": "agones.dev/v1", "kind": "Fleet",
        "metadata": {"name": "simple", "namespace": "default"},
        "spec": {
            "replicas": 2, "scheduling": "Packed",
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"metadata": {}, "spec": {
                "ports": [{"name": "default", "containerPort": 7654}],
                "template": {"spec": {"containers": [{"name": "game", "image": "simulated/game"}]}},
            }},
        },
    })
}

fn autoscaler() -> Value {
    json!({
        "apiVersion": "autoscaling.agones.dev/v1", "kind": "FleetAutoscaler",
        "metadata": {"name": "simple", "namespace": "default"},
        "spec": {
            "fleetName": "simple",
            "policy": {"type": "Buffer", "buffer": {"bufferSize": BUFFER, "minReplicas": MIN, "maxReplicas": MAX}},
            "sync": {"type": "FixedInterval", "fixedInterval": {"seconds": 1}},
        },
    })
}
