//! From PEM to a TLS configuration.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::credentials::ClientCertificate;
use super::error::{ConfigError, Entry};
use super::secret::Secret;

/// PEM, inline or in a file.
///
/// # Example
///
/// ```
/// use lariat_client::config::Pem;
///
/// let key = Pem::data("-----BEGIN PRIVATE KEY-----");
/// assert_eq!(format!("{key:?}"), "Data([redacted])");
/// ```
#[derive(Debug, Clone)]
pub enum Pem {
    /// The text itself.
    Data(Secret<Vec<u8>>),
    /// The file that holds it.
    File(PathBuf),
}

/// How to know the server.
///
/// # Example
///
/// ```
/// use lariat_client::config::{Pem, TlsOptions};
///
/// let options = TlsOptions { certificate_authority: Some(Pem::File("ca.crt".into())), ..TlsOptions::default() };
/// assert!(!options.insecure_skip_tls_verify);
/// ```
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Who signs the server's certificate; the system's authorities if there is none.
    pub certificate_authority: Option<Pem>,
    /// Take any certificate for good.
    pub insecure_skip_tls_verify: bool,
    /// The name to expect in the certificate instead of the host of the URL.
    pub server_name: Option<String>,
}

/// Accepts any certificate, but only from a server that holds its key.
struct AnyCertificate(Arc<CryptoProvider>);

impl TlsOptions {
    pub(super) fn is_default(&self) -> bool {
        self.certificate_authority.is_none() && !self.insecure_skip_tls_verify && self.server_name.is_none()
    }

    /// The configuration for rustls. The cryptography is `ring`, whatever the process default is.
    pub(super) fn client_config(
        &self,
        cluster: &Entry,
        client: Option<&ClientCertificate>,
        user: &Entry,
    ) -> Result<ClientConfig, ConfigError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| cluster.invalid(error.to_string()))?;
        let builder = if self.insecure_skip_tls_verify {
            if self.certificate_authority.is_some() {
                return Err(cluster.invalid(
                    "insecure-skip-tls-verify and a certificate authority contradict each other; remove one of them",
                ));
            }
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        } else {
            builder.with_root_certificates(self.roots(cluster)?)
        };
        let mut config = match client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let (chain, key) = client.parse(user)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| ConfigError::Certificate {
                    entry: user.clone(),
                    what: "the client certificate and its key".to_owned(),
                    reason: error.to_string(),
                })?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn roots(&self, cluster: &Entry) -> Result<RootCertStore, ConfigError> {
        let mut roots = RootCertStore::empty();
        let (what, certificates) = match &self.certificate_authority {
            Some(ca) => {
                let what = ca.describe("the certificate authority");
                let certificates =
                    certificates(&ca.read("the certificate authority", cluster)?, &what, cluster)?;
                (what, certificates)
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                for error in &found.errors {
                    tracing::debug!(%error, "cannot load some of the system's certificate authorities");
                }
                ("the system's certificate authorities".to_owned(), found.certs)
            }
        };
        let (_, unusable) = roots.add_parsable_certificates(certificates);
        if unusable > 0 {
            tracing::debug!(%cluster, what, unusable, "some certificate authorities cannot be used");
        }
        if roots.is_empty() {
            return Err(ConfigError::Certificate {
                entry: cluster.clone(),
                what,
                reason: "no usable certificate; set certificate-authority of the cluster".to_owned(),
            });
        }
        Ok(roots)
    }
}

// === impl Pem ===

impl Pem {
    /// Inline PEM.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Pem;
    ///
    /// assert!(matches!(Pem::data("-----BEGIN CERTIFICATE-----"), Pem::Data(_)));
    /// ```
    pub fn data(pem: impl Into<Vec<u8>>) -> Self {
        Self::Data(Secret::new(pem.into()))
    }

    fn read(&self, what: &str, entry: &Entry) -> Result<Vec<u8>, ConfigError> {
        match self {
            Self::Data(data) => Ok(data.expose().clone()),
            Self::File(path) => fs::read(path).map_err(|source| entry.unreadable(what, path, source)),
        }
    }

    fn describe(&self, what: &str) -> String {
        match self {
            Self::Data(_) => what.to_owned(),
            Self::File(path) => format!("{what} {}", path.display()),
        }
    }
}

// === impl ClientCertificate ===

impl ClientCertificate {
    fn parse(
        &self,
        user: &Entry,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConfigError> {
        let certificate = self.certificate.read("the client certificate", user)?;
        let chain = certificates(&certificate, &self.certificate.describe("the client certificate"), user)?;
        let key = self.key.read("the client key", user)?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| ConfigError::Certificate {
            entry: user.clone(),
            what: self.key.describe("the client key"),
            reason: "holds no private key in PEM (PKCS#8, PKCS#1 or SEC1, not encrypted)".to_owned(),
        })?;
        Ok((chain, key))
    }
}

/// All certificates of a PEM text, at least one. Other blocks are skipped.
fn certificates(pem: &[u8], what: &str, entry: &Entry) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let unusable = |reason: &str| ConfigError::Certificate {
        entry: entry.clone(),
        what: what.to_owned(),
        reason: reason.to_owned(),
    };
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| unusable("not valid PEM"))?;
    if certificates.is_empty() { Err(unusable("holds no certificate in PEM")) } else { Ok(certificates) }
}

/// Whether a PEM text holds a certificate that can serve as an authority.
pub(super) fn holds_authority(pem: &[u8]) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
    !roots.is_empty()
}

// === impl AnyCertificate ===

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for AnyCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyCertificate")
    }
}
