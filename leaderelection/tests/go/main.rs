//! A candidate in client-go and one in Lariat on one Lease. Only where the variable `LARIAT_GO` names a Go, which is 1.26 or newer and
//! fetches client-go when it is first built; else a line is printed.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // a test fails by panicking

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lariat_api::ObjectKey;
use lariat_apiserver::ApiServer;
use lariat_client::{Api, Client, Config};
use lariat_leaderelection::{ElectorConfig, Leading, Lease, LeaseLock, run_as_leader};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Longer than any candidate has to wait.
const LONG: Duration = Duration::from_secs(20);

fn build(go: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go/candidate");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-candidate");
    let built = std::process::Command::new(go)
        .args(["build", "-trimpath", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(source)
        .status()
        .expect("LARIAT_GO names a Go");
    assert!(built.success(), "the candidate in Go is not built");
    program
}

struct GoCandidate {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl GoCandidate {
    fn start(program: &Path, url: &str, identity: &str) -> Self {
        let mut process = Command::new(program)
            .args([url, identity])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it was built");
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    async fn says(&mut self, wanted: &str) {
        let found = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                println!("go: {line}");
                if line == wanted {
                    return true;
                }
            }
            false
        };
        assert!(timeout(LONG, found).await.unwrap_or_else(|_| panic!("it does not say {wanted:?}")));
    }

    async fn terminate(mut self) {
        let pid = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        self.says("stopped").await;
        self.process.wait().await.unwrap();
    }
}

struct OurCandidate {
    run: JoinHandle<Option<()>>,
    stop: oneshot::Sender<()>,
    leads: Option<oneshot::Receiver<Leading>>,
}

impl OurCandidate {
    fn start(client: &Client, identity: &str) -> Self {
        let lock = LeaseLock::new(client, "default", "lock").unwrap();
        let config = ElectorConfig {
            lease_duration: Duration::from_secs(3),
            renew_deadline: Duration::from_secs(2),
            retry_period: Duration::from_millis(500),
            ..ElectorConfig::new(identity)
        };
        let (stop, stopped) = oneshot::channel();
        let (lead, leads) = oneshot::channel();
        let mut lead = Some(lead);
        let run = tokio::spawn(async move {
            let work = |leading: Leading| {
                if let Some(lead) = lead.take() {
                    let _ = lead.send(leading.clone());
                }
                async move { leading.stopping().await }
            };
            run_as_leader(lock, config, async { drop(stopped.await) }, work).await.unwrap()
        });
        Self { run, stop, leads: Some(leads) }
    }

    async fn leads(&mut self) -> Leading {
        timeout(LONG, self.leads.take().unwrap()).await.expect("it does not lead").unwrap()
    }

    async fn shut_down(self) {
        drop(self.stop);
        self.run.await.unwrap();
    }
}

/// LE-4, LE-12 to LE-17: each takes the Lease from the other, by release and by expiry, and waits while the other holds it.
#[tokio::test]
async fn candidates_of_both_languages_take_turns() {
    let Ok(go) = std::env::var("LARIAT_GO") else {
        println!("LARIAT_GO names no Go, so nothing is run");
        return;
    };
    let program = build(&go);
    let server = ApiServer::builder().build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = server.clone();
    let serving = tokio::spawn(async move { serving.serve(listener).await });
    let client = Client::new(Config::new(url.parse().unwrap()).unwrap()).unwrap();
    let leases = Api::<Lease>::namespaced(client.clone(), "default");
    let key = ObjectKey::new("default", "lock");

    let mut first = GoCandidate::start(&program, &url, "go-1");
    first.says("leads").await;
    let mut ours = OurCandidate::start(&client, "rust-1");
    tokio::time::sleep(Duration::from_secs(4)).await; // longer than the Lease holds without renewals
    assert_eq!(leases.get(&key).await.unwrap().spec.holder(), "go-1", "it renews, and we wait");

    let begun = Instant::now();
    first.terminate().await;
    let token = ours.leads().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "it gave the Lease back: {:?}", begun.elapsed());
    assert_eq!(token.transitions(), 1);

    let mut second = GoCandidate::start(&program, &url, "go-2");
    second.says("leader rust-1").await;
    ours.shut_down().await;
    second.says("leads").await;
    assert!(token.check().is_err());

    let mut ours = OurCandidate::start(&client, "rust-2");
    second.process.kill().await.unwrap();
    let begun = Instant::now();
    let later = ours.leads().await;
    assert!(begun.elapsed() > Duration::from_secs(1), "its Lease had to end first: {:?}", begun.elapsed());
    assert!(later > token);
    let lease = leases.get(&key).await.unwrap();
    assert_eq!((lease.spec.holder(), lease.spec.transitions()), ("rust-2", 3));
    ours.shut_down().await;
    serving.abort();
}
