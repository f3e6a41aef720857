//! `lariat replay`, as a user runs it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use lariat_fixtures::recording_path;
use serde_json::{Value, json};

fn lariat(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lariat")).args(args).env_remove("RUST_LOG").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn autoscale() -> String {
    recording_path("agones-buffer-autoscale").to_str().unwrap().to_owned()
}

/// A file of this test alone, gone when it is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-{}-{name}.jsonl", std::process::id()));
        fs::write(&path, content).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn replay_prints_what_the_handlers_saw_and_what_was_decided() {
    let output = lariat(&["replay", &autoscale()]);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
    let table = text(&output.stdout);
    let row = |name: &str| {
        let line = table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().skip(1).take(4).map(|cell| cell.parse().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(row("gameservers.agones.dev"), [15, 105, 15, 0]);
    assert_eq!(row("gameserversets.agones.dev"), [2, 50, 2, 0]);
    assert_eq!(row("fleets.agones.dev"), [1, 22, 1, 0]);
    assert_eq!(row("fleetautoscalers.autoscaling.agones.dev"), [1, 8, 1, 0]);
    assert_eq!(row("pods"), [15, 60, 15, 0]);
    assert_eq!(row("nodes"), [20, 0, 0, 20]);
    assert!(table.lines().all(|line| line.len() <= 80 && line == line.trim_end()), "{table}");
}

#[test]
fn replay_prints_the_same_as_json() {
    let output = lariat(&["replay", &autoscale(), "--output", "json"]);
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["recording"], autoscale());
    let servers = &report["resources"]["gameservers.agones.dev"];
    assert_eq!(
        (&servers["added"], &servers["updated"], &servers["deleted"]),
        (&15.into(), &105.into(), &15.into())
    );
    assert_eq!((&servers["objects"], &servers["resourceVersion"]), (&json!({}), &json!("18394")));
    let nodes = report["resources"]["nodes"]["objects"].as_object().unwrap();
    assert_eq!(nodes.len(), 20);
    assert!(nodes.values().all(|version| version.as_str().unwrap().parse::<u64>().is_ok()), "{nodes:?}");
    let decision = |allocated, current, desired| {
        json!({"fleet": "default/simple-game-server", "allocated": allocated, "current": current,
            "desired": desired, "limited": false})
    };
    assert_eq!(
        report["decisions"],
        json!([
            decision(0, 3, 3),
            decision(2, 3, 5),
            decision(3, 5, 6),
            decision(3, 6, 6),
            decision(6, 6, 9),
            decision(6, 9, 9),
            decision(3, 9, 6),
            decision(3, 6, 6),
        ])
    );
}

#[test]
fn replay_twice_is_the_same_to_the_byte() {
    for name in ["agones-buffer-autoscale", "api-protocol", "api-objects", "api-expiry-and-restart"] {
        let path = recording_path(name);
        let args = ["replay", path.to_str().unwrap(), "--output", "json"];
        let (first, second) = (lariat(&args), lariat(&args));
        assert!(first.status.success(), "{name}: {}", text(&first.stderr));
        assert_eq!(text(&first.stdout), text(&second.stdout), "{name}");
    }
}

#[test]
fn replay_of_what_is_no_recording_is_one_clear_line() {
    let error = |path: &str| {
        let output = lariat(&["replay", path]);
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert_eq!(text(&output.stdout), "", "{path}");
        let error = text(&output.stderr).to_owned();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    let missing = error("no/such/file.jsonl");
    assert!(missing.starts_with("lariat: cannot read recording no/such/file.jsonl: "), "{missing}");

    let bytes = fs::read(recording_path("api-protocol")).unwrap();
    let third_line = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    let cut = Temporary::new("cut", &bytes[..third_line + 200]);
    let cut_off = error(cut.path());
    assert!(
        cut_off.contains(&format!("{}, line 3, column 200: not an exchange: EOF", cut.path())),
        "{cut_off}"
    );

    let garbled = [&bytes[..third_line], b"{\"name\": 7}\n"].concat();
    let wrong = error(Temporary::new("wrong", &garbled).path());
    assert!(wrong.contains("line 3, column 10: not an exchange: invalid type: integer `7`"), "{wrong}");

    let empty = Temporary::new("empty", b"\n \n");
    assert_eq!(error(empty.path()), format!("lariat: recording {} is empty\n", empty.path()));

    let line = "{\"name\":\"x\",\"t\":0,\"request\":{\"method\":\"GET\",\"target\":\"/version\"},\"status\":200,\"end\":\"eof\"}";
    let nothing = error(Temporary::new("nothing", line.as_bytes()).path());
    assert!(nothing.contains("holds no list to begin from"), "{nothing}");

    let binary = error(Temporary::new("binary", b"\xff\xfe\n").path());
    assert!(binary.contains("line 1"), "{binary}");
}

/// A reader that has seen enough is not an error.
#[test]
fn replay_into_a_closed_pipe_is_quiet() {
    let script =
        format!("{} replay {} | true; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_lariat"), autoscale());
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("0\n", ""));
}

#[test]
fn a_kubeconfig_that_is_not_there_is_one_clear_line() {
    let output = lariat(&["controller", "--kubeconfig", "no/such/kubeconfig"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.starts_with("lariat: cannot read the kubeconfig no/such/kubeconfig: "), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
