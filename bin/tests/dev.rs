//! `lariat dev`, as a user runs it, with kubectl if `KUBECTL` names one.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lariat::client::config::Overrides;
use lariat::client::{Api, Client, Config};
use lariat_controllers::types::{Fleet, GameServerAllocation};
use serde_json::json;

/// A running cluster, stopped when it is dropped.
struct Running(Child);

impl Running {
    /// Starts one and waits until it serves.
    fn start(kubeconfig: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
        command.args(["dev", "--nodes", "2", "--kubeconfig-out"]).arg(kubeconfig).env_remove("RUST_LOG");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("serving on https://127.0.0.1:"));
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn servers_are_allocated_by_whoever_asks() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let _cluster = Running::start(&kubeconfig);
    let client =
        Client::new(Config::from_kubeconfig_file(&kubeconfig, &Overrides::default()).unwrap()).unwrap();
    let fleet: Fleet = serde_json::from_value(json!({
        "metadata": {"name": "simple", "namespace": "default"},
        "spec": {"replicas": 2, "template": {"spec": {
            "ports": [{"name": "default", "containerPort": 7654}],
            "template": {"spec": {"containers": [{"name": "game", "image": "g"}]}},
        }}},
    }))
    .unwrap();
    Api::<Fleet>::namespaced(client.clone(), "default").create(&fleet).await.unwrap();
    let asked: GameServerAllocation =
        serde_json::from_value(json!({"metadata": {"namespace": "default"}})).unwrap();
    let allocations = Api::<GameServerAllocation>::namespaced(client, "default");
    // An answer takes half a second, and the servers not much longer.
    let mut given = None;
    for _ in 0..100 {
        let answer = allocations.create(&asked).await.unwrap();
        if answer.status.state == "Allocated" {
            given = Some(answer.status);
            break;
        }
    }
    let given = given.expect("there is a server after so many tries");
    assert!(given.game_server_name.starts_with("simple-") && given.ports[0].port > 0);

    let Some(kubectl) = std::env::var_os("KUBECTL") else {
        println!("without kubectl: KUBECTL names none");
        return;
    };
    let manifest = folder.path().join("gsa.yaml");
    fs::write(&manifest, "apiVersion: allocation.agones.dev/v1\nkind: GameServerAllocation\n").unwrap();
    let mut create = Command::new(kubectl);
    create.args(["create", "-o", "jsonpath={.status.state}", "-f"]).arg(&manifest);
    create.env("KUBECONFIG", &kubeconfig).env("HOME", folder.path());
    let printed = create.output().unwrap();
    let said = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.status.success() && matches!(&*said, "Allocated" | "UnAllocated"), "{printed:?}");
}
