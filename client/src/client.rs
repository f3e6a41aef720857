use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use lariat_api::Status;
use serde::de::DeserializeOwned;

use crate::connect::{Connector, ConnectorService, TcpConnector};
use crate::error::{Error, TransportError};
use crate::limits::MAX_ERROR_BODY;

/// A client of one API server. A clone shares its connections.
///
/// # Example
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use lariat_api::{DynamicObject, Kind};
/// use lariat_client::{Api, Client, ListParams};
///
/// const NODE: Kind = Kind::cluster("", "v1", "Node", "nodes");
/// let client = Client::builder("http://127.0.0.1:8001".parse()?).build()?;
/// let nodes = Api::<DynamicObject>::of_kind(client, NODE, "");
/// let mut list = nodes.list(&ListParams::default()).await?;
/// while let Some(item) = list.next().await? {
///     println!("{item:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    http: HttpClient<HttpsConnector<ConnectorService>, Full<Bytes>>,
    server: Uri,
    user_agent: HeaderValue,
}

/// Makes a [`Client`].
pub struct ClientBuilder {
    server: Uri,
    connector: Arc<dyn Connector>,
    tls: Option<rustls::ClientConfig>,
    user_agent: HeaderValue,
}

/// An answer that was successful, with its body yet to be read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) body: Incoming,
}

impl Client {
    /// Begins a client of the server at an `http` or `https` address. A path in it goes before every request's.
    pub fn builder(server: Uri) -> ClientBuilder {
        ClientBuilder {
            server,
            connector: Arc::new(TcpConnector::new()),
            tls: None,
            user_agent: HeaderValue::from_static(concat!("lariat/", env!("CARGO_PKG_VERSION"))),
        }
    }

    /// Sends a request and looks at the status of the answer.
    pub(crate) async fn send(&self, method: Method, target: String, body: Bytes) -> Result<Answer, Error> {
        let response = match self.exchange(&method, &target, body).await {
            Ok(response) => response,
            Err(cause) => return Err(Error::Transport { method, target, cause }),
        };
        let code = response.status();
        let body = response.into_body();
        if code.is_success() {
            return Ok(Answer { method, target, body });
        }
        // A body that breaks off or never ends says no less than its first bytes; the code counts.
        let text = Limited::new(body, MAX_ERROR_BODY).collect().await.map(|body| body.to_bytes());
        let status = Status::from_response(code.as_u16(), &text.unwrap_or_default());
        Err(Error::Status { method, target, status: Box::new(status) })
    }

    async fn exchange(
        &self,
        method: &Method,
        target: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, TransportError> {
        let base = self.0.server.path().trim_end_matches('/');
        let uri = Uri::builder()
            .scheme(self.0.server.scheme_str().unwrap_or("http"))
            .authority(self.0.server.authority().map_or("", |authority| authority.as_str()))
            .path_and_query(format!("{base}{target}"))
            .build()
            .map_err(TransportError::new)?;
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, &self.0.user_agent);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body)).map_err(TransportError::new)?;
        self.0.http.request(request).await.map_err(TransportError::new)
    }
}

impl Debug for Client {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.0.server).finish_non_exhaustive()
    }
}

// === impl ClientBuilder ===

impl ClientBuilder {
    /// Takes connections from `connector` in place of TCP.
    pub fn connector(mut self, connector: impl Connector) -> Self {
        self.connector = Arc::new(connector);
        self
    }

    /// Speaks TLS with an `https` server in this way. Without it, no server's certificate is trusted.
    pub fn tls(mut self, tls: rustls::ClientConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The client. Nothing is connected before the first request, which must be made on a tokio runtime.
    ///
    /// # Errors
    ///
    /// If TLS cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let tls = self.tls.map_or_else(no_trust, Ok).map_err(Error::Tls)?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(ConnectorService(self.connector));
        let http = HttpClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .build(connector);
        Ok(Client(Arc::new(Inner { http, server: self.server, user_agent: self.user_agent })))
    }
}

impl Debug for ClientBuilder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("server", &self.server).finish_non_exhaustive()
    }
}

fn no_trust() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

// === impl Answer ===

impl Answer {
    /// Reads the body to its end and decodes it.
    pub(crate) async fn decode<T: DeserializeOwned>(self) -> Result<T, Error> {
        let Self { method, target, body } = self;
        let bytes = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                return Err(Error::Transport { method, target, cause: TransportError::new(error) });
            }
        };
        serde_json::from_slice(&bytes).map_err(|cause| Error::Decode { method, target, cause })
    }
}
