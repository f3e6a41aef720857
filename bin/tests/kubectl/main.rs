//! kubectl against `lariat apiserver`: each call of `script.txt` prints what it printed with the real server.
//!
//! `real.txt` is what it printed there, without what differs from run to run; `differences.txt` lists what differs with ours, and
//! why. `KUBECTL` names the program, which is else looked for in `PATH`; without one of version 1.36 nothing is compared. With
//! `LARIAT_KUBECTL_RECORD=kubeconfig` of a new and empty real server `real.txt` is written instead.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)] // a test fails by panicking

mod call;
mod mask;
mod script;
mod transcript;

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use call::Kubectl;
use transcript::{Transcript, differences};

const KUBECTL: &str = "KUBECTL";
/// The version of kubectl, and of the real server, that `real.txt` is of.
const MINOR: &str = "36";
const RECORD: &str = "LARIAT_KUBECTL_RECORD";

#[test]
fn kubectl_prints_what_it_prints_with_the_real_server() {
    let program = match program() {
        Ok(program) => program,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let steps = script::parse(&read("script.txt"));
    let folder = tempfile::tempdir().unwrap();
    if let Some(kubeconfig) = env::var_os(RECORD) {
        let kubectl = Kubectl::new(program, kubeconfig.into(), folder.path().to_owned());
        for definition in definitions() {
            kubectl.must(&["apply", "--server-side", "-f", definition.to_str().unwrap()]);
        }
        kubectl.must(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
        let transcript = script::run(&kubectl, &steps);
        fs::write(here("real.txt"), transcript.to_string()).unwrap();
        return;
    }
    let kubeconfig = folder.path().join("kubeconfig");
    let _server = Running::start(&kubeconfig);
    let ours = script::run(&Kubectl::new(program, kubeconfig, folder.path().to_owned()), &steps);
    let real = Transcript::parse(&read("real.txt"));
    let found = differences(&real, &ours);
    let known = transcript::Known::parse(&read("differences.txt"));
    let problems = known.judge(&found);
    assert!(problems.is_empty(), "{} calls are not as listed:\n\n{}", problems.len(), problems.join("\n"));
}

/// A running `lariat apiserver`, stopped when it is dropped.
struct Running(Child);

impl Running {
    /// Starts a server with the definitions and waits until it serves.
    fn start(kubeconfig: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
        command.args(["apiserver", "--listen", "127.0.0.1:0", "--kubeconfig-out"]).arg(kubeconfig);
        for definition in definitions() {
            command.arg("--crd").arg(definition);
        }
        let mut child = command.env_remove("RUST_LOG").stdout(Stdio::piped()).spawn().unwrap();
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

/// The kubectl to run: the one that is named, or one of the right version in `PATH`, as others print other words.
fn program() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(KUBECTL) {
        return Ok(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs = env::split_paths(&path).map(|folder| folder.join("kubectl"));
    let program = programs
        .find(|program| program.is_file())
        .ok_or_else(|| format!("there is no kubectl in PATH, and {KUBECTL} names none"))?;
    let version = Command::new(&program).args(["version", "--client", "--output", "json"]).output();
    let version: serde_json::Value =
        version.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default();
    if version["clientVersion"]["minor"] == MINOR {
        Ok(program)
    } else {
        Err(format!("the kubectl in PATH is not of version 1.{MINOR}, and {KUBECTL} names none"))
    }
}

/// The definitions of custom resources that both servers have.
fn definitions() -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/definitions");
    ["fleets.json", "gameservers.json"].map(|name| folder.join(name))
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(here(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
