//! Random histories of a collection on a server that goes wrong, and what an informer makes of them.
//!
//! Whatever happened, once the server is well again the cache is equal to it, and what each handler was told is one story of
//! each object. `LARIAT_HISTORIES=2000` runs so many, `LARIAT_SEED=7` other ones; a failure is shrunk and shown as the history
//! that leads to it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod history;
mod story;
mod world;

use std::cell::RefCell;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use world::{Tally, World};

/// RF-9, RF-24, RF-33, Q-1, Q-20, Q-22, SI-1, SI-2, SI-5, SI-7, SI-9, SI-13, SI-17.
#[test]
fn after_any_history_cache_and_handlers_agree_with_the_server() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number is wanted"))
    };
    let config = Config {
        cases: u32::try_from(number("LARIAT_HISTORIES", 600)).unwrap(),
        failure_persistence: None,
        max_shrink_iters: 500,
        ..Config::default()
    };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("LARIAT_SEED", 1).to_le_bytes());
    let randomness = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let tallies = RefCell::new(Vec::new());
    let outcome = TestRunner::new_with_rng(config, randomness).run(&history::any(), |history| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let tally = runtime.block_on(World::run(&history)).map_err(TestCaseError::fail)?;
        tallies.borrow_mut().push(tally);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let tallies = tallies.into_inner();
    let with = |count: fn(&Tally) -> u64| tallies.iter().filter(|tally| count(tally) > 0).count();
    let (relists, tombstones) = (with(|tally| tally.relists), with(|tally| tally.tombstones));
    let (coalesced, struck) = (with(|tally| tally.coalesced), with(|tally| tally.struck));
    let least = tallies.len() / 25;
    assert!(
        relists > 5 * least && tombstones > 4 * least && coalesced > least / 4 && struck > 3 * least,
        "histories are too quiet: of {} {relists} have a relist, {tombstones} tombstones, {coalesced} changes that were \
         folded together, {struck} faults",
        tallies.len()
    );
}
