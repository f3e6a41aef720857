//! Which of the behaviours of client-go's work queue and controller-runtime's priority queue no test names.
//!
//! `ids.txt` has the numbers of all of them. Each is named in a file of tests, or has a reason in `ids_without_test.txt`. What is
//! missing is listed by `cargo test -p lariat-workqueue --test ids`.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const IDS: &str = include_str!("ids.txt");
const REASONS: &str = include_str!("ids_without_test.txt");

#[test]
fn each_id_is_named_by_a_test_or_has_a_reason() {
    let ids: BTreeSet<&str> = IDS.split_whitespace().collect();
    let reasons: BTreeMap<&str, &str> = REASONS.lines().filter_map(|line| line.split_once(": ")).collect();
    let named = named();
    let mut wrong = Vec::new();
    for id in &ids {
        match (named.get(*id), reasons.contains_key(id)) {
            (None, false) => wrong.push(format!("{id}: no test names it, and it has no reason")),
            (Some(file), true) => wrong.push(format!("{id}: has a reason, but {file} names it")),
            _ => {}
        }
    }
    let known = |id: &str| ids.contains(id);
    wrong.extend(
        named
            .iter()
            .filter(|(id, _)| !known(id))
            .map(|(id, file)| format!("{id}: named in {file}, but there is none")),
    );
    wrong.extend(
        reasons.keys().filter(|id| !known(id)).map(|id| format!("{id}: a reason, but there is none")),
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The ids in files of tests, each with one of them.
fn named() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = fs::read_dir(root.join("tests")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = tests.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect();
    files.push(root.join("src/interleavings.rs"));
    assert!(files.len() > 10, "the tests are not where they were");
    let mut named = BTreeMap::new();
    for file in files.iter().filter(|file| !file.ends_with("ids.rs")) {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        for id in of(&fs::read_to_string(file).unwrap()) {
            named.entry(id).or_insert_with(|| name.clone());
        }
    }
    named
}

/// What looks like one of these ids.
fn of(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_id = |word: &&str| {
        let number = word.strip_prefix("WQ-").or_else(|| word.strip_prefix("PQ-"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    words.filter(is_id).map(str::to_owned)
}

#[test]
fn ids_are_found_in_text() {
    assert!(of("// WQ-1, (PQ-22) WQ- xWQ-3 WQ-4x RF-5\n\"WQ-6: so\"").eq(["WQ-1", "PQ-22", "WQ-6"]));
}
