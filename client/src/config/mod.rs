//! Which server to talk to, as whom, and how to trust it.
//!
//! A [`Config`] comes from kubeconfig files with the rules of client-go and kubectl, from the service account of a pod,
//! or from code. The way is the same each time: an [`Environment`] names files, files are parsed and merged, a context
//! chooses one cluster and one user, [`Overrides`] are put on top, and the result is checked once. What cannot work is
//! an error here, which names file and entry, and not a refused connection later.
//!
//! What belongs here: files, environment, credentials, TLS. What does not: sockets and requests.
//!
//! - Invariant: the environment of the process is read in [`Environment::of_process`] alone.
//! - Invariant: no secret is in any `Debug` or error text; whoever wants one calls [`Secret::expose`].
//! - Invariant: no credentials go to a server without TLS.
//!
//! # Example
//!
//! ```
//! use lariat_client::config::{Config, Credentials};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), lariat_client::config::ConfigError> {
//! let server = "https://a.example:6443".parse().unwrap();
//! let config = Config::new(server)?.with_credentials(Credentials::token("s3cr3t"));
//! let header = config.authorization().await?.unwrap();
//! assert_eq!(header, "Bearer s3cr3t");
//! assert!(header.is_sensitive());
//! # Ok(())
//! # }
//! ```

mod credentials;
mod environment;
mod error;
mod fields;
mod impersonation;
mod in_cluster;
mod kubeconfig;
mod proxy;
mod resolve;
mod secret;
mod tls;
mod token_file;

use std::path::{Path, PathBuf};

use http::Uri;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::uri::Scheme;
use rustls::pki_types::ServerName;

use kubeconfig::Kubeconfig;

pub use credentials::{AuthProvider, Basic, ClientCertificate, Credentials, Exec};
pub use environment::Environment;
pub use error::{ConfigError, Entry, EntryKind};
pub use impersonation::Impersonation;
pub use proxy::ProxyUrl;
pub use resolve::Overrides;
pub use secret::Secret;
pub use tls::{Pem, TlsOptions};

/// The namespace when nothing names one.
const DEFAULT_NAMESPACE: &str = "default";

/// Everything that is needed to reach one API server.
///
/// Cheap enough to clone; clones share what was read from a token file.
///
/// # Example
///
/// ```
/// use lariat_client::config::Config;
///
/// let config = Config::new("http://localhost:8001".parse().unwrap())?.with_default_namespace("games");
/// assert_eq!(config.default_namespace(), "games");
/// # Ok::<(), lariat_client::config::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    server: Uri,
    default_namespace: String,
    tls: TlsOptions,
    credentials: Credentials,
    impersonation: Option<Impersonation>,
    proxy: Option<ProxyUrl>,
    disable_compression: bool,
    cluster: Entry,
    user: Entry,
}

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

/// Changes made in code.
impl Config {
    /// The namespace for requests that name none.
    #[must_use]
    pub fn with_default_namespace(self, namespace: impl Into<String>) -> Self {
        Self { default_namespace: namespace.into(), ..self }
    }

    /// Who the client is. For a server without TLS they are dropped with a warning.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Config, Credentials};
    ///
    /// let plain = Config::new("http://localhost:8001".parse().unwrap())?;
    /// assert!(plain.with_credentials(Credentials::token("t")).credentials().is_empty());
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    #[must_use]
    pub fn with_credentials(self, credentials: Credentials) -> Self {
        if self.is_tls() || credentials.is_empty() {
            return Self { credentials, ..self };
        }
        let (cluster, user) = (&self.cluster, &self.user);
        tracing::warn!(%cluster, %user, server = %self.server, "credentials are not sent: the server's URL is not https");
        Self { credentials: Credentials::default(), ..self }
    }

    /// How to trust the server. For a server without TLS this is dropped with a warning.
    #[must_use]
    pub fn with_tls(self, tls: TlsOptions) -> Self {
        if self.is_tls() || tls.is_default() {
            return Self { tls, ..self };
        }
        tracing::warn!(cluster = %self.cluster, server = %self.server, "TLS settings are not used: the server's URL is not https");
        Self { tls: TlsOptions::default(), ..self }
    }

    /// Whom to act as; nobody if it names no user.
    #[must_use]
    pub fn with_impersonation(self, impersonation: Impersonation) -> Self {
        Self { impersonation: Some(impersonation).filter(|whom| !whom.user.is_empty()), ..self }
    }
}

/// What is in it.
impl Config {
    /// The server: scheme http or https, host, perhaps a port, and a base path that is `/` or goes before every path.
    pub fn server(&self) -> &Uri {
        &self.server
    }

    /// Whether the server is reached over TLS.
    pub fn is_tls(&self) -> bool {
        self.server.scheme() == Some(&Scheme::HTTPS)
    }

    /// The namespace for requests that name none.
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// How to trust the server.
    pub fn tls(&self) -> &TlsOptions {
        &self.tls
    }

    /// Who the client is.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Whom the client acts as.
    pub fn impersonation(&self) -> Option<&Impersonation> {
        self.impersonation.as_ref()
    }

