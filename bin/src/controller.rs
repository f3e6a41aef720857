//! `lariat controller`: the control loops against a live API server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use lariat::client::config::Overrides;
use lariat::prelude::*;
use lariat_controllers::controllers::{Controllers, Loop, Settings};
use lariat_controllers::gameservers::PodSettings;
use lariat_controllers::gameservers::ports::PortRange;
use lariat_controllers::gameserversets::reconcile::Limits;
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::quantity::Quantity;
use tracing_subscriber::filter::LevelFilter;

use crate::leadership::Leadership;
use crate::logging;
use crate::signals::{is_set, stop_on_signal};

/// Run the control loops against an API server until SIGINT or SIGTERM
///
/// Flags and environment variables are those of the Agones controller. What was begun is finished after the signal; a second signal
/// ends the program at once. Logs go to standard error; the environment variable RUST_LOG chooses what is logged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kubeconfig to use; without it those in KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The loops to run: gameservers, gameserversets, fleets, fleetautoscalers
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    controllers: Vec<Loop>,

    /// How many objects each loop looks at at once
    #[arg(long, env = "NUM_WORKERS", default_value_t = 64)]
    num_workers: usize,

    /// The first port of the range `default`
    #[arg(long, env = "MIN_PORT", default_value_t = 7_000)]
    min_port: i32,

    /// The last port of the range `default`
    #[arg(long, env = "MAX_PORT", default_value_t = 8_000)]
    max_port: i32,

    /// Further ranges, in JSON: {"game": [9000, 10000]}
    #[arg(long, env = "ADDITIONAL_PORT_RANGES", default_value = "{}")]
    additional_port_ranges: String,

    /// The features that are on or off: CountsAndLists=false&PlayerTracking=true
    #[arg(long, env = "FEATURE_GATES", default_value = "")]
    feature_gates: FeatureGates,

    #[command(flatten)]
    leadership: Leadership,

    #[command(flatten)]
    sidecar: Sidecar,

    #[command(flatten)]
    sets: Sets,
}

#[derive(Debug, clap::Args)]
struct Sidecar {
    /// The image of the SDK server
    #[arg(
        long,
        env = "SIDECAR_IMAGE",
        default_value = "us-docker.pkg.dev/agones-images/release/agones-sdk:1.57.0"
    )]
    sidecar_image: String,

    /// How much CPU it asks for; 0 for nothing
    #[arg(long, env = "SIDECAR_CPU_REQUEST", default_value = "0")]
    sidecar_cpu_request: Quantity,

    /// How much CPU it gets at most; 0 for no limit
    #[arg(long, env = "SIDECAR_CPU_LIMIT", default_value = "0")]
    sidecar_cpu_limit: Quantity,

    /// How much memory it asks for; 0 for nothing
    #[arg(long, env = "SIDECAR_MEMORY_REQUEST", default_value = "0")]
    sidecar_memory_request: Quantity,

    /// How much memory it gets at most; 0 for no limit
    #[arg(long, env = "SIDECAR_MEMORY_LIMIT", default_value = "0")]
    sidecar_memory_limit: Quantity,

    /// The user that it runs as
    #[arg(long, env = "SIDECAR_RUN_AS_USER", default_value_t = 1_000)]
    sidecar_run_as_user: i64,

    /// How long it waits between two requests
    #[arg(long, env = "SIDECAR_REQUESTS_RATE_LIMIT", default_value = "500ms", value_parser = duration)]
    sidecar_requests_rate_limit: Duration,

    /// The service account of pods that name none
    #[arg(long, env = "SDK_SERVICE_ACCOUNT", default_value = "agones-sdk")]
    sdk_service_account: String,

    /// Whether the image is pulled each time
    #[arg(long, env = "ALWAYS_PULL_SIDECAR")]
    always_pull_sidecar: bool,
}

#[derive(Debug, clap::Args)]
struct Sets {
    /// How many servers of a set are created at once
    #[arg(long, env = "MAX_CREATION_PARALLELISM", default_value_t = 16)]
    max_creation_parallelism: usize,

