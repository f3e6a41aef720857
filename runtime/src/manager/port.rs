//! The port for health, metrics and a look inside.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::prometheus_text;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Shared;
use super::health::{self, Answer};
use crate::boxed::Boxed;
use crate::limits::{PORT_CONNECTIONS, PORT_REQUEST};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static(prometheus_text::CONTENT_TYPE);
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Serves all connections until the future is dropped.
pub(super) async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(PORT_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection to the port for health and metrics could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        let shared = shared.clone();
        let serve: Boxed<'static, ()> = Box::pin(async move {
            let _place = place;
            let service = service_fn(move |request| {
                let response = respond(&shared, &request);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PORT_REQUEST);
            if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "a connection to the port for health and metrics broke off");
            }
        });
        connections.spawn(serve);
    }
}

fn respond(shared: &Shared, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n".to_owned());
    }
    let query = request.uri().query().unwrap_or("");
    let path = request.uri().path().trim_matches('/');
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (first, rest) {
        ("healthz" | "livez" | "live", one) => {
            answered(health::answer(first, &shared.health_checks(), one, query))
        }
        ("readyz" | "ready", one) => answered(health::answer(first, &shared.ready_checks(), one, query)),
        ("metrics", None) if shared.serves_metrics => {
            response(StatusCode::OK, PROMETHEUS, shared.env.metrics.text())
        }
        ("debug", Some("state")) => response(StatusCode::OK, JSON, shared.state_of_all().to_string()),
        _ => {
            let pages = "there are /healthz, /readyz, /metrics and /debug/state\n";
            response(StatusCode::NOT_FOUND, TEXT, pages.to_owned())
        }
    }
}

fn answered(Answer { code, body }: Answer) -> Response<Full<Bytes>> {
    response(StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), TEXT, body)
}

fn response(code: StatusCode, content_type: HeaderValue, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
