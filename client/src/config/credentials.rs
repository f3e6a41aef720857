use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use super::error::{ConfigError, Entry};
use super::secret::Secret;
use super::tls::Pem;
use super::token_file::{Failure, TokenFile};

/// How a client says who it is. Nothing of it ever shows in `Debug`.
///
/// Clones share what was read from a token file.
///
/// # Example
///
/// ```
/// use lariat_client::config::Credentials;
///
/// let credentials = Credentials::token("s3cr3t");
/// assert!(!format!("{credentials:?}").contains("s3cr3t"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub(super) bearer: Option<Bearer>,
    pub(super) basic: Option<Basic>,
    pub(super) client_certificate: Option<ClientCertificate>,
    pub(super) exec: Option<Exec>,
    pub(super) auth_provider: Option<AuthProvider>,
}

/// A token; that of the file if there is one, and the inline one until the file can be read.
#[derive(Debug, Clone)]
pub(super) struct Bearer {
    token: Secret,
    header: Option<HeaderValue>,
    file: Option<Arc<TokenFile>>,
}

/// A user name with its password.
#[derive(Debug, Clone)]
pub struct Basic {
    /// The user name.
    pub username: String,
    /// The password.
    pub password: Secret,
}

/// A client certificate with its key, both as PEM.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate, with its chain.
    pub certificate: Pem,
    /// The private key.
    pub key: Pem,
}

/// A command that prints credentials. It is read, but not run yet.
#[derive(Clone)]
pub struct Exec {
    /// `client.authentication.k8s.io/v1` or an earlier one.
    pub api_version: String,
    /// The command; a path is absolute, a bare name is looked up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Further environment variables.
    pub env: Vec<(String, Secret)>,
    /// `Never`, `IfAvailable` or `Always`.
    pub interactive_mode: String,
    /// Whether the command wants to be told about the cluster.
    pub provide_cluster_info: bool,
    /// What to tell somebody who does not have the command.
    pub install_hint: String,
}

/// Credentials of an auth provider. They are read, but not used yet.
#[derive(Debug, Clone)]
pub struct AuthProvider {
    /// Which provider, such as `oidc`.
    pub name: String,
    /// Its settings, which hold tokens.
    pub config: BTreeMap<String, Secret>,
}

// === impl Credentials ===

impl Credentials {
    /// A bearer token.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Credentials;
    ///
    /// assert!(Credentials::token("t").bearer_token().is_some());
    /// ```
    pub fn token(token: impl Into<Secret>) -> Self {
        Self { bearer: Some(Bearer::new(token.into(), None)), ..Self::default() }
    }

    /// A bearer token in a file, which is read again and again.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Credentials;
    ///
    /// assert!(Credentials::token_file("/run/token").bearer_token_file().is_some());
    /// ```
    pub fn token_file(path: impl Into<PathBuf>) -> Self {
        Self { bearer: Some(Bearer::new(Secret::default(), Some(path.into()))), ..Self::default() }
    }

    /// User name and password.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Credentials;
    ///
    /// assert!(Credentials::username_and_password("bob", "pw").basic().is_some());
    /// ```
    pub fn username_and_password(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        let basic = Basic { username: username.into(), password: password.into() };
        Self { basic: Some(basic), ..Self::default() }
    }

    /// A client certificate with its key.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Credentials, Pem};
    ///
    /// let files = (Pem::File("tls.crt".into()), Pem::File("tls.key".into()));
    /// assert!(Credentials::certificate(files.0, files.1).client_certificate().is_some());
    /// ```
    pub fn certificate(certificate: Pem, key: Pem) -> Self {
        Self { client_certificate: Some(ClientCertificate { certificate, key }), ..Self::default() }
    }

    /// The inline token, or what the token file held when the configuration was loaded.
    pub fn bearer_token(&self) -> Option<&Secret> {
        self.bearer.as_ref().map(|bearer| &bearer.token).filter(|token| !token.expose().is_empty())
    }

    /// The token file.
    pub fn bearer_token_file(&self) -> Option<&Path> {
        self.bearer.as_ref()?.file.as_ref().map(|file| file.path())
    }

