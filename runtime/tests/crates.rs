//! How many crates an operator takes on.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeSet;
use std::process::Command;

/// With the default features. Every one of them is code that somebody has to trust and to compile.
const MOST: usize = 120;

#[test]
fn there_are_few_crates() {
    let cargo = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", "lariat", "-e", "normal", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let text = String::from_utf8(cargo.stdout).unwrap();
    let crates: BTreeSet<&str> = text.lines().filter_map(|line| line.split(" (").next()).collect();
    assert!(crates.len() > 50 && crates.len() < MOST, "{} crates: {crates:?}", crates.len());
    assert!(!crates.iter().any(|name| name.starts_with("lariat-apiserver")));
}
