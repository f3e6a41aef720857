//! A real control plane: etcd, kube-apiserver and kube-controller-manager from the folder that `KUBEBUILDER_ASSETS` names.

use std::net::TcpListener as StdListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::replay::TOKEN;
use crate::target::exchange;

pub(crate) struct ControlPlane {
    assets: PathBuf,
    /// Data, keys and logs.
    folder: tempfile::TempDir,
    port: u16,
    etcd: u16,
    /// The API server last.
    processes: Vec<Child>,
}

/// Where an API server listens, and the certificates that it shows.
#[derive(Clone)]
pub(crate) struct Address {
    port: u16,
    trusted: PathBuf,
}

/// How long a server may take to be ready.
const READY: Duration = Duration::from_secs(90);

const POLL: Duration = Duration::from_millis(100);

impl ControlPlane {
    /// The folder with the programs, if there is one.
    pub(crate) fn assets() -> Option<PathBuf> {
        std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from)
    }

    pub(crate) async fn start(assets: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (etcd, peers, port) = (free_port(), free_port(), free_port());
        std::fs::write(folder.path().join("tokens.csv"), format!("{TOKEN},admin,admin,system:masters\n"))
            .unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
        std::fs::write(folder.path().join("key.pub"), key.public_key_pem()).unwrap();
        let mut plane = Self { assets, folder, port, etcd, processes: Vec::new() };
        plane.run(
            "etcd",
            &[
                "--data-dir=etcd".to_owned(),
                format!("--listen-client-urls=http://127.0.0.1:{etcd}"),
                format!("--advertise-client-urls=http://127.0.0.1:{etcd}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peers}"),
                format!("--initial-cluster=default=http://127.0.0.1:{peers}"),
                "--unsafe-no-fsync".to_owned(),
            ],
        );
        plane.run_api_server();
        plane.wait_until_ready().await;
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true,
            }}],
            "users": [{"name": "c", "user": {"token": TOKEN}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        std::fs::write(plane.folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let arguments = [
            "--kubeconfig=kubeconfig",
            "--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller",
            "--service-account-private-key-file=key.pem",
            "--leader-elect=false",
            "--secure-port=0",
        ];
        plane.run("kube-controller-manager", &arguments.map(str::to_owned));
        // The API server is the one that is restarted.
        let last = plane.processes.len() - 1;
        plane.processes.swap(last - 1, last);
        plane
    }

    /// Ends the API server as an operator would: those who watch may stay for a while.
    pub(crate) async fn terminate(&mut self) {
        let server = self.processes.pop().unwrap();
        let ended = Command::new("kill").arg(server.id().to_string()).status().unwrap();
        assert!(ended.success());
        self.processes.insert(0, server);
        let closes = async {
            while let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)).await {
                drop(stream);
                tokio::time::sleep(POLL).await;
            }
        };
        assert!(tokio::time::timeout(READY, closes).await.is_ok(), "the API server goes on");
    }

    /// Starts the API server again.
    pub(crate) async fn restart(&mut self) {
        self.run_api_server();
        self.wait_until_ready().await;
    }

    /// Lets etcd forget what was before its newest revision.
    pub(crate) async fn compact(&self) {
        let ask = async |path: &str, body: serde_json::Value| {
            let stream = TcpStream::connect(("127.0.0.1", self.etcd)).await.unwrap();
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

    pub(crate) fn address(&self) -> Address {
        Address { port: self.port, trusted: self.folder.path().join("certs/apiserver.crt") }
    }

    fn run_api_server(&mut self) {
        let arguments = [
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            "--cert-dir=certs".to_owned(),
            "--token-auth-file=tokens.csv".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--service-account-key-file=key.pub".to_owned(),
            "--service-account-signing-key-file=key.pem".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--allow-privileged=true".to_owned(),
        ];
        self.run("kube-apiserver", &arguments);
    }

    fn run(&mut self, program: &str, arguments: &[String]) {
        let log = |kind: &str| {
            let path = self.folder.path().join(format!("{program}.{kind}"));
            Stdio::from(std::fs::File::options().create(true).append(true).open(path).unwrap())
        };
        let mut command = Command::new(self.assets.join(program));
        command.args(arguments).current_dir(self.folder.path()).stdout(log("out")).stderr(log("err"));
        self.processes
            .push(command.spawn().unwrap_or_else(|error| panic!("{program} cannot be run: {error}")));
    }

    async fn wait_until_ready(&mut self) {
        let ready = async {
            while !self.is_ready().await {
                let ended = self.processes.last_mut().unwrap().try_wait().unwrap();
                assert!(ended.is_none(), "the API server ended: {}", self.log());
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(READY, ready).await.is_err() {
            panic!("the API server is not ready after {READY:?}: {}", self.log());
        }
    }

    async fn is_ready(&self) -> bool {
        let Ok(stream) = self.address().connect().await else { return false };
        let request = Request::get("/readyz").header("host", "plane").body(Full::default()).unwrap();
        match exchange(stream, request, None).await {
            Ok(answer) => answer.read().await.status == 200,
            Err(_) => false,
        }
    }

    /// The end of what the API server had to say.
    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("kube-apiserver.err"));
        let text = text.unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(5).collect();
        lines.join("\n")
    }
}

impl Address {
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

impl Drop for ControlPlane {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