    /// User name and password.
    pub fn basic(&self) -> Option<&Basic> {
        self.basic.as_ref()
    }

    /// The client certificate.
    pub fn client_certificate(&self) -> Option<&ClientCertificate> {
        self.client_certificate.as_ref()
    }

    /// The command that prints credentials.
    pub fn exec(&self) -> Option<&Exec> {
        self.exec.as_ref()
    }

    /// The auth provider.
    pub fn auth_provider(&self) -> Option<&AuthProvider> {
        self.auth_provider.as_ref()
    }

    /// Whether there is nothing, so that the client is anonymous.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Credentials;
    ///
    /// assert!(Credentials::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.bearer.is_none()
            && self.basic.is_none()
            && self.client_certificate.is_none()
            && self.exec.is_none()
            && self.auth_provider.is_none()
    }

    /// What cannot be connected with. As in client-go, a command or a provider is not asked when the user entry holds
    /// something more direct.
    pub(super) fn check_supported(&self, user: &Entry) -> Result<(), ConfigError> {
        if self.bearer.is_some() && self.basic.is_some() {
            return Err(user.invalid("a token and a user name or password are both given; keep one of them"));
        }
        let unsupported = |feature| ConfigError::Unsupported {
            entry: user.clone(),
            feature,
            instead: "use a token, a token file or a client certificate",
        };
        let direct = self.bearer.is_some() || self.basic.is_some();
        if self.exec.is_some() && !direct && self.client_certificate.is_none() {
            return Err(unsupported("an exec plugin"));
        }
        if self.auth_provider.is_some() && !direct {
            return Err(unsupported("an auth provider"));
        }
        Ok(())
    }

    pub(super) async fn authorization(&self, user: &Entry) -> Result<Option<HeaderValue>, ConfigError> {
        self.check_supported(user)?;
        match (&self.bearer, &self.basic) {
            (Some(bearer), _) => bearer.authorization(user).await.map(Some),
            (None, Some(basic)) => Ok(Some(basic.authorization(user)?)),
            (None, None) => Ok(None),
        }
    }
}

// === impl Bearer ===

impl Bearer {
    pub(super) fn new(token: Secret, file: Option<PathBuf>) -> Self {
        let header = bearer_header(token.expose());
        Self { token, header, file: file.map(|path| Arc::new(TokenFile::new(path))) }
    }

    async fn authorization(&self, user: &Entry) -> Result<HeaderValue, ConfigError> {
        let Some(file) = &self.file else {
            return self.header.clone().ok_or_else(|| {
                user.invalid("the token is empty or holds characters that no header can carry")
            });
        };
        file.header(self.header.as_ref()).await.map_err(|failure| match failure {
            Failure::Read(source) => user.unreadable("the token file", file.path(), source),
            Failure::Empty => {
                ConfigError::EmptyTokenFile { entry: user.clone(), path: file.path().to_owned() }
            }
            Failure::Illegal => user.invalid(format!(
                "the token file {} holds characters that no header can carry",
                file.path().display()
            )),
        })
    }
}

/// The header for a token, without the white space around it. None if it is empty or cannot be sent.
pub(super) fn bearer_header(token: &str) -> Option<HeaderValue> {
    let token = token.trim();
    if token.is_empty() { None } else { sensitive(&format!("Bearer {token}")) }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

// === impl Basic ===

impl Basic {
    fn authorization(&self, user: &Entry) -> Result<HeaderValue, ConfigError> {
        let pair = STANDARD.encode(format!("{}:{}", self.username, self.password.expose()));
        sensitive(&format!("Basic {pair}")).ok_or_else(|| user.invalid("the user name cannot be sent"))
    }
}

// === impl Exec ===

/// Arguments are hidden too: secrets are often passed in them.
impl fmt::Debug for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exec")
            .field("api_version", &self.api_version)
            .field("command", &self.command)
            .field("args", &format_args!("[{} redacted]", self.args.len()))
            .field("env", &self.env)
            .field("interactive_mode", &self.interactive_mode)
            .field("provide_cluster_info", &self.provide_cluster_info)
            .finish_non_exhaustive()
    }
}
