//! The requests of the recordings, sent to this server at the recorded moments of virtual time, and what both servers
//! answered, compared. If `KUBEBUILDER_ASSETS` names a folder with etcd, kube-apiserver and kube-controller-manager, they are
//! sent to those too, in real time.
//!
//! What a server makes up itself (uids, resourceVersions, generated names, continue tokens) is translated one to one, so that
//! two versions that were equal have to be equal here too; times are only checked to be times.

#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout, reason = "tests say what they found")]

mod compare;
mod differences;
mod plane;
mod replay;
mod target;

use std::collections::BTreeSet;

use compare::Difference;
use differences::{DIFFERENCES, On};
use lariat_fixtures::{ControlPlane, Recording, recording_path};
use target::Target;
use tokio::sync::Mutex;

/// Compares what a server answers to a recording's requests with what was recorded.
async fn check(name: &'static str, target: Target) {
    let recording = Recording::open(recording_path(name)).unwrap();
    let exchanges = recording.exchanges.len();
    let on = if target.is_real() { On::Real } else { On::Embedded };
    let (found, latest) = replay::replay(&recording, target).await;
    let listed = || DIFFERENCES.iter().filter(|known| known.recording == name && known.is_on(on));
    let mut unexpected = Vec::new();
    let mut seen = BTreeSet::new();
    for Difference { exchange, name: exchange_name, what } in &found {
        let known = listed().filter(|known| known.exchange == *exchange);
        let parts: Vec<_> = known.flat_map(|known| known.parts).collect();
        let unknown: Vec<&str> = what
            .iter()
            .map(String::as_str)
            .filter(|line| !parts.iter().any(|part| line.starts_with(**part)))
            .collect();
        seen.insert(*exchange);
        if !unknown.is_empty() {
            unexpected.push(format!("{exchange} {exchange_name}:\n  {}", unknown.join("\n  ")));
        }
    }
    let gone: Vec<_> = listed()
        .filter(|known| !known.is_by_chance() && !seen.contains(&known.exchange))
        .map(|known| known.exchange)
        .collect();
    println!("{name}: {exchanges} exchanges, {} differ as listed", seen.len());
    let count = unexpected.len();
    assert!(count == 0, "{count} unexpected, requests up to {latest:?} late:\n{}", unexpected.join("\n"));
    assert!(gone.is_empty(), "listed, but no longer different: {gone:?}");
}

/// The same on a real control plane, if there is one.
async fn check_real(name: &'static str) {
    // One after the other, so that each has the machine for itself.
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let Some(assets) = ControlPlane::assets() else {
        return println!("{name}: not sent to a real API server, as KUBEBUILDER_ASSETS is not set");
    };
    check(name, Target::Real(Box::new(ControlPlane::start(assets, replay::TOKEN).await))).await;
}

#[tokio::test(start_paused = true)]
async fn protocol() {
    check("api-protocol", replay::embedded(1_795_952_459_550)).await;
}

#[tokio::test(start_paused = true)]
async fn objects() {
    check("api-objects", replay::embedded(1_795_955_002_235)).await;
}

#[tokio::test(start_paused = true)]
async fn expiry() {
    check("api-expiry-and-restart", replay::embedded(1_795_952_494_500)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protocol_on_a_real_server() {
    check_real("api-protocol").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_on_a_real_server() {
    check_real("api-objects").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expiry_on_a_real_server() {
    check_real("api-expiry-and-restart").await;
}
