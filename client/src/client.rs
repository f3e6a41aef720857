use std::fmt::{self, Debug, Formatter};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use lariat_api::{Status, json};
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::body::Incoming;
use crate::boxed::Boxed;
use crate::config::Config;
use crate::connect::{Connector, ConnectorService, TcpConnector};
use crate::decode::WatchError;
use crate::error::{Error, TransportError};
use crate::fence::{Fence, Fenced};
use crate::limits::{ANSWER_TIMEOUT, MAX_ERROR_BODY, RETRIES};
use crate::metrics::{Metrics, NoMetrics};
use crate::retry;

/// A client of one API server. A clone shares its connections.
///
/// # Example
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use lariat_api::{DynamicObject, Kind};
/// use lariat_client::{Api, Client, Config, ListParams};
///
/// const NODE: Kind = Kind::cluster("", "v1", "Node", "nodes");
/// let client = Client::new(Config::infer()?)?;
/// let nodes = Api::<DynamicObject>::of_kind(client, NODE, "");
/// let mut list = nodes.list(&ListParams::default()).await?;
/// while let Some(item) = list.next().await? {
///     println!("{item:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<dyn Shared>,
    user_agent: HeaderValue,
    metrics: Arc<dyn Metrics>,
    /// Asked before each write.
    fence: Option<Arc<dyn Fence>>,
}

/// What the clones of a client share. Who drops one need not know what it is made of, which would be compiled anew for each
/// crate that does.
trait Shared: Send + Sync {
    fn inner(&self) -> &Inner;
}

struct Inner {
    http: HttpClient<HttpsConnector<ConnectorService>, Full<Bytes>>,
    connector: Arc<dyn Connector>,
    config: Config,
    /// How often a request is sent again.
    retries: u32,
    /// How often that has happened.
    retried: AtomicU64,
}

/// Makes a [`Client`].
pub struct ClientBuilder {
    config: Config,
    connector: Arc<dyn Connector>,
    user_agent: HeaderValue,
    retries: u32,
    metrics: Arc<dyn Metrics>,
}

/// What is sent, as often as it takes.
struct Outgoing {
    accept: HeaderValue,
    content_type: HeaderValue,
    method: Method,
    target: String,
    body: Bytes,
}

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer that was successful, with its body yet to be read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) body: Incoming,
}

/// An answer whose body has been read.
struct Whole {
    method: Method,
    target: String,
    body: Bytes,
}

/// A request under way. In a box, so that all that it takes is compiled once and not for each crate and type.
pub(crate) type Answering<'a> = Boxed<'a, Result<Answer, Error>>;

