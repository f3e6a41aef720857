//! A server that answers a write with what was written, unless it is told otherwise.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use lariat::client::{Client, Config};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};

/// What a request is answered with in place of an echo.
type Answer = dyn Fn(&Write) -> Option<(u16, Value)> + Send + Sync;

#[derive(Clone)]
pub(crate) struct EchoServer {
    writes: Arc<Mutex<Vec<Write>>>,
    answer: Arc<Answer>,
}

/// A request that was no GET.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl EchoServer {
    pub(crate) fn new(answer: impl Fn(&Write) -> Option<(u16, Value)> + Send + Sync + 'static) -> Self {
        Self { writes: Arc::default(), answer: Arc::new(answer) }
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let connector = move |_: &Uri| std::future::ready(Ok(server.connect()));
        Client::builder(Config::new(Uri::from_static("http://echo")).unwrap())
            .connector(connector)
            .build()
            .unwrap()
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        self.writes.lock().unwrap().clone()
    }

    fn connect(&self) -> DuplexStream {
        let (client, server) = duplex(1 << 20);
        let this = self.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| this.clone().respond(request));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(server), service).await;
        });
        client
    }

    async fn respond(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let write = Write { method, path, body: serde_json::from_slice(&body).unwrap_or_default() };
        let answer = (self.answer)(&write);
        let (code, body) = answer.unwrap_or_else(|| match write.method.as_str() {
            "DELETE" => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
            _ => (200, write.body.clone()),
        });
        if write.method != "GET" {
            self.writes.lock().unwrap().push(write);
        }
        let body = Full::new(Bytes::from(body.to_string()));
        Ok(Response::builder().status(code).header("content-type", "application/json").body(body).unwrap())
    }
}

/// A refusal.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
    });
    (code, status)
}
