use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use rustls::pki_types::ServerName;

use super::{Config, ConfigError};

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
