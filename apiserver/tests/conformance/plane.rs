//! How the tests reach a real control plane beside its API.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use lariat_fixtures::ControlPlane;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::target::exchange;

/// Where an API server listens, and the certificates that it shows.
#[derive(Clone)]
pub(crate) struct Address {
    port: u16,
    trusted: PathBuf,
}

/// Lets etcd forget what was before its newest revision.
pub(crate) async fn compact(plane: &ControlPlane) {
    let ask = async |path: &str, body: serde_json::Value| {
        let stream = TcpStream::connect(("127.0.0.1", plane.etcd_port())).await.unwrap();
        let request =
            Request::post(path).header("host", "etcd").body(Full::new(Bytes::from(body.to_string())));
        let answer = exchange(stream, request.unwrap(), None).await.unwrap().read().await;
        assert_eq!(answer.status, 200, "{path}: {:?}", answer.body);
        serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap()
    };
    let status = ask("/v3/maintenance/status", json!({})).await;
    let revision = status["header"]["revision"].clone();
    ask("/v3/kv/compaction", json!({"revision": revision, "physical": true})).await;
}

impl Address {
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        Self { port: plane.port(), trusted: plane.folder().join("certs/apiserver.crt") }
    }

    /// A connection to the API server.
    pub(crate) async fn connect(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&self.trusted).map_err(std::io::Error::other)? {
            roots.add_parsable_certificates([certificate.map_err(std::io::Error::other)?]);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}
