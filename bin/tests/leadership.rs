//! `lariat controller --leader-election`, as two processes run it against one `lariat apiserver`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat::api::{DynamicObject, Kind, WatchEvent};
use lariat::client::config::Overrides;
use lariat::client::{Api, Client, Config, WatchParams};
use lariat::leaderelection::Lease;
use serde_json::json;
use tokio::time::{Instant, timeout};

const FLEETS: Kind = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");

fn lariat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
    command.env_remove("RUST_LOG");
    command
}

/// A process, killed when it is dropped.
struct Process(Child);

impl Process {
    fn controller(kubeconfig: &Path) -> Self {
        let mut command = lariat();
        command.args(["controller", "--leader-election", "--listen", "127.0.0.1:0"]);
        command.args(["--pod-namespace", "default", "--kubeconfig"]);
        Self(command.arg(kubeconfig).stderr(Stdio::null()).spawn().unwrap())
    }

    /// An API server, and the requests that it has logged so far.
    fn apiserver(kubeconfig: &Path, definitions: &Path) -> (Self, Arc<Mutex<Vec<String>>>) {
        let mut command = lariat();
        command.arg("apiserver").arg("--kubeconfig-out").arg(kubeconfig).arg("--crd").arg(definitions);
        command.env("RUST_LOG", "lariat_apiserver=debug").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (log, lines) = (BufReader::new(child.stderr.take().unwrap()).lines(), requests.clone());
        std::thread::spawn(move || {
            for line in log.map_while(Result::ok).filter(|line| line.contains("request method=")) {
                lines.lock().unwrap().push(line);
            }
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("serving on "));
        lines.next();
        (Self(child), requests)
    }

    fn terminate(&self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the Lease has a holder other than this one, and says which.
async fn holder_after(client: &Client, old: &str) -> String {
    let leases = Api::<Lease>::namespaced(client.clone(), "default");
    let mut watch = leases.watch(&WatchParams::default()).await.unwrap();
    let found = async {
        loop {
            if let Some(WatchEvent::Added(lease) | WatchEvent::Modified(lease)) = watch.next().await.unwrap()
            {
                let holder = lease.spec.holder();
                if !holder.is_empty() && holder != old {
                    return holder.to_owned();
                }
            }
        }
    };
    timeout(Duration::from_secs(60), found).await.expect("nobody takes over")
}

fn fleet(name: &str, replicas: u32) -> DynamicObject {
    let template = json!({"spec": {"ports": [{"name": "default", "containerPort": 7654}],
        "template": {"spec": {"containers": [{"name": "server", "image": "example.com/server:1"}]}}}});
    let fleet = json!({"apiVersion": "agones.dev/v1", "kind": "Fleet", "metadata": {"name": name},
        "spec": {"replicas": replicas, "template": template}});
    serde_json::from_value(fleet).unwrap()
}

/// LE-17, LE-18, issues 1950, 1296 and 2797: several controllers run and one works. A leader that is killed is followed within 20 s, one
/// that is told to end within 3 s, and writes nothing after it has given the Lease back but the Event that says so.
#[tokio::test]
async fn leaders_hand_over() {
    let folder = tempfile::tempdir().unwrap();
    let (kubeconfig, definitions) = (folder.path().join("kubeconfig"), folder.path().join("crds.yaml"));
    std::fs::write(&definitions, lariat().arg("crds").output().unwrap().stdout).unwrap();
    let (_server, requests) = Process::apiserver(&kubeconfig, &definitions);
    let config = Config::from_kubeconfig_file(&kubeconfig, &Overrides::default()).unwrap();
    let client = Client::new(config).unwrap();
    // One that was given back, for a Lease that is missing might be held.
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": "agones-controller-lock", "namespace": "default"},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0},
    }))
    .unwrap();
    Api::<Lease>::namespaced(client.clone(), "default").create(&lease).await.unwrap();

    let first = Process::controller(&kubeconfig);
    let one = holder_after(&client, "").await;
    let second = Process::controller(&kubeconfig);
    let fleets = Api::<DynamicObject>::of_kind(client.clone(), FLEETS, "default");
    fleets.create(&fleet("a", 20)).await.unwrap();

    let killed = Instant::now();
    drop(first);
    let two = holder_after(&client, &one).await;
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?} after a kill", killed.elapsed());

    let _third = Process::controller(&kubeconfig);
    fleets.create(&fleet("b", 100)).await.unwrap();
    let told = Instant::now();
    second.terminate();
    let three = holder_after(&client, &two).await;
    assert!(told.elapsed() < Duration::from_secs(3), "{:?} after SIGTERM", told.elapsed());
    assert!(three != one && three != two);

    let requests = requests.lock().unwrap().clone();
    let writes: Vec<&String> =
        requests.iter().filter(|line| line.contains(&two) && !line.contains("method=GET")).collect();
    let is_lease =
        |line: &&String| line.contains("method=PUT") && line.contains("leases/agones-controller-lock");
    let last = writes.iter().rposition(is_lease).expect("it renewed its Lease");
    // That it leads no more is told when it does not.
    let after = &writes[last + 1..];
    assert!(after.len() <= 1 && after.iter().all(|line| line.contains("/default/events")), "{after:?}");
    assert!(writes.len() > 3, "{writes:?}");
}
