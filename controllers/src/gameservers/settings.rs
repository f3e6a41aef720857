use std::time::Duration;

use crate::quantity::Quantity;

/// How the sidecars of game servers are run, and other things that are the same for all pods.
#[derive(Debug, Clone)]
pub struct PodSettings {
    /// The sidecar's image.
    pub sidecar_image: String,
    /// Whether the image is pulled each time.
    pub always_pull_sidecar: bool,
    /// How much CPU the sidecar asks for; nothing is asked for where it is 0.
    pub sidecar_cpu_request: Option<Quantity>,
    /// How much CPU it gets at most.
    pub sidecar_cpu_limit: Option<Quantity>,
    /// How much memory it asks for.
    pub sidecar_memory_request: Option<Quantity>,
    /// How much memory it gets at most.
    pub sidecar_memory_limit: Option<Quantity>,
    /// The user that it runs as.
    pub sidecar_run_as_user: i64,
    /// How long it waits between two requests.
    pub sidecar_requests_rate_limit: Duration,
    /// The service account of pods that name none.
    pub sdk_service_account: String,
}

/// As the original's flags are by default; the image has to be named.
impl Default for PodSettings {
    fn default() -> Self {
        Self {
            sidecar_image: String::new(),
            always_pull_sidecar: false,
            sidecar_cpu_request: None,
            sidecar_cpu_limit: None,
            sidecar_memory_request: None,
            sidecar_memory_limit: None,
            sidecar_run_as_user: 1_000,
            sidecar_requests_rate_limit: Duration::from_millis(500),
            sdk_service_account: "agones-sdk".to_owned(),
        }
    }
}
