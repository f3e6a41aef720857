//! The requests of the recordings, sent to this server at the recorded moments of virtual time, and what both servers
//! answered, compared.
//!
//! What a server makes up itself (uids, resourceVersions, generated names, continue tokens) is translated one to one, so that
//! two versions that were equal have to be equal here too; times are only checked to be times.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests say what they found")]

mod compare;
mod differences;
mod replay;

use std::collections::BTreeSet;

use compare::Difference;
use differences::DIFFERENCES;
use lariat_fixtures::{Recording, recording_path};

/// Compares a recording that began at this time of day, in milliseconds since 1970.
async fn check(name: &'static str, began: u64) {
    let recording = Recording::open(recording_path(name)).unwrap();
    let exchanges = recording.exchanges.len();
    let found = replay::replay(&recording, began).await;
    let mut unexpected = Vec::new();
    let mut seen = BTreeSet::new();
    for Difference { exchange, name: exchange_name, what } in &found {
        let known = DIFFERENCES.iter().find(|known| (known.recording, known.exchange) == (name, *exchange));
        let parts = known.map_or(&[][..], |known| known.parts);
        let unknown: Vec<&str> = what
            .iter()
            .map(String::as_str)
            .filter(|line| !parts.iter().any(|part| line.starts_with(part)))
            .collect();
        if known.is_some() {
            seen.insert(*exchange);
        }
        if !unknown.is_empty() {
            unexpected.push(format!("{exchange} {exchange_name}:\n  {}", unknown.join("\n  ")));
        }
    }
    let gone: Vec<_> = DIFFERENCES
        .iter()
        .filter(|known| known.recording == name && !seen.contains(&known.exchange))
        .map(|known| known.exchange)
        .collect();
    println!("{name}: {exchanges} exchanges, {} differ as listed", seen.len());
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
    assert!(gone.is_empty(), "listed, but no longer different: {gone:?}");
}

#[tokio::test(start_paused = true)]
async fn protocol() {
    check("api-protocol", 1_795_952_459_550).await;
}

#[tokio::test(start_paused = true)]
async fn objects() {
    check("api-objects", 1_795_955_002_235).await;
}

#[tokio::test(start_paused = true)]
async fn expiry() {
    check("api-expiry-and-restart", 1_795_952_494_500).await;
}
