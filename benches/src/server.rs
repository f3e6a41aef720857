use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::Result;
use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::Data;

/// Serves the GameServers of a [`Data`] over plain HTTP/1.1 on the loopback interface, as fast as they are read.
///
/// It answers as an API server with a watch cache does: a list of the newest version in pages if `limit` asks for them,
/// and a list of any version whole. A watch sends what the [`Stage`] allows and stays open.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use lariat_benches::{Data, Lists, Server};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let server = Server::bind(Arc::new(Data::new(10, 10)?), Lists::Classic).await?;
/// println!("http://{}", server.address());
/// tokio::spawn(server.run());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// Which kinds of list a server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// The list alone. A watch that asks for initial events is refused, as older servers do.
    Classic,
    /// Streaming lists too.
    Streaming,
}

/// How far the story has come that a server tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// There are the first objects. Watches are silent.
    First,
    /// Watches send the events.
    Events,
    /// There are the later objects. Watches that were open before end as expired; later ones are silent.
    Later,
}

#[derive(Debug)]
struct Shared {
    data: Arc<Data>,
    initial_events: Option<[Vec<Bytes>; 2]>,
    stage: watch::Sender<Stage>,
    /// How many watches have sent the later objects, where those were asked for.
    later_watches: watch::Sender<u64>,
}

/// What a request asks for.
#[derive(Debug, Default)]
struct Query {
    watch: bool,
    initial_events: bool,
    limit: usize,
    from: usize,
    version: String,
}

/// A body of pieces that are sent as they are asked for.
struct Pieces {
    ready: VecDeque<Bytes>,
    /// What comes after them.
    more: Option<mpsc::Receiver<Bytes>>,
}

const COLLECTION: &str = "/apis/agones.dev/v1/gameservers";
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}
"#;

impl Server {
    /// Listens on a free port.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub async fn bind(data: Arc<Data>, lists: Lists) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let initial_events = match lists {
            Lists::Classic => None,
            Lists::Streaming => Some([data.first.initial_events(), data.later.initial_events()]),
        };
        let shared = Arc::new(Shared {
            data,
            initial_events,
            stage: watch::Sender::new(Stage::First),
            later_watches: watch::Sender::new(0),
        });
        Ok(Self { listener, shared, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What moves the story on. A new client needs the stage to be the first.
    pub fn stage(&self) -> watch::Sender<Stage> {
        self.shared.stage.clone()
    }

    /// How many watches of the last stage have sent what there was at their beginning, ever.
    pub fn later_watches(&self) -> watch::Receiver<u64> {
        self.shared.later_watches.subscribe()
    }

    /// Serves until it is dropped.
    pub async fn run(self) -> Infallible {
        loop {
            if let Ok((stream, _)) = self.listener.accept().await {
                tokio::spawn(serve(stream, self.shared.clone()));
            }
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // What is small must not wait for what comes after it.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| {
        let response = shared.clone().answer(request.uri());
        async move { Ok::<_, Infallible>(response) }
    });
    // A client that hangs up is no error.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

// === impl Shared ===

impl Shared {
    fn answer(self: Arc<Self>, uri: &Uri) -> Response<Pieces> {
        let query = Query::parse(uri.query().unwrap_or_default());
        let (code, pieces) = if uri.path() != COLLECTION {
            refusal(
                StatusCode::NOT_FOUND,
                "NotFound",
                "there are GameServers of agones.dev/v1 and nothing else",
            )
        } else if query.initial_events && self.initial_events.is_none() {
            let why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the \
                       WatchList feature gate is enabled";
            refusal(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", why)
        } else if query.watch {
            (StatusCode::OK, self.watch(query.initial_events))
        } else {
            (StatusCode::OK, self.list(&query))
        };
        let mut response = Response::new(pieces);
        *response.status_mut() = code;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    fn list(&self, query: &Query) -> Pieces {
        let collection = match *self.stage.borrow() {
            Stage::First | Stage::Events => &self.data.first,
            Stage::Later => &self.data.later,
        };
        // Any version comes from the watch cache, which has no pages.
        let in_pages = query.limit > 0 && query.version.is_empty();
        let limit = if in_pages { query.limit } else { usize::MAX };
        Pieces { ready: collection.list(query.from, limit).into(), more: None }
    }

    fn watch(self: Arc<Self>, initial_events: bool) -> Pieces {
        let opened = *self.stage.borrow();
        let is_later = opened == Stage::Later;
        let (sender, more) = mpsc::channel(4);
        tokio::spawn(async move {
            if let Some(events) = self.initial_events.as_ref().filter(|_| initial_events) {
                for piece in &events[usize::from(is_later)] {
                    if sender.send(piece.clone()).await.is_err() {
                        return;
                    }
                }
            }
            if is_later {
                self.later_watches.send_modify(|count| *count += 1);
                return sender.closed().await;
            }
            let mut stage = self.stage.subscribe();
            if stage.wait_for(|stage| *stage >= Stage::Events).await.is_err() {
                return;
            }
            for piece in &self.data.events {
                if sender.send(piece.clone()).await.is_err() {
                    return;
                }
            }
            if stage.wait_for(|stage| *stage >= Stage::Later).await.is_ok() {
                let _ = sender.send(Bytes::from_static(EXPIRED)).await;
            }
        });
        Pieces { ready: VecDeque::new(), more: Some(more) }
    }
}

fn refusal(code: StatusCode, reason: &str, message: &str) -> (StatusCode, Pieces) {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    (code, Pieces { ready: VecDeque::from([Bytes::from(status.to_string())]), more: None })
}

// === impl Query ===

impl Query {
    fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let is_true = matches!(value, "true" | "1");
            match name {
                "watch" => parsed.watch = is_true,
                "sendInitialEvents" => parsed.initial_events = is_true,
                "limit" => parsed.limit = value.parse().unwrap_or_default(),
                "continue" => parsed.from = value.parse().unwrap_or_default(),
                "resourceVersion" => value.clone_into(&mut parsed.version),
                _ => {}
            }
        }
        parsed
    }
}

// === impl Pieces ===

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(piece) = self.ready.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match &mut self.more {
            Some(more) => more.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
            None => Poll::Ready(None),
        }
    }
}