impl Client {
    /// A client of the server that `config` tells of, over TCP.
    ///
    /// Nothing is connected before the first request, which must be made on a tokio runtime.
    ///
    /// # Errors
    ///
    /// If the configuration asks for what is not supported, or TLS cannot be set up.
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::builder(config).build()
    }

    /// Begins a client of the server that `config` tells of.
    pub fn builder(config: Config) -> ClientBuilder {
        ClientBuilder {
            config,
            connector: Arc::new(TcpConnector::new()),
            user_agent: HeaderValue::from_static(concat!("lariat/", env!("CARGO_PKG_VERSION"))),
            retries: RETRIES,
            metrics: Arc::new(NoMetrics),
        }
    }

    /// A client of the same server that asks `fence` before each write, one that is sent again included. It shares the connections.
    ///
    /// If the fence says no, the write fails with [`Error::Fenced`] and is not sent. Reads are not asked for.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use lariat_client::{Client, Config, Fence, Fenced};
    ///
    /// struct Closed;
    ///
    /// impl Fence for Closed {
    ///     fn check(&self) -> Result<(), Fenced> {
    ///         Err(Fenced::new("this is a standby"))
    ///     }
    /// }
    /// # fn read_only(client: &Client) -> Client {
    /// client.fenced(Arc::new(Closed))
    /// # }
    /// ```
    pub fn fenced(&self, fence: Arc<dyn Fence>) -> Self {
        Self { fence: Some(fence), ..self.clone() }
    }

    /// A client of the same server, made as this one was, with connections of its own.
    ///
    /// For requests that must not wait behind others; [`ClientBuilder::retries`] and the rest can be changed before it is built.
    /// It asks no fence.
    pub fn separate(&self) -> ClientBuilder {
        let Inner { config, connector, retries, .. } = self.inner();
        ClientBuilder {
            config: config.clone(),
            connector: connector.clone(),
            user_agent: self.user_agent.clone(),
            metrics: self.metrics.clone(),
            retries: *retries,
        }
    }

    /// The configuration that the client was made from.
    pub fn config(&self) -> &Config {
        &self.inner().config
    }

    /// The same client, on the same connections, that calls itself otherwise in requests.
    ///
    /// # Errors
    ///
    /// If a header cannot carry it.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_client::{Client, Config};
    /// let client = Client::new(Config::new("http://localhost:8001".parse()?)?)?;
    /// let fleets = client.with_user_agent("shops/1.0 fleets")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_user_agent(&self, user_agent: &str) -> Result<Self, http::header::InvalidHeaderValue> {
        Ok(Self { user_agent: HeaderValue::from_str(user_agent)?, ..self.clone() })
    }

    /// The same client, on the same connections, that tells another one of its requests.
    #[must_use]
    pub fn with_metrics(&self, metrics: Arc<dyn Metrics>) -> Self {
        Self { metrics, ..self.clone() }
    }

    /// How the client calls itself in requests.
    pub fn user_agent(&self) -> &str {
        self.user_agent.to_str().unwrap_or_default()
    }

    /// Reads the JSON that the server has at a path beside those of objects, such as `/version`.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(Method::GET, path.to_owned(), Bytes::new()).await?.decode().await
    }

    /// How many requests were sent again so far: because the server asked for it with `Retry-After` (429 and 5xx), or because
    /// the connection of a read broke before the answer came.
    pub fn retried(&self) -> u64 {
        self.inner().retried.load(Ordering::Relaxed)
    }

    /// Sends a request and looks at the status of the answer.
    pub(crate) fn send(&self, method: Method, target: String, body: Bytes) -> Answering<'_> {
        self.send_accepting(JSON, method, target, body)
    }

    /// Sends a request for an answer in one of some forms, and looks at the status of the answer.
    pub(crate) fn send_accepting(
        &self,
        accept: HeaderValue,
        method: Method,
        target: String,
        body: Bytes,
    ) -> Answering<'_> {
        self.deliver(Outgoing { accept, content_type: JSON, method, target, body })
    }

    /// Sends a request whose body is of another form than JSON, and looks at the status of the answer.
    pub(crate) fn send_typed(
        &self,
        content_type: &'static str,
        method: Method,
        target: String,
        body: Bytes,
    ) -> Answering<'_> {
        let content_type = HeaderValue::from_static(content_type);
        self.deliver(Outgoing { accept: JSON, content_type, method, target, body })
    }

    fn deliver(&self, request: Outgoing) -> Answering<'_> {
        Box::pin(async move {
            let response = self.persist(&request).await;
            let Outgoing { method, target, .. } = request;
            let response = match response {
                Ok(response) => response,
                Err(Failure::Transport(cause)) => return Err(Error::Transport { method, target, cause }),
                Err(Failure::Fenced(cause)) => return Err(Error::Fenced { method, target, cause }),
            };
            let code = response.status();
            let (head, body) = response.into_parts();
            if code.is_success() {
                let content_type = head.headers.get(CONTENT_TYPE).cloned();
                return Ok(Answer { method, target, content_type, body: Incoming::new(body) });
            }
            // A body that breaks off or never ends says no less than its first bytes; the code counts.
            let text = Limited::new(body, MAX_ERROR_BODY).collect().await.map(|body| body.to_bytes());
            let status = Status::from_response(code.as_u16(), &text.unwrap_or_default());
            Err(Error::Status { method, target, status: Box::new(status) })
        })
    }

    fn inner(&self) -> &Inner {
        self.shared.inner()
    }

    /// Sends a request until it is answered in earnest, or has been sent again often enough.
    async fn persist(&self, request: &Outgoing) -> Result<Response<hyper::body::Incoming>, Failure> {
        let Outgoing { method, target, .. } = request;
        for attempt in 1..=self.inner().retries {
            self.ask_fence(method)?;
            let outcome = self.observe(request).await;
            let Some(delay) = retry::delay(method, &outcome) else { return Ok(outcome?) };
            self.inner().retried.fetch_add(1, Ordering::Relaxed);
            self.metrics.retried(method, self.host());
            match outcome {
                // A connection that was idle may be gone at any time; nobody needs to hear of one.
                Err(error) if attempt > 1 => {
                    tracing::warn!(%method, target, attempt, ?delay, %error, "request is sent again");
                }
                Err(error) => {
                    tracing::debug!(%method, target, attempt, ?delay, %error, "request is sent again");
                }
                Ok(response) => {
                    let status = response.status().as_u16();
                    tracing::info!(%method, target, attempt, ?delay, status, "server asks to come back later");
                }
            }
            tokio::time::sleep(delay).await;
        }
        self.ask_fence(method)?;
        Ok(self.observe(request).await?)
    }

    fn ask_fence(&self, method: &Method) -> Result<(), Failure> {
        match &self.fence {
            Some(fence) if *method != Method::GET => fence.check().map_err(Failure::Fenced),
            _ => Ok(()),
        }
    }

    /// Sends a request once and tells of it.
    async fn observe(&self, request: &Outgoing) -> Result<Response<hyper::body::Incoming>, TransportError> {
        let began = Instant::now();
        let outcome = self.exchange(request).await;
        let code = outcome.as_ref().ok().map(|response| response.status().as_u16());
        self.metrics.answered(&request.method, self.host(), code, began.elapsed());
        outcome
    }

    fn host(&self) -> &str {
        self.config().server().authority().map_or("", |authority| authority.as_str())
    }

    async fn exchange(&self, outgoing: &Outgoing) -> Result<Response<hyper::body::Incoming>, TransportError> {
        let Outgoing { accept, content_type, method, target, body } = outgoing;
        let Inner { http, config, .. } = self.inner();
        let server = config.server();
        let base = server.path().trim_end_matches('/');
        let uri = Uri::builder()
            .scheme(server.scheme_str().unwrap_or("http"))
            .authority(server.authority().map_or("", |authority| authority.as_str()))
            .path_and_query(format!("{base}{target}"))
            .build()
            .map_err(TransportError::new)?;
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, accept.clone());
        headers.insert(USER_AGENT, self.user_agent.clone());
        if !body.is_empty() {
            headers.insert(CONTENT_TYPE, content_type.clone());
        }
        config.authorize(headers).await.map_err(TransportError::new)?;
        let answer = http.request(request);
        if *method != Method::GET {
            return answer.await.map_err(TransportError::new);
        }
        match timeout(ANSWER_TIMEOUT, answer).await {
            Ok(answered) => answered.map_err(TransportError::new),
            Err(_) => Err(TransportError::new(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer in {ANSWER_TIMEOUT:?}: the connection is taken for dead"),
            ))),
        }
    }
}

