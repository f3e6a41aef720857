use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the kubelet mounts the service account of a pod.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// What a configuration takes from the process. Everything below it is a function of this and of files.
///
/// # Example
///
/// ```
/// use lariat_client::config::{Config, ConfigError, Environment, Overrides};
///
/// let nothing = Environment::default();
/// let error = Config::infer_from(&nothing, &Overrides::default()).unwrap_err();
/// assert!(matches!(error, ConfigError::Nothing { .. }));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `KUBECONFIG`: files, separated as in `PATH`.
    pub kubeconfig: Option<OsString>,
    /// The home folder, which may hold `.kube/config`.
    pub home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`.
    pub service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`.
    pub service_port: Option<String>,
    /// `POD_NAMESPACE`, which the downward API may set.
    pub pod_namespace: Option<String>,
    /// The folder with `token`, `ca.crt` and `namespace`.
    pub service_account: PathBuf,
}

impl Environment {
    /// The environment of this process; the one place that looks at it.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Environment;
    ///
    /// assert!(Environment::of_process().service_account.ends_with("serviceaccount"));
    /// ```
    pub fn of_process() -> Self {
        let text = |name| env::var(name).ok();
        Self {
            kubeconfig: env::var_os("KUBECONFIG"),
            home: env::home_dir(),
            service_host: text("KUBERNETES_SERVICE_HOST"),
            service_port: text("KUBERNETES_SERVICE_PORT"),
            pod_namespace: text("POD_NAMESPACE"),
            service_account: SERVICE_ACCOUNT.into(),
        }
    }

    /// The kubeconfigs to merge, in order: those of `KUBECONFIG`, or the one in the home folder.
    pub(super) fn kubeconfigs(&self) -> Vec<PathBuf> {
        match (&self.kubeconfig, &self.home) {
            (Some(list), _) if !list.is_empty() => env::split_paths(list).collect(),
            (_, Some(home)) if !home.as_os_str().is_empty() => vec![home.join(".kube").join("config")],
            _ => Vec::new(),
        }
    }
}