    /// How many servers of a set are created in one turn
    #[arg(long, env = "MAX_GAME_SERVER_CREATIONS_PER_BATCH", default_value_t = 64)]
    max_game_server_creations_per_batch: usize,

    /// How many servers of a set are shut down at once
    #[arg(long, env = "MAX_DELETION_PARALLELISM", default_value_t = 64)]
    max_deletion_parallelism: usize,

    /// How many servers of a set are shut down in one turn
    #[arg(long, env = "MAX_GAME_SERVER_DELETIONS_PER_BATCH", default_value_t = 64)]
    max_game_server_deletions_per_batch: usize,

    /// How many servers of a set may be on their way to run
    #[arg(long, env = "MAX_POD_PENDING_COUNT", default_value_t = 5_000)]
    max_pod_pending_count: usize,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::INFO);
    let config = config(args.kubeconfig.as_deref())?;
    let leadership = args.leadership.clone();
    let settings = settings(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(follow(config, settings, &leadership))
}

/// The configuration in a file, or else where it is looked for.
pub(crate) fn config(file: Option<&std::path::Path>) -> anyhow::Result<Config> {
    Ok(match file {
        Some(file) => Config::from_kubeconfig_file(file, &Overrides::default())?,
        None => Config::infer()?,
    })
}

fn settings(args: Args) -> anyhow::Result<Settings> {
    let Args {
        controllers,
        num_workers,
        min_port,
        max_port,
        additional_port_ranges,
        feature_gates,
        sidecar,
        sets,
        ..
    } = args;
    let further: BTreeMap<String, (i32, i32)> = serde_json::from_str(&additional_port_ranges)
        .context("--additional-port-ranges: want JSON such as {\"game\": [9000, 10000]}")?;
    let mut ports: BTreeMap<String, PortRange> =
        further.into_iter().map(|(name, (min, max))| (name, PortRange { min, max })).collect();
    ports.insert("default".to_owned(), PortRange { min: min_port, max: max_port });
    Ok(Settings {
        loops: if controllers.is_empty() { Loop::ALL.into() } else { controllers.into_iter().collect() },
        gates: feature_gates,
        pods: PodSettings {
            sidecar_image: sidecar.sidecar_image,
            always_pull_sidecar: sidecar.always_pull_sidecar,
            sidecar_cpu_request: Some(sidecar.sidecar_cpu_request),
            sidecar_cpu_limit: Some(sidecar.sidecar_cpu_limit),
            sidecar_memory_request: Some(sidecar.sidecar_memory_request),
            sidecar_memory_limit: Some(sidecar.sidecar_memory_limit),
            sidecar_run_as_user: sidecar.sidecar_run_as_user,
            sidecar_requests_rate_limit: sidecar.sidecar_requests_rate_limit,
            sdk_service_account: sidecar.sdk_service_account,
        },
        ports,
        workers: num_workers,
        limits: Limits {
            max_creations: sets.max_game_server_creations_per_batch,
            max_deletions: sets.max_game_server_deletions_per_batch,
            max_pending: sets.max_pod_pending_count,
        },
        parallel: (sets.max_creation_parallelism, sets.max_deletion_parallelism),
        ..Settings::default()
    })
}

async fn follow(config: Config, settings: Settings, leadership: &Leadership) -> anyhow::Result<()> {
    let server = config.server().clone();
    let client = Client::new(config)?;
    let stop = stop_on_signal()?;
    tracing::info!(%server, loops = ?settings.loops, "started");
    if leadership.leader_election {
        leadership.follow(client, settings, stop).await?;
    } else {
        Controllers::new(client, settings).run(is_set(stop)).await?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// A duration as Go writes them.
fn duration(text: &str) -> Result<Duration, String> {
    let nanos = lariat_controllers::schedule::parse_duration(text).map_err(|error| error.to_string())?;
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| format!("{text:?} is less than 0"))
}