impl Shared for Inner {
    fn inner(&self) -> &Inner {
        self
    }
}

/// Why there is no answer.
enum Failure {
    Transport(TransportError),
    Fenced(Fenced),
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl Debug for Client {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", self.inner().config.server()).finish_non_exhaustive()
    }
}

// === impl ClientBuilder ===

impl ClientBuilder {
    /// Takes connections from `connector` in place of TCP.
    pub fn connector(mut self, connector: impl Connector) -> Self {
        self.connector = Arc::new(connector);
        self
    }

    /// Calls itself `user_agent` in requests; `lariat/` and the version if nothing is given.
    ///
    /// # Errors
    ///
    /// If a header cannot carry it.
    pub fn user_agent(mut self, user_agent: &str) -> Result<Self, http::header::InvalidHeaderValue> {
        self.user_agent = HeaderValue::from_str(user_agent)?;
        Ok(self)
    }

    /// Sends a request again at most so many times; 10 if nothing is given, as client-go does, and 0 for never.
    ///
    /// What is sent again: what the server answered with 429 or 5xx and `Retry-After`, after that many seconds, and reads
    /// whose connection broke before the answer came, after a second.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Is told of each request.
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// The client. Reads the certificates that the configuration names, and blocks while it does.
    ///
    /// # Errors
    ///
    /// If the configuration asks for what is not supported, or TLS cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let Self { config, connector, user_agent, retries, metrics } = self;
        config.check_supported()?;
        let tls =
            if config.is_tls() { config.tls_client_config()? } else { no_trust().map_err(Error::Tls)? };
        let mut https = HttpsConnectorBuilder::new().with_tls_config(without_alpn(tls)).https_or_http();
        if config.is_tls() {
            https = https.with_server_name_resolver(FixedServerNameResolver::new(config.server_name()?));
        }
        let http = HttpClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .build(https.enable_http1().wrap_connector(ConnectorService(connector.clone())));
        let shared = Arc::new(Inner { http, connector, config, retries, retried: AtomicU64::new(0) });
        Ok(Client { shared, user_agent, metrics, fence: None })
    }
}

impl Debug for ClientBuilder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("server", self.config.server()).finish_non_exhaustive()
    }
}

/// The connector offers the protocols that it can speak, and insists on being the one to do so.
fn without_alpn(mut tls: rustls::ClientConfig) -> rustls::ClientConfig {
    tls.alpn_protocols.clear();
    tls
}

/// For a server that is reached without TLS, where it is never used.
fn no_trust() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

// === impl Answer ===

impl Answer {
    /// Refuses what says that it is something else than JSON.
    pub(crate) fn events(self) -> Result<Self, Error> {
        let said =
            self.content_type.as_ref().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        match said.filter(|said| !said.starts_with("application/json")) {
            Some(said) => Err(Error::Watch { target: self.target, cause: WatchError::NotJson(said) }),
            None => Ok(self),
        }
    }

    /// Reads the body to its end and decodes it.
    pub(crate) async fn decode<T: DeserializeOwned>(self) -> Result<T, Error> {
        let Whole { method, target, body } = self.whole().await?;
        // The same deserializer as for lists and watches, so that there is one of each type.
        let decoded = match str::from_utf8(&body) {
            Ok(text) => json::from_str(text),
            Err(_) => Err(serde_json::from_slice::<Value>(&body)
                .err()
                .unwrap_or_else(|| serde_json::Error::custom("not UTF-8"))),
        };
        decoded.map_err(|cause| Error::Decode { method, target, cause })
    }

    fn whole(self) -> Boxed<'static, Result<Whole, Error>> {
        Box::pin(async move {
            let Self { method, target, body, .. } = self;
            match body.whole().await {
                Ok(body) => Ok(Whole { method, target, body }),
                Err(cause) => Err(Error::Transport { method, target, cause }),
            }
        })
    }
}
