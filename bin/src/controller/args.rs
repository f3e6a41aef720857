//! The flags of the Agones controller, with its names, environment variables and defaults (reference 7.2), and some more.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use lariat::api::Randomness;
use lariat_controllers::controllers::{Loop, Settings};
use lariat_controllers::gameservers::PodSettings;
use lariat_controllers::gameservers::ports::{PortAllocator, PortRange};
use lariat_controllers::gameserversets::reconcile::Limits;
use lariat_controllers::gates::{FeatureGates, Gate};
use lariat_controllers::quantity::Quantity;
use tracing_subscriber::filter::LevelFilter;

use super::leadership::Leadership;

/// Run the control loops against an API server until SIGINT or SIGTERM
///
/// It takes the place of the Agones controller: the flags and environment variables are that one's, an empty variable is one that is not
/// set, and the role that `lariat rbac` prints suffices. What was begun is finished after the signal; a second signal ends the program at
/// once. Logs go to standard error; the environment variable RUST_LOG chooses what is logged, in place of --log-level.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kubeconfig to use; without it those in KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The loops to run, separated by commas: gameservers, gameserversets, fleets, fleetautoscalers; all if none is named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    controllers: Vec<Loop>,

    /// Where to serve /live, /ready, /metrics and /debug/state; port 0 is any free one
    #[arg(long, env = "LISTEN", default_value = "0.0.0.0:8080", value_parser = address, value_name = "ADDRESS:PORT")]
    pub(crate) listen: SocketAddr,

    /// How many objects each loop looks at at once
    #[arg(long, env = "NUM_WORKERS", default_value_t = 64, value_parser = at_least_one, value_name = "NUMBER")]
    num_workers: usize,

    /// The features that are on or off, as CountsAndLists=false&PlayerTracking=true
    #[arg(long, env = "FEATURE_GATES", default_value = "", hide_default_value = true, value_name = "GATES")]
    feature_gates: FeatureGates,

    /// What is logged: Trace, Debug, Info, Warning or Error; as with the original, anything else is Info
    #[arg(long, env = "LOG_LEVEL", default_value = "Info", value_name = "LEVEL")]
    log_level: String,

    /// Whether there is /metrics, for Prometheus
    #[arg(long, env = "PROMETHEUS_EXPORTER", default_value = "true", value_parser = boolean, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) prometheus_exporter: bool,

    #[command(flatten)]
    pub(crate) leadership: Leadership,

    #[command(flatten)]
    ports: Ports,

    #[command(flatten)]
    sidecar: Sidecar,

    #[command(flatten)]
    sets: Sets,

    #[command(flatten)]
    ignored: Ignored,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Host ports")]
struct Ports {
    /// The first port of the range `default`
    #[arg(long, env = "MIN_PORT", default_value_t = 7_000, value_parser = port, value_name = "PORT")]
    min_port: i32,

    /// The last port of the range `default`
    #[arg(long, env = "MAX_PORT", default_value_t = 8_000, value_parser = port, value_name = "PORT")]
    max_port: i32,

    /// Further ranges, in JSON: {"game": [9000, 10000]}
    #[arg(long, env = "ADDITIONAL_PORT_RANGES", default_value = "{}", value_name = "JSON")]
    additional_port_ranges: String,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The SDK server beside each game server")]
struct Sidecar {
    /// Its image
    #[arg(
        long,
        env = "SIDECAR_IMAGE",
        default_value = "us-docker.pkg.dev/agones-images/release/agones-sdk:1.57.0",
        value_name = "IMAGE"
    )]
    sidecar_image: String,

    /// How much CPU it asks for; 0 for nothing
    #[arg(long, env = "SIDECAR_CPU_REQUEST", default_value = "0", value_name = "QUANTITY")]
    sidecar_cpu_request: Quantity,

    /// How much CPU it gets at most; 0 for no limit
    #[arg(long, env = "SIDECAR_CPU_LIMIT", default_value = "0", value_name = "QUANTITY")]
    sidecar_cpu_limit: Quantity,

    /// How much memory it asks for; 0 for nothing
    #[arg(long, env = "SIDECAR_MEMORY_REQUEST", default_value = "0", value_name = "QUANTITY")]
    sidecar_memory_request: Quantity,

    /// How much memory it gets at most; 0 for no limit
    #[arg(long, env = "SIDECAR_MEMORY_LIMIT", default_value = "0", value_name = "QUANTITY")]
    sidecar_memory_limit: Quantity,

    /// The user that it runs as
    #[arg(
        long,
        env = "SIDECAR_RUN_AS_USER",
        alias = "sidercar-run-as-user",
        default_value_t = 1_000,
        value_name = "UID"
    )]
    sidecar_run_as_user: i64,

    /// How long it waits between two requests, as Go writes durations
    #[arg(long, env = "SIDECAR_REQUESTS_RATE_LIMIT", default_value = "500ms", value_parser = duration, value_name = "DURATION")]
    sidecar_requests_rate_limit: Duration,

    /// The service account of pods that name none
    #[arg(long, env = "SDK_SERVICE_ACCOUNT", default_value = "agones-sdk", value_name = "NAME")]
    sdk_service_account: String,

    /// Whether its image is pulled each time
    #[arg(long, env = "ALWAYS_PULL_SIDECAR", default_value = "false", value_parser = boolean, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    always_pull_sidecar: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sets of game servers")]
