//! The server on a port: TLS, both versions of HTTP, and what kubectl asks before it applies.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod raw;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use lariat_api::Randomness;
use lariat_apiserver::{ApiServer, ServerIdentity, random_token};
use raw::Raw;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// The version in which the server answers a client that speaks these.
async fn version(offers: &[&[u8]]) -> Version {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let identity = ServerIdentity::generate(address.ip()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(identity.authority_pem().as_bytes()).unwrap()).unwrap();
    let serving = tokio::spawn(async move { server.serve_tls(listener, identity).await });

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = offers.iter().map(|offer| offer.to_vec()).collect();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    let request = Request::get(format!("https://{address}/version")).body(Full::<Bytes>::default()).unwrap();
    let response = if is_http2 {
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    let version = response.version();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["minor"], "36");
    serving.abort();
    version
}

#[tokio::test]
async fn both_versions_of_http_are_served_over_tls() {
    assert_eq!(version(&[b"h2", b"http/1.1"]).await, Version::HTTP_2);
    assert_eq!(version(&[b"http/1.1"]).await, Version::HTTP_11);
    assert_eq!(version(&[]).await, Version::HTTP_11);
}

#[test]
fn tokens_differ() {
    let (one, other) = (random_token().unwrap(), random_token().unwrap());
    assert!(one.len() == 64 && one != other);
}

#[tokio::test(start_paused = true)]
async fn without_the_token_only_health_and_version_answer() {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).token("secret").build();
    let mut raw = Raw::connect(&server).await;
    for (path, code) in
        [("/livez", 200), ("/readyz", 200), ("/version", 200), ("/api", 401), ("/openapi/v3", 401)]
    {
        assert_eq!(raw.json(Method::GET, path, &Value::Null).await.0, code, "{path}");
    }
    assert_eq!(raw.json(Method::POST, "/api/v1/namespaces", &json!({})).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn openapi_tells_what_custom_resources_look_like() {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).build();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }],
        },
    });
    server.define(definition.clone()).unwrap();
    assert_eq!(server.define(definition).unwrap_err().code, 409);
    let mut raw = Raw::connect(&server).await;
    let (_, index) = raw.json(Method::GET, "/openapi/v3", &Value::Null).await;
    let path = index["paths"]["apis/example.dev/v1"]["serverRelativeURL"].as_str().unwrap();
    let (code, document) = raw.json(Method::GET, path, &Value::Null).await;
    assert_eq!(code, 200);
    let widget = &document["components"]["schemas"]["dev.example.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["type"], "object");
    let kind = json!({"group": "example.dev", "version": "v1", "kind": "Widget"});
    assert_eq!(widget["x-kubernetes-group-version-kind"], json!([kind]));
    let patch = &document["paths"]["/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|parameter| parameter["name"] == "fieldValidation"));
}
