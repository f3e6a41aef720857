//! Faults on a port: what the operating system tells a client, and HTTP/2.

use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule, ServerIdentity};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use crate::{MAPS, faulty, put, server, struck};

/// All bytes of an answer, and how the connection ended.
async fn exchange(server: &ApiServer, sent: &str) -> (Vec<u8>, Option<ErrorKind>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = {
        let server = server.clone();
        tokio::spawn(async move { server.serve(listener).await })
    };
    let mut answer = Vec::new();
    // A reset is told once, by whatever comes first.
    let ended = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(sent.as_bytes()).await?;
        stream.read_to_end(&mut answer).await
    };
    let ended = ended.await;
    serving.abort();
    (answer, ended.err().map(|error| error.kind()))
}

#[tokio::test]
async fn connections_to_a_port_are_reset() {
    let request = format!("GET {MAPS} HTTP/1.1\r\nhost: x\r\n\r\n");
    for fault in [Fault::refuse(), Fault::reset()] {
        let server = faulty(Rule::new(fault));
        assert_eq!(exchange(&server, &request).await, (Vec::new(), Some(ErrorKind::ConnectionReset)));
        assert_eq!(struck(&server), (1, 1));
    }
    // Bytes that were sent come, and then a plain end, where the client misses the rest.
    let server = faulty(Rule::new(Fault::cut(10)));
    let (answer, error) = exchange(&server, &request).await;
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    assert_eq!((answer.len() - head, error), (10, None));
}

#[tokio::test]
async fn a_stream_of_http2_is_reset_alone() {
    let server = server();
    put(&server, "m", 1);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let identity = ServerIdentity::generate(address.ip()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(identity.authority_pem().as_bytes()).unwrap()).unwrap();
    let serving = {
        let server = server.clone();
        tokio::spawn(async move { server.serve_tls(listener, identity).await })
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let ask = || {
        let mut sender = sender.clone();
        let request =
            Request::get(format!("https://{address}{MAPS}")).body(Full::<Bytes>::default()).unwrap();
        async move { sender.send_request(request).await }
    };

    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::reset()).times(1)));
    assert!(ask().await.is_err());
    assert_eq!(ask().await.unwrap().status(), 200, "the connection is as it was");

    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::cut(10)).times(1)));
    let mut body = ask().await.unwrap().into_body();
    let mut read = 0;
    let error = loop {
        match body.frame().await.expect("no orderly end") {
            Ok(frame) => read += frame.into_data().unwrap().len(),
            Err(error) => break error,
        }
    };
    assert!(read <= 10, "{read} {error}");
    assert_eq!(struck(&server), (1, 1));

    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::black_hole()).times(1)));
    let lost = tokio::spawn(ask());
    while struck(&server) == (0, 0) {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask().await.unwrap().status(), 200, "other streams go on");
    assert!(!lost.is_finished());
    lost.abort();
    serving.abort();
}
