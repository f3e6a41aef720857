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
mod sources;
mod tls;
mod token_file;
mod transport;
mod yaml;

use http::Uri;
use http::uri::Scheme;

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
