//! The two servers that the requests are sent to.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
use lariat_fixtures::ControlPlane;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::plane::{Address, compact};
use crate::replay::TOKEN;

pub(crate) enum Target {
    Embedded(ApiServer),
    Real(Box<ControlPlane>),
}

/// How a server is reached.
#[derive(Clone)]
pub(crate) enum Door {
    Embedded(ApiServer),
    Real(Address),
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

/// An answer whose body is still to come.
pub(crate) struct Arriving {
    response: Response<Incoming>,
    /// When nobody reads any more.
    until: Option<Instant>,
}

impl Target {
    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    pub(crate) fn door(&self) -> Door {
        match self {
            Self::Embedded(server) => Door::Embedded(server.clone()),
            Self::Real(plane) => Door::Real(Address::of(plane)),
        }
    }

    /// Refuses connections from now on.
    pub(crate) async fn go_down(&mut self) {
        match self {
            Self::Embedded(server) => {
                server.set_faults(FaultPlan::seeded(0).rule(Rule::new(Fault::refuse())));
            }
            Self::Real(plane) => plane.terminate().await,
        }
    }

    /// Takes connections again.
    pub(crate) async fn come_up(&mut self) {
        match self {
            Self::Embedded(server) => server.heal(),
            Self::Real(plane) => plane.restart().await,
        }
    }

    /// Lets an object of the core group be as it is here.
    pub(crate) async fn put(&self, resource: &str, object: &Value) {
        if let Self::Embedded(server) = self {
            return server.put(resource, object.clone());
        }
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        let manager = metadata["managedFields"][0]["manager"].as_str().unwrap().to_owned();
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(field);
        }
        let (namespace, name) = (metadata["namespace"].clone(), metadata["name"].clone());
        let collection = format!("/api/v1/namespaces/{}/{resource}", namespace.as_str().unwrap());
        let one = format!("{collection}/{}", name.as_str().unwrap());
        for (method, path) in [("PUT", one), ("POST", collection)] {
            let request = Request::builder().method(method).uri(format!("{path}?fieldManager={manager}"));
            let request = request.header("authorization", format!("Bearer {TOKEN}"));
            let request = request.header("host", "server").header("content-type", "application/json");
            let request = request.body(Full::new(Bytes::from(object.to_string()))).unwrap();
            let status = self.door().send(request, None).await.unwrap().read().await.status;
            if status < 300 {
                return;
            }
        }
        panic!("{name} could not be written");
    }

    /// Lets the server forget all but the newest versions.
    pub(crate) async fn compact(&self) {
        match self {
            Self::Embedded(server) => server.compact(),
            Self::Real(plane) => compact(plane).await,
        }
    }
}

impl Door {
    /// Sends a request over a connection of its own; its answer is read until a moment.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        until: Option<Instant>,
    ) -> io::Result<Arriving> {
        match self {
            Self::Embedded(server) => exchange(server.try_connect()?, request, until).await,
            Self::Real(address) => exchange(address.connect().await?, request, until).await,
        }
    }
}

impl Arriving {
    pub(crate) async fn read(self) -> Answer {
        let (parts, mut incoming) = self.response.into_parts();
        let until = self.until.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        let mut body = BytesMut::new();
        // A connection that breaks ends the body as well as any other end.
        while let Ok(Some(Ok(frame))) = timeout_at(until, incoming.frame()).await {
            body.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
        let headers = parts.headers.iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        Answer { status: parts.status.as_u16(), headers: headers.collect(), body: body.freeze() }
    }
}

/// Sends a request over a connection that nothing else uses.
pub(crate) async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
    until: Option<Instant>,
) -> io::Result<Arriving> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    Ok(Arriving { response, until })
}
