//! Which of client-go's behaviours no test names.
//!
//! `ids.txt` has the numbers of all that concern informers, stores and listers. Each is named in a comment right before a
//! test of the crates that make them, or has a reason in `ids_without_test.txt`. What is missing is listed by
//! `cargo test -p lariat-reflector --test ids`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const IDS: &str = include_str!("ids.txt");
const REASONS: &str = include_str!("ids_without_test.txt");

/// The crates whose tests count.
const CRATES: [&str; 5] = ["api", "client", "reflector", "runtime", "store"];

/// The reason of what is tested elsewhere before long: such an id may be named as well.
const FACTORY: &str = "factory";

#[test]
fn each_id_is_named_by_a_test_or_has_a_reason() {
    let ids: BTreeSet<&str> = IDS.split_whitespace().collect();
    let reasons: BTreeMap<&str, &str> = REASONS
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.split_once(": ").expect(line))
        .collect();
    let named = named();

    let mut wrong = Vec::new();
    for id in &ids {
        match (named.contains_key(*id), reasons.get(id)) {
            (false, None) => wrong.push(format!("{id}: no test names it, and it has no reason")),
            (true, Some(reason)) if *reason != FACTORY => {
                wrong.push(format!(
                    "{id}: has a reason to be without a test, but {} names it",
                    named[*id].display()
                ));
            }
            _ => {}
        }
    }
    let kinds: BTreeSet<&str> = ids.iter().filter_map(|id| Some(id.split_once('-')?.0)).collect();
    for (id, file) in &named {
        let kind = id.split_once('-').unwrap().0;
        if kinds.contains(kind) && !ids.contains(id.as_str()) {
            wrong.push(format!("{id}: named in {}, but there is none", file.display()));
        }
    }
    wrong.extend(
        reasons.keys().filter(|id| !ids.contains(*id)).map(|id| format!("{id}: a reason, but there is none")),
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The ids in comments before tests, each with a file that has it.
fn named() -> BTreeMap<String, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        collect(&root.join(name), &mut files);
    }
    assert!(files.len() > 50, "the sources are not where they were");
    let mut named = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for id in of_tests(&text) {
            named.entry(id).or_insert_with(|| file.strip_prefix(root).unwrap().to_owned());
        }
    }
    named
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The ids in the comments that stand right before a test.
fn of_tests(text: &str) -> Vec<String> {
    let (mut ids, mut before) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("//") {
            before.extend(of_line(line));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            ids.append(&mut before);
        } else if !line.starts_with("#[") {
            before.clear();
        }
    }
    ids
}

fn of_line(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_id = |word: &&str| {
        word.split_once('-').is_some_and(|(kind, number)| {
            !kind.is_empty()
                && kind.bytes().all(|byte| byte.is_ascii_uppercase())
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    words.filter(is_id).map(str::to_owned)
}

#[test]
fn ids_count_only_before_a_test() {
    let text = "/// QQ-1, QQ-2: so.\n#[allow(x)]\n#[tokio::test(start_paused = true)]\nasync fn a() {}\n\n/// QQ-3\nfn b() {}\n\
                // QQ-4\n\n#[test]\nfn c() { /* QQ-5 */ }\n    // (QQ-6), QQ-7x\n    #[test]\n";
    assert_eq!(of_tests(text), ["QQ-1", "QQ-2", "QQ-6"]);
}
