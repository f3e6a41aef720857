//! A server that answers lists, watches and streaming lists from three queues of scripted steps.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};

#[derive(Clone)]
pub(crate) struct Script(Arc<Shared>);

struct Shared {
    /// The steps of each kind of request.
    steps: BTreeMap<&'static str, Vec<Value>>,
    /// The requests as they are expected. Only the kind of one whose connection is refused is taken from there, since nobody
    /// can see what it would have asked.
    expected: Vec<Value>,
    state: Mutex<State>,
    is_over: Notify,
    /// Adds and removes handlers.
    act: Box<Act>,
}

/// Does what a frame says with the handler of a name.
type Act = dyn Fn(&str, &str) + Send + Sync;

struct State {
    served: BTreeMap<&'static str, usize>,
    seen: Vec<Value>,
    last_life: Option<Instant>,
}

/// A body whose pieces come from a task; an error breaks the connection.
struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

/// How long the recorder waited for notifications to come to rest.
const QUIET: Duration = Duration::from_millis(95);

const REFUSED: &str = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents is forbidden","reason":"Invalid","code":422}"#;

impl Script {
    pub(crate) fn new(input: &Value, want: &Value, act: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        let kinds = ["list", "watch", "watchlist"];
        let steps = kinds.map(|kind| (kind, input[kind].as_array().cloned().unwrap_or_default()));
        Self(Arc::new(Shared {
            steps: steps.into(),
            expected: want["requests"].as_array().cloned().unwrap_or_default(),
            state: Mutex::new(State { served: BTreeMap::new(), seen: Vec::new(), last_life: None }),
            is_over: Notify::new(),
            act: Box::new(act),
        }))
    }

    /// Waits until a step leaves its stream open: the end of the script.
    pub(crate) async fn over(&self) {
        self.0.is_over.notified().await;
    }

    pub(crate) fn seen(&self) -> Vec<Value> {
        self.0.state.lock().unwrap().seen.clone()
    }

    /// Whether every step was used.
    pub(crate) fn is_used_up(&self) -> bool {
        let state = self.0.state.lock().unwrap();
        self.0
            .steps
            .iter()
            .filter(|(kind, _)| **kind != "watchlist")
            .all(|(kind, steps)| state.served.get(kind).copied().unwrap_or_default() >= steps.len())
    }

    pub(crate) fn connect(&self) -> io::Result<DuplexStream> {
        let number = self.0.state.lock().unwrap().seen.len();
        let expected = self.0.expected.get(number).cloned().unwrap_or_default();
        let kind = self.0.steps.keys().find(|kind| expected["kind"] == **kind).copied().unwrap_or("list");
        if self.next_step(kind)["refuse"] == true {
            self.take(kind, &Value::Null);
            self.lives();
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (client, server) = duplex(64 << 10);
        let script = self.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| script.answer(request));
            // One request each, so that a connection that is dropped takes nothing else with it.
            let connection =
                http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(server), service);
            let _ = connection.await;
        });
        Ok(client)
    }

    fn next_step(&self, kind: &'static str) -> Value {
        let state = self.0.state.lock().unwrap();
        let number = state.served.get(kind).copied().unwrap_or_default();
        self.0.steps[kind].get(number).cloned().unwrap_or_default()
    }

    /// Notes a request, and returns its step.
    fn take(&self, kind: &'static str, query: &Value) -> Option<Value> {
        let mut state = self.0.state.lock().unwrap();
        let number = state.served.entry(kind).or_default();
        let step = self.0.steps[kind].get(*number).cloned();
        let shown = if step.is_some() { i64::try_from(*number).unwrap() } else { -1 };
        *number += 1;
        let gap = state.last_life.map(|last| last.elapsed().as_millis() as u64);
        state.seen.push(json!({"kind": kind, "step": shown, "query": query, "gap": gap}));
        step
    }

    /// Notes the time of a sign of life.
    fn lives(&self) {
        self.0.state.lock().unwrap().last_life = Some(Instant::now());
    }

    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<Pieces>> {
        let query = query(request.uri());
        let is = |name: &str| query[name] == "true";
        let kind = match (is("watch"), is("sendInitialEvents")) {
            (true, true) => "watchlist",
            (true, false) => "watch",
            (false, _) => "list",
        };
        let mut shown = query.clone();
        shown["path"] = request.uri().path().into();
        let step = self.take(kind, &shown);
        sleep(QUIET).await;
        let (sender, receiver) = mpsc::channel(1);
        let mut response = Response::new(Pieces(receiver));
        let Some(step) = step else {
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            sender.send(Ok(REFUSED.into())).await.unwrap();
            self.lives();
            return Ok(response);
        };
        let end = step["end"].as_str().unwrap_or("close").to_owned();
        if end.ends_with("BeforeHeaders") {
            self.lives();
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let status = u16::try_from(step["status"].as_u64().unwrap_or(200)).unwrap();
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in step["headers"].as_object().into_iter().flatten() {
            let name: http::HeaderName = name.parse().unwrap();
            response.headers_mut().insert(name, value.as_str().unwrap().parse().unwrap());
        }
        let script = self.clone();
        tokio::spawn(async move { script.play(kind, &step, &end, sender).await });
        Ok(response)
    }

    async fn play(&self, kind: &str, step: &Value, end: &str, sender: mpsc::Sender<io::Result<Bytes>>) {
        if let Some(raw) = step["rawBody"].as_str() {
            let _ = sender.send(Ok(raw.to_owned().into())).await;
        } else if !step["body"].is_null() {
            let _ = sender.send(Ok(step["body"].to_string().into())).await;
        }
        for frame in step["frames"].as_array().into_iter().flatten() {
            if let Some(milliseconds) = frame["sleepMs"].as_u64() {
                sleep(Duration::from_millis(milliseconds)).await;
                continue;
            }
            if let Some((name, act)) =
                ["addHandler", "removeHandler"].into_iter().find_map(|act| Some((frame[act].as_str()?, act)))
            {
                sleep(QUIET).await;
                (self.0.act)(act, name);
                sleep(QUIET).await;
                continue;
            }
            let bytes = match frame["raw"].as_str() {
                Some(raw) => raw.to_owned(),
                None => format!("{}\n", frame["event"]),
            };
            let annotations = &frame["event"]["object"]["metadata"]["annotations"];
            let is_end = kind == "watchlist" && annotations["k8s.io/initial-events-end"] == "true";
            if is_end {
                sleep(QUIET).await;
            }
            let _ = sender.send(Ok(bytes.into())).await;
            self.lives();
            if is_end {
                sleep(QUIET).await;
            }
        }
        self.lives();
        match end {
            "hold" => {
                self.0.is_over.notify_one();
                // Until the client leaves.
                sender.closed().await;
            }
            "abort" | "reset" => {
                // What was sent is to be read first.
                sleep(Duration::from_millis(1)).await;
                let _ = sender.send(Err(io::ErrorKind::ConnectionReset.into())).await;
            }
            _ => {}
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

fn query(uri: &Uri) -> Value {
    let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let decoded = pairs.map(|(name, value)| {
        let value = percent_decode(value);
        let is_masked = name == "timeoutSeconds" && (300..=600).contains(&value.parse().unwrap_or(0));
        (name.to_owned(), if is_masked { json!("<300..600>") } else { json!(value) })
    });
    Value::Object(decoded.collect())
}

fn percent_decode(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        let decoded =
            (*first == b'%').then(|| u8::from_str_radix(text_of(tail.get(..2)?), 16).ok()).flatten();
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap()
}

fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
