//! Requests over TLS: who the server must be, and who the client says it is.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::sync::{Arc, Mutex};

use http::Uri;
use lariat_api::{DynamicObject, Kind, Object, ObjectKey};
use lariat_client::config::{Credentials, Pem, TlsOptions};
use lariat_client::{Api, Client, Config, Connecting, Connection, Connector, Error};
use lariat_fixtures::{ScriptedServer, Step};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

const BODY: &str = r#"{"metadata":{"name":"a"}}"#;

/// An authority that both sides know.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    fn pem(&self) -> Pem {
        Pem::data(self.0.pem())
    }
}

/// A server behind a pipe that speaks TLS, notes the request and whether a certificate was shown, and answers.
#[derive(Clone)]
struct TlsServer {
    acceptor: TlsAcceptor,
    seen: Arc<Mutex<Vec<(String, bool)>>>,
}

impl TlsServer {
    fn new(authority: &Authority, name: &str) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(authority.0.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let (certificate, key) = authority.sign(name);
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), seen: Arc::default() }
    }
}

impl Connector for TlsServer {
    fn connect(&self, _server: &Uri) -> Connecting {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let server = self.clone();
        tokio::spawn(async move {
            let Ok(mut stream) = server.acceptor.accept(theirs).await else { return };
            let showed_certificate = stream.get_ref().1.peer_certificates().is_some();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => request.push(byte),
                    Err(_) => return,
                }
            }
            server.seen.lock().unwrap().push((String::from_utf8(request).unwrap(), showed_certificate));
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            // Read on, so that the client's end of the connection is not cut off.
            let _ = stream.read_u8().await;
        });
        Box::pin(async { Ok(Connection::new(ours)) })
    }
}

async fn get(server: &TlsServer, config: Config) -> Result<DynamicObject, Error> {
    let client = Client::builder(config).connector(server.clone()).build().unwrap();
    let nodes = Kind::cluster("", "v1", "Node", "nodes");
    Api::of_kind(client, nodes, "").get(&ObjectKey::new("", "a")).await
}

fn config(address: &str, tls: TlsOptions) -> Config {
    Config::new(address.parse().unwrap()).unwrap().with_tls(tls)
}

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions { certificate_authority: Some(authority.pem()), ..TlsOptions::default() }
}

#[tokio::test]
async fn a_token_goes_to_a_server_that_is_trusted() {
    let authority = Authority::new();
    let server = TlsServer::new(&authority, "cluster.example");
    let config = config("https://cluster.example:6443/base/", trusting(&authority));
    let object = get(&server, config.with_credentials(Credentials::token("s3cr3t"))).await.unwrap();
    assert_eq!(object.name(), "a");
    let (request, showed_certificate) = server.seen.lock().unwrap()[0].clone();
    assert!(request.starts_with("GET /base/api/v1/nodes/a HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer s3cr3t\r\n"), "{request}");
    assert!(request.contains("user-agent: lariat/"), "{request}");
    assert!(!showed_certificate);
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let authority = Authority::new();
    let server = TlsServer::new(&authority, "cluster.example");
    let (certificate, key) = authority.sign("somebody");
    let credentials = Credentials::certificate(Pem::data(certificate.pem()), Pem::data(key.serialize_pem()));
    let config = config("https://cluster.example", trusting(&authority)).with_credentials(credentials);
    get(&server, config).await.unwrap();
    assert!(server.seen.lock().unwrap()[0].1);
}

#[tokio::test]
async fn a_server_that_is_not_trusted_gets_no_request() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = TlsServer::new(&authority, "cluster.example");
    for (address, tls, want) in [
        ("https://cluster.example", trusting(&other), "invalid peer certificate"),
        ("https://elsewhere.example", trusting(&authority), "not valid for name"),
    ] {
        let config = config(address, tls).with_credentials(Credentials::token("s3cr3t"));
        let error = get(&server, config).await.unwrap_err().to_string();
        assert!(error.contains(want) && !error.contains("s3cr3t"), "{error}");
    }
    assert!(server.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_name_in_the_certificate_may_be_given() {
    let authority = Authority::new();
    let server = TlsServer::new(&authority, "cluster.example");
    let tls = TlsOptions { server_name: Some("cluster.example".into()), ..trusting(&authority) };
    get(&server, config("https://10.0.0.1:6443", tls)).await.unwrap();
}

#[tokio::test]
async fn verification_can_be_switched_off() {
    let server = TlsServer::new(&Authority::new(), "cluster.example");
    let tls = TlsOptions { insecure_skip_tls_verify: true, ..TlsOptions::default() };
    get(&server, config("https://127.0.0.1", tls)).await.unwrap();
}

/// Section 10 [W]: credentials do not go out in the clear.
#[tokio::test]
async fn a_token_is_not_sent_without_tls() {
    let server = ScriptedServer::new([Step::json(200, BODY)]);
    let config =
        config("http://cluster.example", TlsOptions::default()).with_credentials(Credentials::token("t"));
    let client = Client::builder(config).connector(server.clone()).build().unwrap();
    let nodes = Kind::cluster("", "v1", "Node", "nodes");
    Api::<DynamicObject>::of_kind(client, nodes, "").get(&ObjectKey::new("", "a")).await.unwrap();
    assert!(!server.seen()[0].headers.contains_key("authorization"), "{:?}", server.seen());
}
