//! A server on a port: TLS with an authority of its own, HTTP/1.1 and HTTP/2.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::faults::{Abort, Breakable, Line};
use crate::server::Shared;

/// Who a server on a port is: a certificate, and the authority that clients have to trust for it.
///
/// Both are made when it is generated and are nowhere else, so that another server's clients cannot mistake this one for it.
///
/// # Example
///
/// ```
/// use lariat_apiserver::ServerIdentity;
///
/// let identity = ServerIdentity::generate("127.0.0.1".parse().unwrap())?;
/// assert!(identity.authority_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// # Ok::<(), lariat_apiserver::IdentityError>(())
/// ```
#[derive(Clone)]
pub struct ServerIdentity {
    authority: String,
    acceptor: TlsAcceptor,
}

/// A server's identity could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The certificate or its authority.
    #[error("cannot make a certificate: {0}")]
    Certificate(rcgen::Error),
    /// The certificate does not fit its key.
    #[error("cannot use the certificate that was made: {0}")]
    Tls(rustls::Error),
    /// The operating system gave no randomness.
    #[error("the operating system gives no random numbers")]
    Randomness,
}

/// How long a client may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long the server waits after a connection could not be accepted, for example because there are too many.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

const TOKEN_BYTES: usize = 32;

impl ServerIdentity {
    /// Makes the identity of a server at an address; it is good for `localhost` and the loopback addresses too.
    ///
    /// # Errors
    ///
    /// See [`IdentityError`].
    pub fn generate(address: IpAddr) -> Result<Self, IdentityError> {
        let mut params = CertificateParams::new(Vec::new()).map_err(IdentityError::Certificate)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "lariat apiserver");
        let key = KeyPair::generate().map_err(IdentityError::Certificate)?;
        let authority = CertifiedIssuer::self_signed(params, key).map_err(IdentityError::Certificate)?;

        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), address.to_string()];
        let mut params = CertificateParams::new(names).map_err(IdentityError::Certificate)?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        let key = KeyPair::generate().map_err(IdentityError::Certificate)?;
        let certificate = params.signed_by(&key, &authority).map_err(IdentityError::Certificate)?;
        let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|builder| {
                    builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private)
                })
                .map_err(IdentityError::Tls)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { authority: authority.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// The certificate of the authority, for clients.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }
}

impl std::fmt::Debug for ServerIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerIdentity").finish_non_exhaustive()
    }
}

/// A bearer token that nobody can guess.
///
/// # Errors
///
/// If the operating system gives no randomness.
pub fn random_token() -> Result<String, IdentityError> {
    let mut bytes = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| IdentityError::Randomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Serves all connections to a port, with TLS if there is an identity, until it is dropped.
pub(crate) async fn serve(shared: Arc<Shared>, listener: TcpListener, identity: Option<ServerIdentity>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        if shared.faults.refuse() {
            stream.abort();
            continue;
        }
        let (shared, identity) = (shared.clone(), identity.clone());
        let line = Arc::<Line>::default();
        let stream = Breakable::new(stream, line.clone());
        tokio::spawn(async move {
            let Some(identity) = identity else {
                return serve_connection(shared, stream, line, Kind::default()).await;
            };
            match tokio::time::timeout(HANDSHAKE, identity.acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    serve_connection(shared, stream, line, Kind { is_http2, ..Kind::default() }).await;
                }
                Ok(Err(error)) => tracing::debug!(%error, "a client's handshake failed"),
                Err(_) => tracing::debug!("a client did not end its handshake"),
            }
        });
    }
}

/// Serves a connection in this process.
pub(crate) async fn serve_pipe(shared: Arc<Shared>, pipe: DuplexStream) {
    let line = Arc::<Line>::default();
    serve_connection(shared, Breakable::new(pipe, line.clone()), line, Kind::default()).await;
}

/// Serves a connection of a part of the server, which needs no token.
pub(crate) async fn serve_loopback(shared: Arc<Shared>, pipe: DuplexStream) {
    let line = Arc::<Line>::default();
    let kind = Kind { is_loopback: true, ..Kind::default() };
    serve_connection(shared, Breakable::new(pipe, line.clone()), line, kind).await;
}

/// What sort of connection it is.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    is_http2: bool,
    is_loopback: bool,
}

/// Answers the requests of one connection, whose stream breaks when its line says so. One that fails has lost its client,
/// who knows best why.
async fn serve_connection(
    shared: Arc<Shared>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    line: Arc<Line>,
    kind: Kind,
) {
    let service = service_fn(move |request| shared.clone().answer(request, line.clone(), kind.is_loopback));
    let stream = TokioIo::new(stream);
    let ended: Result<(), io::Error> = if kind.is_http2 {
        let builder = http2::Builder::new(TokioExecutor::new()).timer(TokioTimer::new()).clone();
        builder.serve_connection(stream, service).await.map_err(io::Error::other)
    } else {
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(stream, service);
        connection.await.map_err(io::Error::other)
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}
