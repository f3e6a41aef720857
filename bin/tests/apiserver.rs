//! `lariat apiserver`, as a user runs it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lariat::api::{DynamicObject, Kind, ObjectKey};
use lariat::client::config::Overrides;
use lariat::client::{Api, Client, Config};

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.dev
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
";

fn lariat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
    command.arg("apiserver").env_remove("RUST_LOG");
    command
}

/// A running server, stopped when it is dropped.
struct Running(Child);

impl Running {
    /// Starts a server and waits until it serves.
    fn start(kubeconfig: &Path, definitions: &Path) -> Self {
        let mut command = lariat();
        command.arg("--kubeconfig-out").arg(kubeconfig).arg("--crd").arg(definitions);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("serving on https://127.0.0.1:"));
        assert_eq!(lines.next().unwrap().unwrap(), format!("export KUBECONFIG={}", kubeconfig.display()));
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn config(kubeconfig: &Path) -> Config {
    Config::from_kubeconfig_file(kubeconfig, &Overrides::default()).unwrap()
}

fn in_folder(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, content).unwrap();
    (folder, file)
}

#[tokio::test]
async fn clients_with_its_kubeconfig_find_what_was_defined() {
    let (folder, _) = in_folder("widgets.yaml", DEFINITION);
    let kubeconfig = folder.path().join("kubeconfig");
    let _server = Running::start(&kubeconfig, folder.path());
    assert_eq!(fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777, 0o600);

    let client = Client::new(config(&kubeconfig)).unwrap();
    let namespaces: Api<DynamicObject> =
        Api::of_kind(client.clone(), Kind::cluster("", "v1", "Namespace", "namespaces"), "");
    namespaces.get(&ObjectKey::new("", "default")).await.unwrap();
    let widgets: Api<DynamicObject> =
        Api::of_kind(client, Kind::namespaced("example.dev", "v1", "Widget", "widgets"), "default");
    let widget =
        serde_json::json!({"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}});
    widgets.create(&serde_json::from_value(widget).unwrap()).await.unwrap();

    // Who lacks the token is told nothing.
    let mut other: serde_json::Value = serde_json::from_slice(&fs::read(&kubeconfig).unwrap()).unwrap();
    other["users"][0]["user"]["token"] = "guessed".into();
    let stranger = folder.path().join("stranger");
    fs::write(&stranger, other.to_string()).unwrap();
    let namespaces: Api<DynamicObject> = Api::of_kind(
        Client::new(config(&stranger)).unwrap(),
        Kind::cluster("", "v1", "Namespace", "namespaces"),
        "",
    );
    let refused = namespaces.get(&ObjectKey::new("", "default")).await.unwrap_err();
    assert!(refused.to_string().contains("401"), "{refused}");
}

#[test]
fn a_kubeconfig_of_somebody_else_stays() {
    let (_folder, file) = in_folder("config", "apiVersion: v1\nkind: Config\ncurrent-context: production\n");
    let output = lariat().arg("--kubeconfig-out").arg(&file).output().unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("is not from an earlier run and stays; name another --kubeconfig-out"), "{told}");
    assert!(fs::read_to_string(&file).unwrap().contains("production"));
}

#[test]
fn what_is_no_definition_is_refused_with_its_place() {
    let cases = [
        (
            "---\napiVersion: v1\nkind: ConfigMap\n",
            "document 1: is ConfigMap, but only a CustomResourceDefinition",
        ),
        ("kind: [", "definitions.yaml, document 1"),
        (&*DEFINITION.replace("scope: Namespaced", "scope: Wide"), "document 1: CustomResourceDefinition"),
    ];
    for (content, told) in cases {
        let (folder, file) = in_folder("definitions.yaml", content);
        let kubeconfig = folder.path().join("kubeconfig");
        let output =
            lariat().arg("--crd").arg(&file).arg("--kubeconfig-out").arg(&kubeconfig).output().unwrap();
        assert!(!output.status.success(), "{content}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(told), "{error}");
        assert!(!kubeconfig.exists());
    }
}
