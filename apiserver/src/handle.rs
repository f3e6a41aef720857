use std::fmt::{self, Debug, Formatter};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_api::{Clock, Randomness, Status, SystemClock};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::aggregation::{AggregateError, Aggregated, AggregatedApi, Loopback};
use crate::context::Context;
use crate::faults::{FaultPlan, Faults, Struck};
use crate::kinds::{Kinds, NAMESPACES};
use crate::port::{self, ServerIdentity, serve_pipe};
use crate::request::{Form, Query};
use crate::server::Shared;
use crate::state::State;
use crate::storage::Storage;
use crate::verbs::{self, Sent};
use crate::watch::Watchers;
use crate::{background, meta};

/// A Kubernetes API server in this process.
///
/// A clone is another handle to the same server. It is gone with its last handle and connection.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Kind, ObjectKey};
/// use lariat_apiserver::ApiServer;
/// use lariat_client::{Api, Client, Config};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::builder().build();
/// let config = Config::new("http://in-process".parse()?)?;
/// let pipes = server.clone();
/// let connector = move |_: &http::Uri| std::future::ready(Ok(pipes.connect()));
/// let client = Client::builder(config).connector(connector).build()?;
///
/// let namespaces = Api::<DynamicObject>::of_kind(client, Kind::cluster("", "v1", "Namespace", "namespaces"), "");
/// assert!(namespaces.get(&ObjectKey::new("", "default")).await.is_ok());
/// assert_eq!(server.seen()[0].target, "/api/v1/namespaces/default");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
    _background: Arc<Background>,
}

/// Makes an [`ApiServer`].
pub struct ApiServerBuilder {
    clock: Arc<dyn Clock>,
    randomness: Option<Randomness>,
    token: Option<String>,
    event_window: usize,
    watch_buffer: usize,
    remember: bool,
    faults: Option<FaultPlan>,
}

/// A request that the server was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The HTTP method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The body as JSON, null if there was none.
    pub body: Value,
}

/// The background work, which ends with the last handle.
struct Background(JoinHandle<()>);

/// The size of the pipe between a client in this process and the server, in bytes: about what a socket holds.
pub(crate) const PIPE: usize = 64 << 10;

/// How many writes are kept, so that watches can begin before them.
const EVENT_WINDOW: usize = 10_000;

/// Definitions of custom resources.
const DEFINITION: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");

/// How many events a watcher may be behind before it is cut off.
const WATCH_BUFFER: usize = 1_000;