struct Sets {
    /// How many servers of a set are created at once
    #[arg(long, env = "MAX_CREATION_PARALLELISM", default_value_t = 16, value_parser = at_least_one, value_name = "NUMBER")]
    max_creation_parallelism: usize,

    /// How many servers of a set are created in one turn
    #[arg(long, env = "MAX_GAME_SERVER_CREATIONS_PER_BATCH", default_value_t = 64, value_parser = at_least_one, value_name = "NUMBER")]
    max_game_server_creations_per_batch: usize,

    /// How many servers of a set are shut down at once
    #[arg(long, env = "MAX_DELETION_PARALLELISM", default_value_t = 64, value_parser = at_least_one, value_name = "NUMBER")]
    max_deletion_parallelism: usize,

    /// How many servers of a set are shut down in one turn
    #[arg(long, env = "MAX_GAME_SERVER_DELETIONS_PER_BATCH", default_value_t = 64, value_parser = at_least_one, value_name = "NUMBER")]
    max_game_server_deletions_per_batch: usize,

    /// How many servers of a set may be on their way to run
    #[arg(long, env = "MAX_POD_PENDING_COUNT", default_value_t = 5_000, value_parser = at_least_one, value_name = "NUMBER")]
    max_pod_pending_count: usize,
}

/// Flags of the original that nothing here depends on.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Taken as the original takes them, without an effect")]
struct Ignored {
    /// auto, generic or gke-autopilot; auto is generic here, and gke-autopilot is refused
    #[arg(long, env = "CLOUD_PRODUCT", default_value = "auto", value_name = "NAME")]
    cloud_product: String,

    /// Requests per second; here the API server's priority and fairness limits them
    #[arg(long, env = "API_SERVER_QPS", value_name = "NUMBER")]
    api_server_qps: Option<u32>,

    /// Requests at once, likewise
    #[arg(long, env = "API_SERVER_QPS_BURST", value_name = "NUMBER")]
    api_server_qps_burst: Option<u32>,

    /// For allocations, which this program does not answer
    #[arg(long, env = "ALLOCATION_BATCH_WAIT_TIME", value_parser = duration, value_name = "DURATION")]
    allocation_batch_wait_time: Option<Duration>,

    /// Where log files go; logs go to standard error only
    #[arg(long, env = "LOG_DIR", value_name = "DIR")]
    log_dir: Option<String>,

    /// How large log files get
    #[arg(long, env = "LOG_SIZE_LIMIT_MB", value_name = "NUMBER")]
    log_size_limit_mb: Option<u32>,

    /// Whether metrics are sent to Stackdriver
    #[arg(long, env = "STACKDRIVER_EXPORTER", value_parser = boolean, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    stackdriver_exporter: Option<bool>,

    /// Labels of metrics there
    #[arg(long, env = "STACKDRIVER_LABELS", value_name = "LABELS")]
    stackdriver_labels: Option<String>,

    /// The project of metrics there
    #[arg(long, env = "GCP_PROJECT_ID", value_name = "ID")]
    gcp_project_id: Option<String>,

    /// A certificate, which the original does not use either
    #[arg(long, env = "CERT_FILE", value_name = "FILE")]
    cert_file: Option<PathBuf>,

    /// Its key
    #[arg(long, env = "KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Args {
    /// What is logged if the environment says nothing.
    pub(crate) fn log_level(&self) -> LevelFilter {
        match self.log_level.to_lowercase().as_str() {
            "trace" => LevelFilter::TRACE,
            "debug" => LevelFilter::DEBUG,
            "warn" | "warning" => LevelFilter::WARN,
            "error" | "fatal" | "panic" => LevelFilter::ERROR,
            _ => LevelFilter::INFO,
        }
    }

