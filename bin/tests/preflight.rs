//! What `lariat controller` and `lariat nodes` say when the server is not as they need it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

fn lariat(arguments: &[&str], kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
    command.env_remove("RUST_LOG").env("LISTEN", "127.0.0.1:0");
    command.args(arguments).arg("--kubeconfig").arg(kubeconfig);
    command
}

/// A process, killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An API server without definitions, and its kubeconfig.
fn apiserver(folder: &Path) -> (Process, PathBuf) {
    let kubeconfig = folder.join("kubeconfig");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
    command.arg("apiserver").arg("--kubeconfig-out").arg(&kubeconfig);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("serving on "));
    (Process(child), kubeconfig)
}

/// A kubeconfig that differs from another one in a place.
fn changed(kubeconfig: &Path, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let mut config = serde_json::from_slice(&std::fs::read(kubeconfig).unwrap()).unwrap();
    change(&mut config);
    let path = kubeconfig.with_file_name(name);
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

fn check(command: &str, kubeconfig: &Path, told: &[&str]) {
    let output = lariat(&[command], kubeconfig).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    for part in told {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
}

/// It says what, where and what to do, and never the token.
#[test]
fn a_server_that_refuses_or_is_not_there_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, kubeconfig) = apiserver(folder.path());
    let stranger = changed(&kubeconfig, "stranger", |config| {
        config["users"][0]["user"]["token"] = "guessed-token".into();
    });
    let dead = changed(&kubeconfig, "dead", |config| {
        config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1".into();
    });
    for command in ["controller", "nodes"] {
        check(
            command,
            &stranger,
            &["does not take the credentials from user `lariat` in", "get new ones", "401"],
        );
        check(
            command,
            &dead,
            &["https://127.0.0.1:1/, from cluster `lariat` in", "does not answer", "refused"],
        );
    }
    let output = lariat(&["controller"], &stranger).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("guessed-token"));
}

/// Definitions may come later.
#[test]
fn missing_definitions_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, kubeconfig) = apiserver(folder.path());
    let mut controller = lariat(&["controller"], &kubeconfig);
    let mut controller = Process(controller.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(controller.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.find(|line| line.contains("the definition is missing")).unwrap();
    assert!(
        told.contains("gameservers.agones.dev") && told.contains("lariat crds | kubectl apply"),
        "{told}"
    );

    tokio::runtime::Runtime::new().unwrap().block_on(define(&kubeconfig));
    assert!(lines.any(|line| line.contains("caches have synced")));
}

async fn define(kubeconfig: &Path) {
    use lariat::api::{DynamicObject, Kind};
    use lariat::client::{Api, Client, Config, config::Overrides};

    const DEFINITIONS: Kind =
        Kind::cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
    let config = Config::from_kubeconfig_file(kubeconfig, &Overrides::default()).unwrap();
    let api = Api::<DynamicObject>::of_kind(Client::new(config).unwrap(), DEFINITIONS, "");
    for definition in lariat_controllers::definitions::all() {
        api.create(&serde_json::from_value(definition).unwrap()).await.unwrap();
    }
}