impl ApiServer {
    /// Begins a server.
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder {
            clock: Arc::new(SystemClock),
            randomness: None,
            token: None,
            event_window: EVENT_WINDOW,
            watch_buffer: WATCH_BUFFER,
            remember: true,
            faults: None,
        }
    }

    /// A new connection to the server: what is written to it is HTTP/1.1. One that a [fault](crate::Fault::refuse) refuses is
    /// closed already.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect(&self) -> DuplexStream {
        self.try_connect().unwrap_or_else(|_| duplex(PIPE).0)
    }

    /// A new connection to the server, as [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused), only if there is a [fault](crate::Fault::refuse).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let plan = FaultPlan::seeded(1).rule(Rule::new(Fault::refuse()).times(1));
    /// let server = ApiServer::builder().faults(plan).build();
    /// assert_eq!(server.try_connect().unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    /// assert!(server.try_connect().is_ok());
    /// # }
    /// ```
    pub fn try_connect(&self) -> io::Result<DuplexStream> {
        if self.shared.faults.refuse() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (client, server) = duplex(PIPE);
        tokio::spawn(serve_pipe(self.shared.clone(), server));
        Ok(client)
    }

    /// Serves all connections to a port until the future is dropped: plain HTTP/1.1, for who may listen on the way.
    pub async fn serve(&self, listener: TcpListener) {
        port::serve(self.shared.clone(), listener, None).await;
    }

    /// Serves all connections to a port with TLS until the future is dropped: HTTP/1.1 and HTTP/2.
    pub async fn serve_tls(&self, listener: TcpListener, identity: ServerIdentity) {
        port::serve(self.shared.clone(), listener, Some(identity)).await;
    }

    /// Creates a definition of a custom resource, which is served at once.
    ///
    /// One that a client creates is served a moment later, and the first list or watch of it is answered with 429 and
    /// `Retry-After`, as by a real server, whose caches are made when they are needed first.
    ///
    /// # Errors
    ///
    /// What a client would be answered.
    pub fn define(&self, definition: Value) -> Result<(), Status> {
        let mut state = self.shared.state();
        let kinds = &state.kinds;
        let Some(served) = kinds.find(DEFINITION.0, DEFINITION.1, DEFINITION.2).cloned() else {
            return Ok(());
        };
        let context = Context {
            served,
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
            query: Query::default(),
            form: Form::Full,
            manager: "lariat".to_owned(),
            now: state.now(),
        };
        let resource = meta::name(&definition).into();
        verbs::create(&mut state, &context, Sent { object: definition, duplicates: Vec::new() })?;
        while background::accept_definitions(&mut state) {}
        state.kinds.warm_up(&resource);
        drop(state);
        self.shared.written.notify_one();
        Ok(())
    }

    /// Adds an API, which answers for its groups and versions from now on. It stays as long as the server.
    ///
    /// # Errors
    ///
    /// See [`AggregateError`]; nothing is added then.
    pub fn aggregate(&self, api: impl AggregatedApi) -> Result<(), AggregateError> {
        let all = Aggregated::all_of(api)?;
        self.shared.state().kinds.aggregate(all)
    }

    /// The way to this server for its own parts, such as an [`AggregatedApi`]: no token is needed.
    pub fn loopback(&self) -> Loopback {
        Loopback(Arc::downgrade(&self.shared))
    }

    /// All requests so far, in the order in which they came; none if they are not remembered.
    pub fn seen(&self) -> Vec<Seen> {
        let Some(seen) = &self.shared.seen else { return Vec::new() };
        seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An object as it is stored: of a resource such as `pods` or `fleets.agones.dev`, by its key.
    pub fn stored(&self, resource: &str, key: &str) -> Option<Value> {
        self.shared.state().storage.get(resource, key).map(|stored| stored.object.clone())
    }

    /// Stores an object as it is, past all checks, and tells the watchers.
    pub fn put(&self, resource: &str, object: Value) {
        let key = match meta::namespace(&object) {
            "" => meta::name(&object).to_owned(),
            namespace => format!("{namespace}/{}", meta::name(&object)),
        };
        self.shared.state().put(&resource.into(), key, object);
        self.shared.written.notify_one();
    }

    /// Removes an object past all checks, and tells the watchers; whether there was one.
    pub fn delete(&self, resource: &str, key: &str) -> bool {
        let deleted = self.shared.state().delete(&resource.into(), key).is_some();
        self.shared.written.notify_one();
        deleted
    }

    /// Has things go wrong from now on, by this plan alone; it ends the one before as [`heal`](Self::heal) does.
    pub fn set_faults(&self, plan: FaultPlan) {
        let mut state = self.shared.state();
        self.shared.faults.set(plan, &state.storage);
        state.release();
    }

    /// Ends the plan of faults: no request is struck from now on, and what is [stale](crate::Fault::stale) catches up. Requests that
    /// were struck before are not freed; see [`FaultPlan`].
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::builder().build();
    /// server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::refuse())));
    /// assert!(server.try_connect().is_err());
    /// server.heal();
    /// assert!(server.try_connect().is_ok());
    /// assert_eq!(server.faults_struck()[0].happened, 1);
    /// # }
    /// ```
    pub fn heal(&self) {
        let mut state = self.shared.state();
        self.shared.faults.end();
        state.release();
    }

    /// How often each rule of the plan struck so far, in the order of the plan. They are kept when the plan ends, until
    /// another one is set.
    pub fn faults_struck(&self) -> Vec<Struck> {
        self.shared.faults.struck()
    }

    /// The resourceVersion of the last write.
    pub fn resource_version(&self) -> u64 {
        self.shared.state().storage.revision()
    }

    /// The resourceVersion grows as by so many writes to resources that nobody here looks at.
    ///
    /// Watchers hear of it by their next bookmark. As real writes would, these take places among those that are kept, so
    /// that versions from before [`event_window`](ApiServerBuilder::event_window) writes are compacted; they are not
    /// counted in [`remembered_writes`](Self::remembered_writes). A resourceVersion stops growing at `i64::MAX`.
    ///
    /// # Example
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = lariat_apiserver::ApiServer::builder().build();
    /// let before = server.resource_version();
    /// server.advance(1_000);
    /// assert_eq!(server.resource_version(), before + 1_000);
    /// # }
    /// ```
    pub fn advance(&self, writes: u64) {
        self.shared.state().advance(writes);
    }

    /// Forgets all versions before the last one, as etcd does now and then: who is behind gets 410.
    pub fn compact(&self) {
        let mut state = self.shared.state();
        let revision = state.storage.revision();
        state.storage.compact(revision);
    }

    /// How many writes are kept, so that watches can begin before them: at most
    /// [`event_window`](ApiServerBuilder::event_window).
    pub fn remembered_writes(&self) -> usize {
        self.shared.state().storage.window_len()
    }

    /// How many watches of a resource are open.
    pub fn watches(&self, resource: &str) -> usize {
        self.shared.state().watchers.count(resource)
    }
}