    /// Says what was given and has no effect.
    pub(crate) fn warn(&self) {
        let Ignored { cloud_product: _, stackdriver_exporter, .. } = self.ignored;
        if stackdriver_exporter == Some(true) {
            tracing::warn!("--stackdriver-exporter has no effect: metrics are served at /metrics only");
        }
        let given = self.ignored.given();
        if !given.is_empty() {
            tracing::info!(flags = given.join(" "), "these flags have no effect");
        }
        if self.ignored.cloud_product == "auto" {
            tracing::debug!("--cloud-product auto is generic: clouds are not told apart");
        }
        for (gate, what) in [
            (Gate::WasmAutoscaler, "policies in WebAssembly are answered with an error"),
            (Gate::ProcessorAllocator, "there is no processor of allocations"),
        ] {
            if self.feature_gates.has(gate) {
                tracing::warn!("the feature gate {gate:?} is on, but {what}");
            }
        }
    }

    /// What the loops are told.
    pub(crate) fn settings(self) -> anyhow::Result<Settings> {
        let Self { controllers, num_workers, feature_gates, ports, sidecar, sets, ignored, .. } = self;
        match &*ignored.cloud_product {
            "auto" | "generic" => {}
            "gke-autopilot" => bail!(
                "--cloud-product: gke-autopilot is not supported: its pods need other ports and annotations than this program makes"
            ),
            other => bail!("--cloud-product: want auto or generic, not {other:?}"),
        }
        let ports = ports.ranges()?;
        sidecar.check()?;
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
}

impl Ports {
    fn ranges(self) -> anyhow::Result<BTreeMap<String, PortRange>> {
        let Self { min_port, max_port, additional_port_ranges } = self;
        let further: BTreeMap<String, (i32, i32)> = serde_json::from_str(&additional_port_ranges)
            .with_context(|| {
                format!(
                    "--additional-port-ranges: want JSON such as {{\"game\": [9000, 10000]}}, not {additional_port_ranges:?}"
                )
            })?;
        if further.contains_key("default") {
            bail!("--additional-port-ranges: the range default is that of --min-port and --max-port");
        }
        let mut ranges: BTreeMap<String, PortRange> =
            further.into_iter().map(|(name, (min, max))| (name, PortRange { min, max })).collect();
        ranges.insert("default".to_owned(), PortRange { min: min_port, max: max_port });
        PortAllocator::new(ranges.clone(), Randomness::seeded(0))
            .context("--min-port, --max-port and --additional-port-ranges")?;
        Ok(ranges)
    }
}

impl Sidecar {
    fn check(&self) -> anyhow::Result<()> {
        for (what, request, limit) in [
            ("cpu", &self.sidecar_cpu_request, &self.sidecar_cpu_limit),
            ("memory", &self.sidecar_memory_request, &self.sidecar_memory_limit),
        ] {
            for (name, quantity) in [("request", request), ("limit", limit)] {
                if quantity.signum() < 0 {
                    bail!("--sidecar-{what}-{name}: {quantity} is less than 0");
                }
            }
            if !limit.is_zero() && request > limit {
                bail!("--sidecar-{what}-request: {request} is more than --sidecar-{what}-limit, {limit}");
            }
        }
        Ok(())
    }
}

impl Ignored {
    fn given(&self) -> Vec<&'static str> {
        let Self {
            cloud_product: _,
            api_server_qps,
            api_server_qps_burst,
            allocation_batch_wait_time,
            log_dir,
            log_size_limit_mb,
            stackdriver_exporter: _,
            stackdriver_labels,
            gcp_project_id,
            cert_file,
            key_file,
        } = self;
        let flags = [
            ("--api-server-qps", api_server_qps.is_some()),
            ("--api-server-qps-burst", api_server_qps_burst.is_some()),
            ("--allocation-batch-wait-time", allocation_batch_wait_time.is_some()),
            ("--log-dir", log_dir.is_some()),
            ("--log-size-limit-mb", log_size_limit_mb.is_some()),
            ("--stackdriver-labels", stackdriver_labels.is_some()),
            ("--gcp-project-id", gcp_project_id.is_some()),
            ("--cert-file", cert_file.is_some()),
            ("--key-file", key_file.is_some()),
        ];
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag).collect()
    }
}

/// A truth value as Go reads it.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("want true or false".to_owned()),
    }
}

/// A duration as Go writes them.
fn duration(text: &str) -> Result<Duration, String> {
    let nanos = lariat_controllers::schedule::parse_duration(text).map_err(|error| error.to_string())?;
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| format!("{text:?} is less than 0"))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("want a number from 1 on".to_owned()),
        Ok(number) => Ok(number),
    }
}

