use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower_service::Service;

use crate::limits::{CONNECT_TIMEOUT, TCP_KEEP_ALIVE};

/// Where a client's connections come from: TCP ([`TcpConnector`]), or a pipe in memory for tests and simulation.
///
/// TLS, where the server's address asks for it, is put on top. A closure that returns a future of a stream is a connector.
///
/// # Example
///
/// ```
/// use lariat_client::{Client, Config};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pipe = |_server: &http::Uri| async {
///     let (ours, _theirs) = tokio::io::duplex(4096);
///     Ok(ours)
/// };
/// let client = Client::builder(Config::new("http://in-process".parse()?)?).connector(pipe).build()?;
/// # Ok(())
/// # }
/// ```
pub trait Connector: Send + Sync + 'static {
    /// Opens a connection to the host and port of `server`.
    fn connect(&self, server: &Uri) -> Connecting;
}

/// A connection being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Connection>> + Send>>;

/// A two-way stream of bytes.
pub struct Connection(Box<dyn Stream>);

/// Connections over TCP, with keep-alive and without delay of small writes.
#[derive(Debug, Clone)]
pub struct TcpConnector(HttpConnector);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connector as the HTTP client wants it.
#[derive(Clone)]
pub(crate) struct ConnectorService(pub(crate) Arc<dyn Connector>);

impl<F, C, S> Connector for F
where
    F: Fn(&Uri) -> C + Send + Sync + 'static,
    C: Future<Output = io::Result<S>> + Send + 'static,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    fn connect(&self, server: &Uri) -> Connecting {
        let stream = self(server);
        Box::pin(async { stream.await.map(Connection::new) })
    }
}

// === impl Connection ===

impl Connection {
    /// Wraps anything that can be read and written.
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Box::new(stream))
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

impl hyper_util::client::legacy::connect::Connection for Connection {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

// === impl TcpConnector ===

impl TcpConnector {
    /// A connector that gives up after 30 s and probes an idle connection every 30 s.
    pub fn new() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_keepalive(Some(TCP_KEEP_ALIVE));
        Self(http)
    }
}

impl Default for TcpConnector {
    fn default() -> Self {
        Self::new()
    }
}

impl Connector for TcpConnector {
    fn connect(&self, server: &Uri) -> Connecting {
        let connecting = self.0.clone().call(server.clone());
        Box::pin(async move {
            // The kind is kept, so that a refused connection can be told from others.
            let stream = connecting.await.map_err(|error| {
                let kind = io_kind(&error).unwrap_or(io::ErrorKind::Other);
                io::Error::new(kind, error)
            })?;
            Ok(Connection::new(stream.into_inner()))
        })
    }
}

fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

// === impl ConnectorService ===

impl Service<Uri> for ConnectorService {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Connection>>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = self.0.connect(&server);
        Box::pin(async move { connecting.await.map(TokioIo::new) })
    }
}