impl Debug for ApiServer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

// === impl ApiServerBuilder ===

impl ApiServerBuilder {
    /// Takes the time of day from `clock`; the system's if nothing is given.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Where uids and generated names come from; the operating system's randomness if nothing is given.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.randomness = Some(randomness);
        self
    }

    /// Answers 401 to who does not have this bearer token, to all paths but those of health and version.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// How many writes are kept, so that watches can begin before them; 10,000 if nothing is given.
    #[must_use]
    pub fn event_window(mut self, writes: usize) -> Self {
        self.event_window = writes;
        self
    }

    /// How many events a watcher may be behind before it is cut off; 1,000 if nothing is given.
    #[must_use]
    pub fn watch_buffer(mut self, events: usize) -> Self {
        self.watch_buffer = events;
        self
    }

    /// Whether [`ApiServer::seen`] knows all requests; it does if nothing is given. A server that runs for long should not.
    #[must_use]
    pub fn remember_requests(mut self, remember: bool) -> Self {
        self.remember = remember;
        self
    }

    /// What goes wrong; nothing if no plan is given.
    #[must_use]
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.faults = Some(plan);
        self
    }

    /// The server, with the namespaces of a new cluster.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn build(self) -> ApiServer {
        let mut state = State {
            storage: Storage::new(self.event_window),
            watchers: Watchers::default(),
            kinds: Kinds::built_in(),
            clock: self.clock,
            randomness: self.randomness.unwrap_or_else(Randomness::from_os),
            told: Arc::new(AtomicU64::new(1)),
            reached: Arc::default(),
            definitions: Vec::new(),
            allocated: 0,
            watch_buffer: self.watch_buffer,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let (uid, now) = (state.new_uid(), crate::schema::shared::format_rfc3339(state.now()));
            let namespace = json!({
                "kind": "Namespace", "apiVersion": "v1",
                "metadata": {
                    "name": name, "uid": uid, "creationTimestamp": now, "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
            });
            state.put(&NAMESPACES.into(), name.to_owned(), namespace);
        }
        let faults = Faults::default();
        if let Some(plan) = self.faults {
            faults.set(plan, &state.storage);
        }
        let written = Arc::new(Notify::new());
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            written: written.clone(),
            token: self.token,
            seen: self.remember.then(Mutex::default),
            faults,
        });
        let background = tokio::spawn(background::run(Arc::downgrade(&shared), written));
        ApiServer { shared, _background: Arc::new(Background(background)) }
    }
}

impl Debug for ApiServerBuilder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServerBuilder").finish_non_exhaustive()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}