fn port(text: &str) -> Result<i32, String> {
    text.parse::<u16>()
        .ok()
        .filter(|port| *port > 0)
        .map(i32::from)
        .ok_or_else(|| "want a port from 1 to 65535".to_owned())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "want an address and a port, such as 127.0.0.1:8080 or [::]:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }

    fn settings(arguments: &[&str]) -> Result<Settings, String> {
        let program = Program::try_parse_from(std::iter::once(&"controller").chain(arguments));
        let program = program.map_err(|error| error.to_string())?;
        program.args.settings().map_err(|error| format!("{error:#}"))
    }

    /// All names of reference 7.2 are taken, in the original's forms.
    #[test]
    fn the_flags_of_the_original_are_taken() {
        let settings = settings(&[
            "--num-workers=100",
            "--api-server-qps=400",
            "--api-server-qps-burst=500",
            "--min-port=7000",
            "--max-port=8000",
            "--additional-port-ranges={\"game\": [9000, 10000]}",
            "--sidecar-image=example.com/sdk:1",
            "--sidecar-cpu-request=30m",
            "--sidecar-cpu-limit=0",
            "--sidecar-memory-request=0",
            "--sidecar-memory-limit=0",
            "--sidecar-run-as-user=1000",
            "--sidecar-requests-rate-limit=500ms",
            "--sdk-service-account=agones-sdk",
            "--always-pull-sidecar",
            "--prometheus-exporter=true",
            "--stackdriver-exporter=false",
            "--stackdriver-labels=a=b",
            "--gcp-project-id=project",
            "--log-dir=/var/log",
            "--log-level=Info",
            "--log-size-limit-mb=10000",
            "--kubeconfig=/etc/kubeconfig",
            "--allocation-batch-wait-time=500ms",
            "--pod-namespace=agones-system",
            "--leader-election=true",
            "--max-creation-parallelism=16",
            "--max-game-server-creations-per-batch=64",
            "--max-deletion-parallelism=64",
            "--max-game-server-deletions-per-batch=64",
            "--max-pod-pending-count=5000",
            "--cloud-product=auto",
            "--feature-gates=CountsAndLists=false&PlayerTracking=true",
            "--cert-file=/certs/server.crt",
            "--key-file=/certs/server.key",
        ])
        .unwrap();
        assert_eq!((settings.workers, settings.ports.len()), (100, 2));
        assert!(settings.pods.always_pull_sidecar);
        assert!(!settings.gates.has(Gate::CountsAndLists) && settings.gates.has(Gate::PlayerTracking));
    }

    /// The defaults are those of the original's program; it requires ports, which are its chart's here.
    #[test]
    fn the_defaults_are_those_of_the_original() {
        let settings = settings(&[]).unwrap();
        assert_eq!((settings.workers, settings.parallel), (64, (16, 64)));
        let Limits { max_creations, max_deletions, max_pending } = settings.limits;
        assert_eq!((max_creations, max_deletions, max_pending), (64, 64, 5_000));
        let PortRange { min, max } = settings.ports["default"];
        assert_eq!((min, max), (7_000, 8_000));
        assert_eq!(settings.gates, FeatureGates::default());
        assert_eq!(settings.loops.len(), 4);
    }

    #[test]
    fn nonsense_is_told_with_what_was_wanted() {
        for (arguments, told) in [
            (["--num-workers", "0"].as_slice(), "want a number from 1 on"),
            (&["--min-port", "x"], "want a port from 1 to 65535"),
            (&["--min-port", "9000"], "\"default\": 9000 to 8000"),
            (&["--additional-port-ranges", "[1]"], "want JSON such as {\"game\": [9000, 10000]}"),
            (&["--additional-port-ranges", "{\"game\": [7500, 9000]}"], "overlap"),
            (&["--additional-port-ranges", "{\"default\": [1, 2]}"], "is that of --min-port"),
            (&["--feature-gates", "Foo=true"], "no feature gate \"Foo\""),
            (
                &["--sidecar-cpu-request", "2", "--sidecar-cpu-limit", "1"],
                "is more than --sidecar-cpu-limit, 1",
            ),
            (&["--sidecar-memory-limit=-1Gi"], "is less than 0"),
            (&["--leader-election=maybe"], "want true or false"),
            (&["--cloud-product", "gke-autopilot"], "is not supported"),
            (&["--cloud-product", "moon"], "want auto or generic"),
            (&["--listen", "8080"], "want an address and a port"),
            (&["--sidecar-requests-rate-limit", "5"], "is not a duration"),
        ] {
            let error = settings(arguments).unwrap_err();
            assert!(error.contains(told), "{arguments:?}: {error}");
        }
    }
}
