//! TLS configurations, shaken hands with in memory.

use std::sync::Arc;

use lariat_client::config::{Config, ConfigError, Credentials, Pem, TlsOptions};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, RootCertStore, ServerConfig, ServerConnection};

/// A certificate authority of our own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

struct Issued {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    fn issue(&self, name: &str) -> Issued {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        Issued { certificate, key }
    }

    /// A server for `name` that wants a client certificate if `clients` says who signs them.
    fn server(&self, name: &str, clients: Option<&Authority>) -> ServerConfig {
        self.server_with(&self.issue(name), clients)
    }

    fn server_with(&self, issued: &Issued, clients: Option<&Authority>) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.0.der().clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let chain: Vec<CertificateDer<'static>> = vec![issued.certificate.der().clone()];
        let key = PrivateKeyDer::try_from(issued.key.serialize_der()).unwrap();
        let mut server = builder.with_single_cert(chain, key).unwrap();
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        server
    }
}

fn config(tls: TlsOptions) -> Config {
    Config::new("https://a.example:6443".parse().unwrap()).unwrap().with_tls(tls)
}

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions { certificate_authority: Some(Pem::data(authority.pem())), ..TlsOptions::default() }
}

/// Lets client and server exchange bytes until both are done; the protocol that they agree on.
fn shake_hands(config: &Config, server: ServerConfig) -> Result<Option<Vec<u8>>, rustls::Error> {
    let client = Arc::new(config.tls_client_config().unwrap());
    let mut client = ClientConnection::new(client, config.server_name().unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    for _ in 0..10 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut bytes = bytes.as_slice();
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).unwrap();
            server.process_new_packets()?;
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut bytes = bytes.as_slice();
        while !bytes.is_empty() {
            client.read_tls(&mut bytes).unwrap();
            client.process_new_packets()?;
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok(client.alpn_protocol().map(<[u8]>::to_vec))
}

#[test]
fn the_authority_decides_who_the_server_may_be() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let config = config(trusting(&ours));
    let protocol = shake_hands(&config, ours.server("a.example", None)).unwrap();
    assert_eq!(protocol.as_deref(), Some(&b"http/1.1"[..]));
    shake_hands(&config, theirs.server("a.example", None)).unwrap_err();
    shake_hands(&config, ours.server("b.example", None)).unwrap_err();
}

#[test]
fn the_server_name_can_be_another_than_the_host() {
    let ours = Authority::new();
    let config = config(TlsOptions { server_name: Some("b.example".into()), ..trusting(&ours) });
    shake_hands(&config, ours.server("b.example", None)).unwrap();
    shake_hands(&config, ours.server("a.example", None)).unwrap_err();
}

#[test]
fn a_bundle_may_hold_several_authorities_in_a_file() {
    let (old, new) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.crt");
    std::fs::write(&path, format!("# two\n{}\n{}", old.pem(), new.pem())).unwrap();
    let config = config(TlsOptions { certificate_authority: Some(Pem::File(path)), ..TlsOptions::default() });
    shake_hands(&config, old.server("a.example", None)).unwrap();
    shake_hands(&config, new.server("a.example", None)).unwrap();
}

#[test]
fn insecure_takes_any_certificate_but_not_a_stolen_one() {
    let theirs = Authority::new();
    let config = config(TlsOptions { insecure_skip_tls_verify: true, ..TlsOptions::default() });
    shake_hands(&config, theirs.server("x.example", None)).unwrap();

    let stolen = Issued { key: KeyPair::generate().unwrap(), ..theirs.issue("a.example") };
    let mut server = theirs.server("a.example", None);
    let key = PrivateKeyDer::try_from(stolen.key.serialize_der()).unwrap();
    let signer = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let chain = vec![stolen.certificate.der().clone()];
    server.cert_resolver =
        Arc::new(rustls::sign::SingleCertAndKey::from(rustls::sign::CertifiedKey::new(chain, signer)));
    let error = shake_hands(&config, server).unwrap_err();
    assert!(matches!(error, rustls::Error::InvalidCertificate(_)), "{error}");
}

#[test]
fn a_client_certificate_is_shown() {
    let ours = Authority::new();
    let client = ours.issue("bob");
    let credentials = |key: &KeyPair| {
        Credentials::certificate(Pem::data(client.certificate.pem()), Pem::data(key.serialize_pem()))
    };
    let config = config(trusting(&ours));
    let known = config.clone().with_credentials(credentials(&client.key));
    shake_hands(&known, ours.server("a.example", Some(&ours))).unwrap();
    shake_hands(&config, ours.server("a.example", Some(&ours))).unwrap_err();

    let wrong = config.with_credentials(credentials(&KeyPair::generate().unwrap()));
    let error = wrong.tls_client_config().unwrap_err();
    assert!(error.to_string().contains("the client certificate and its key"), "{error}");
}

#[test]
fn bad_pem_is_named_and_not_quoted() {
    let ours = Authority::new();
    let bad = [
        ("", "holds no certificate"),
        ("s3cr3t", "holds no certificate"),
        ("-----BEGIN CERTIFICATE-----\ns3cr3t", "not valid PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "no usable certificate"),
    ];
    for (pem, reason) in bad {
        let tls = TlsOptions { certificate_authority: Some(Pem::data(pem)), ..TlsOptions::default() };
        let error = config(tls).tls_client_config().unwrap_err();
        assert!(matches!(error, ConfigError::Certificate { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("the certificate authority") && text.contains(reason), "{pem}: {text}");
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    let client = ours.issue("bob").certificate.pem();
    let credentials = Credentials::certificate(Pem::data(client), Pem::data("s3cr3t"));
    let error = config(trusting(&ours)).with_credentials(credentials).tls_client_config().unwrap_err();
    assert!(error.to_string().contains("the client key: holds no private key"), "{error}");
}

#[test]
fn an_authority_beside_insecure_is_a_contradiction() {
    let tls = TlsOptions { insecure_skip_tls_verify: true, ..trusting(&Authority::new()) };
    let error = config(tls).tls_client_config().unwrap_err();
    assert!(matches!(error, ConfigError::Invalid { .. }), "{error}");
}
