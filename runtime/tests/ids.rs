//! Which behaviours of Lasso and controller-runtime no test names.
//!
//! `ids.txt` has the numbers of all. Each is named in a comment right before a test of this crate, or has a reason in
//! `ids_without_test.txt`. What is missing is listed by `cargo test -p lariat --test ids`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const IDS: &str = include_str!("ids.txt");
const REASONS: &str = include_str!("ids_without_test.txt");

#[test]
fn each_id_is_named_by_a_test_or_has_a_reason() {
    let ids: BTreeSet<&str> = IDS.split_whitespace().collect();
    let reasons: BTreeMap<&str, &str> = REASONS.lines().filter_map(|line| line.split_once(": ")).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    for folder in ["tests", "src"] {
        collect(&root.join(folder), &mut named);
    }
    let mut wrong = Vec::new();
    for id in &ids {
        match (named.contains(*id), reasons.contains_key(id)) {
            (false, false) => wrong.push(format!("{id}: no test names it, and it has no reason")),
            (true, true) => wrong.push(format!("{id}: has a reason to be without a test, but there is one")),
            _ => {}
        }
    }
    let known = |id: &str| ids.contains(id) || !(id.starts_with("LA-") || id.starts_with("CR-"));
    wrong.extend(named.iter().filter(|id| !known(id)).map(|id| format!("{id}: named, but there is none")));
    wrong.extend(
        reasons.keys().filter(|id| !ids.contains(*id)).map(|id| format!("{id}: a reason, but there is none")),
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The ids in the comments that stand right before the tests of a folder.
fn collect(folder: &Path, named: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, named);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut before = Vec::new();
            for line in text.lines().map(str::trim_start) {
                if line.starts_with("///") {
                    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                    before.extend(words.filter(|word| is_id(word)).map(str::to_owned));
                } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    named.extend(before.drain(..));
                } else if !line.starts_with("#[") {
                    before.clear();
                }
            }
        }
    }
}

fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(kind, number)| {
        !kind.is_empty()
            && kind.bytes().all(|byte| byte.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
