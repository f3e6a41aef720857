//! What `lariat controller` says to flags and variables, as a user calls it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::process::Command;

/// What it says, with no kubeconfig to be found, and only these variables set.
fn check(arguments: &[&str], variables: &[(&str, &str)], told: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
    command.env_clear().env("HOME", folder.path()).arg("controller").args(arguments);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains(told), "{arguments:?} {variables:?}: {said}");
}

const NO_CLUSTER: &str = "no kubeconfig (no cluster is chosen by";

/// Charts set all variables, some to nothing.
#[test]
fn an_empty_variable_is_one_that_is_not_set() {
    let empty = [("NUM_WORKERS", ""), ("MIN_PORT", ""), ("LEADER_ELECTION", ""), ("SIDECAR_CPU_LIMIT", "")];
    check(&[], &empty, NO_CLUSTER);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    check(&[], &[("NUM_WORKERS", "x")], "--num-workers <NUMBER> (environment variable NUM_WORKERS)");
    check(
        &["--num-workers", "y"],
        &[("NUM_WORKERS", "x")],
        "'y' for '--num-workers <NUMBER>': want a number",
    );
    check(&[], &[("FEATURE_GATES", "Foo=true")], "no feature gate \"Foo\"");
    check(&["--min-port", "9000"], &[], "port range \"default\": 9000 to 8000");
}

/// What is the same in error and cause is said once.
#[test]
fn a_cause_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lariat"))
        .env_clear()
        .env("HOME", folder.path())
        .arg("controller")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("KUBERNETES_SERVICE_HOST is not set").count(), 1, "{said}");
}

/// Flags without an effect are taken, and the log says so.
#[test]
fn flags_without_an_effect_are_named() {
    check(
        &["--api-server-qps=400", "--log-dir=/logs"],
        &[("ALLOCATION_BATCH_WAIT_TIME", "500ms")],
        "flags=\"--api-server-qps --allocation-batch-wait-time --log-dir\"",
    );
}
