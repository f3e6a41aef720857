use std::path::{Path, PathBuf};

use http::Uri;

use super::environment::Environment;
use super::error::{ConfigError, Entry, EntryKind};
use super::kubeconfig::Kubeconfig;
use super::resolve::{self, Overrides};
use super::{Config, Credentials, DEFAULT_NAMESPACE, TlsOptions, in_cluster};

/// Where a configuration comes from. These read small files and block while they do.
impl Config {
    /// Nothing but a server: anonymous, and trusted as the system's authorities say.
    ///
    /// # Errors
    ///
    /// If the URL has no host, a scheme other than http and https, or a user name in it.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Config;
    ///
    /// let config = Config::new("https://a.example/k8s/clusters/c-1".parse().unwrap())?;
    /// assert_eq!(config.server().path(), "/k8s/clusters/c-1");
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn new(server: Uri) -> Result<Self, ConfigError> {
        let cluster = Entry::new(EntryKind::Cluster, "", None);
        Ok(Self {
            server: resolve::server(&server.to_string(), &cluster)?,
            default_namespace: DEFAULT_NAMESPACE.to_owned(),
            tls: TlsOptions::default(),
            credentials: Credentials::default(),
            impersonation: None,
            proxy: None,
            disable_compression: false,
            cluster,
            user: Entry::new(EntryKind::User, "", None),
        })
    }

    /// From one kubeconfig, which must exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not a kubeconfig, or what it chooses is missing or contradicts itself.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use lariat_client::config::{Config, Overrides};
    ///
    /// let staging = Overrides { context: Some("staging".into()), ..Overrides::default() };
    /// let config = Config::from_kubeconfig_file("/etc/lariat/kubeconfig", &staging)?;
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn from_kubeconfig_file(path: impl AsRef<Path>, overrides: &Overrides) -> Result<Self, ConfigError> {
        resolve::resolve(&Kubeconfig::read(path.as_ref())?, overrides)
    }

    /// From several kubeconfigs: the first that defines an entry wins, and missing files are skipped.
    ///
    /// # Errors
    ///
    /// As [`from_kubeconfig_file`](Self::from_kubeconfig_file), and [`ConfigError::Empty`] if nothing chooses a cluster.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Config, ConfigError, Overrides};
    ///
    /// let error = Config::from_kubeconfig_files(&["/no/such/file".into()], &Overrides::default()).unwrap_err();
    /// assert!(error.is_absent());
    /// ```
    pub fn from_kubeconfig_files(files: &[PathBuf], overrides: &Overrides) -> Result<Self, ConfigError> {
        resolve::resolve(&Kubeconfig::load(files)?, overrides)
    }

    /// From the files that `KUBECONFIG` lists, or `~/.kube/config` if it is not set.
    ///
    /// # Errors
    ///
    /// As [`from_kubeconfig_files`](Self::from_kubeconfig_files).
    ///
    /// # Example
    ///
    /// ```no_run
    /// use lariat_client::config::{Config, Overrides};
    ///
    /// let config = Config::from_kubeconfig_env(&Overrides::default())?;
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn from_kubeconfig_env(overrides: &Overrides) -> Result<Self, ConfigError> {
        Self::from_kubeconfig_files(&Environment::of_process().kubeconfigs(), overrides)
    }

    /// From the service account of the pod that this process runs in.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NotInCluster`] outside of a pod; otherwise if the token cannot be read.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use lariat_client::config::Config;
    ///
    /// let config = Config::in_cluster()?;
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn in_cluster() -> Result<Self, ConfigError> {
        Self::in_cluster_from(&Environment::of_process())
    }

    /// As [`in_cluster`](Self::in_cluster), in another environment than that of the process.
    ///
    /// # Errors
    ///
    /// As [`in_cluster`](Self::in_cluster).
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Config, ConfigError, Environment};
    ///
    /// let error = Config::in_cluster_from(&Environment::default()).unwrap_err();
    /// assert!(matches!(error, ConfigError::NotInCluster { .. }));
    /// ```
    pub fn in_cluster_from(environment: &Environment) -> Result<Self, ConfigError> {
        in_cluster::resolve(environment, &Overrides::default())
    }

    /// What fits: the kubeconfig if there is one, else the pod's service account.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Nothing`], which tells of both attempts, if there is neither. A kubeconfig that is there but
    /// broken is an error at once: falling back would act as somebody else.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use lariat_client::config::Config;
    ///
    /// let config = Config::infer()?;
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn infer() -> Result<Self, ConfigError> {
        Self::infer_from(&Environment::of_process(), &Overrides::default())
    }

    /// As [`infer`](Self::infer), with overrides and in any environment.
    ///
    /// # Errors
    ///
    /// As [`infer`](Self::infer).
    ///
    /// # Example
    ///
    /// ```no_run
    /// use lariat_client::config::{Config, Environment, Overrides};
    ///
    /// let games = Overrides { namespace: Some("games".into()), ..Overrides::default() };
    /// let config = Config::infer_from(&Environment::of_process(), &games)?;
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn infer_from(environment: &Environment, overrides: &Overrides) -> Result<Self, ConfigError> {
        let kubeconfig = match Self::from_kubeconfig_files(&environment.kubeconfigs(), overrides) {
            Err(error) if error.is_absent() => Box::new(error),
            decided => return decided,
        };
        match in_cluster::resolve(environment, overrides) {
            Err(error) if error.is_absent() => {
                Err(ConfigError::Nothing { kubeconfig, in_cluster: Box::new(error) })
            }
            decided => decided,
        }
    }
}