    /// The proxy in front of the server.
    pub fn proxy_url(&self) -> Option<&ProxyUrl> {
        self.proxy.as_ref()
    }

    /// Whether answers shall not be compressed.
    pub fn disable_compression(&self) -> bool {
        self.disable_compression
    }

    /// The cluster entry that this comes from, for messages.
    pub fn cluster(&self) -> &Entry {
        &self.cluster
    }

    /// The user entry that this comes from, for messages.
    pub fn user(&self) -> &Entry {
        &self.user
    }
}

/// What a transport needs.
impl Config {
    /// Whether everything that is asked for can be done. A transport asks once before it connects.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Unsupported`] for a proxy, and for an exec plugin or auth provider that is the only way to get
    /// credentials; [`ConfigError::Invalid`] for a token file together with a user name.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Config;
    ///
    /// Config::new("https://a.example".parse().unwrap())?.check_supported()?;
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn check_supported(&self) -> Result<(), ConfigError> {
        if self.proxy.is_some() {
            return Err(ConfigError::Unsupported {
                entry: self.cluster.clone(),
                feature: "a proxy (proxy-url)",
                instead: "reach the server directly or through a tunnel",
            });
        }
        self.credentials.check_supported(&self.user)
    }

    /// The TLS configuration: ALPN `http/1.1`, cryptography by ring.
    ///
    /// Reads the files that are named and blocks while it does. They are not watched: a new configuration is needed for
    /// new certificates.
    ///
    /// # Errors
    ///
    /// If certificates or the key cannot be read, parsed or used together, or as
    /// [`check_supported`](Self::check_supported).
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Config, TlsOptions};
    ///
    /// let insecure = TlsOptions { insecure_skip_tls_verify: true, ..TlsOptions::default() };
    /// let config = Config::new("https://a.example".parse().unwrap())?.with_tls(insecure);
    /// assert_eq!(config.tls_client_config()?.alpn_protocols, [b"http/1.1"]);
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn tls_client_config(&self) -> Result<rustls::ClientConfig, ConfigError> {
        self.check_supported()?;
        self.tls.client_config(&self.cluster, self.credentials.client_certificate(), &self.user)
    }

    /// The name that the server's certificate must hold: `tls-server-name`, else the host of the URL.
    ///
    /// # Errors
    ///
    /// If it is neither a DNS name nor an address.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Config;
    ///
    /// let config = Config::new("https://[::1]:6443".parse().unwrap())?;
    /// assert_eq!(config.server_name()?.to_str(), "::1");
    /// # Ok::<(), lariat_client::config::ConfigError>(())
    /// ```
    pub fn server_name(&self) -> Result<ServerName<'static>, ConfigError> {
        let host = self.server.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = self.tls.server_name.as_deref().unwrap_or(host);
        ServerName::try_from(name.to_owned())
            .map_err(|_| self.cluster.invalid(format!("`{name}` is not a name that a certificate can hold")))
    }

    /// The `Authorization` header for the next request, marked as sensitive; none for an anonymous client and for one
    /// that shows a certificate.
    ///
    /// A token file is read again after 50 seconds (client-go's minute, less its leeway of ten seconds); if that fails,
    /// the previous token stays and the file is tried again ten seconds later.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// If a token file cannot be read or is empty and there is no earlier token, if the token cannot be sent in a
    /// header, or as [`check_supported`](Self::check_supported) for the user.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Config, Credentials};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), lariat_client::config::ConfigError> {
    /// let config = Config::new("https://a.example".parse().unwrap())?
    ///     .with_credentials(Credentials::username_and_password("bob", "pw"));
    /// assert_eq!(config.authorization().await?.unwrap(), "Basic Ym9iOnB3");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn authorization(&self) -> Result<Option<HeaderValue>, ConfigError> {
        self.credentials.authorization(&self.user).await
    }

    /// Sets everything in a request's headers that says who asks: `Authorization` and `Impersonate-*`.
    ///
    /// A transport must use this rather than [`authorization`](Self::authorization) alone: a request without the headers
    /// of impersonation runs with more rights than the user asked for.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing; the headers are set after the last await.
    ///
    /// # Errors
    ///
    /// As [`authorization`](Self::authorization), and if no header can carry what is to be impersonated.
    ///
    /// # Example
    ///
    /// ```
    /// use http::HeaderMap;
    /// use lariat_client::config::{Config, Credentials};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), lariat_client::config::ConfigError> {
    /// let config = Config::new("https://a.example".parse().unwrap())?.with_credentials(Credentials::token("t"));
    /// let mut headers = HeaderMap::new();
    /// config.authorize(&mut headers).await?;
    /// assert_eq!(headers["authorization"], "Bearer t");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn authorize(&self, headers: &mut HeaderMap) -> Result<(), ConfigError> {
        if let Some(authorization) = self.authorization().await? {
            headers.insert(AUTHORIZATION, authorization);
        }
        match &self.impersonation {
            None => Ok(()),
            Some(whom) => whom
                .apply(headers)
                .map_err(|field| self.user.invalid(format!("{field} cannot be sent in a header"))),
        }
    }
}
