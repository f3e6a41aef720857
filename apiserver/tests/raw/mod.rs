//! A client that knows nothing but HTTP.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of it")]

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use lariat_apiserver::ApiServer;
use serde_json::Value;

pub(crate) struct Raw(SendRequest<Full<Bytes>>);

impl Raw {
    pub(crate) async fn connect(server: &ApiServer) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(server.connect())).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Sends a request; an error if the server dropped the connection.
    pub(crate) async fn send(
        &mut self,
        method: &Method,
        target: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> hyper::Result<Response<Incoming>> {
        let request = Request::builder().method(method).uri(target).header("content-type", content_type);
        self.0.ready().await?;
        self.0.send_request(request.body(Full::new(body.into())).unwrap()).await
    }

    /// Asks for something in a form: the code, the media type and the body.
    pub(crate) async fn get_as(&mut self, target: &str, accept: &str) -> (u16, String, Bytes) {
        let request = Request::get(target).header("accept", accept).body(Full::default()).unwrap();
        self.0.ready().await.unwrap();
        let response = self.0.send_request(request).await.unwrap();
        let code = response.status().as_u16();
        let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        (code, media_type, response.into_body().collect().await.unwrap().to_bytes())
    }

    /// Sends JSON and reads the whole answer.
    pub(crate) async fn json(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.send(&method, target, content_type, body).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }
}
