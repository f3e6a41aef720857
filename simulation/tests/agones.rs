//! Fleets under all loops, with faults, kills and restarts: nobody loses a server, no port is given twice, and in the end there is
//! what is wanted.
//!
//! `LARIAT_SEED=n` tells the story of one seed, `LARIAT_SEEDS=n` runs so many.

#![allow(clippy::expect_used, clippy::print_stdout)] // a test speaks and fails by panicking

use std::collections::BTreeMap;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn whatever_happens_all_becomes_as_it_is_wanted() {
    if let Some(seed) = number("LARIAT_SEED") {
        let report = lariat_simulation::run(seed);
        println!("{report}");
        assert!(report.violations.is_empty());
        return;
    }
    let seeds = number("LARIAT_SEEDS").unwrap_or(24);
    let mut faults = BTreeMap::<String, usize>::new();
    let (mut allocated, mut failed) = (0, Vec::new());
    for seed in 0..seeds {
        let report = lariat_simulation::run(seed);
        allocated += report.allocated;
        for (name, count) in &report.faults {
            *faults.entry(name.clone()).or_default() += count;
        }
        if !report.violations.is_empty() {
            println!("{report}");
            failed.push(seed);
        }
    }
    println!("{seeds} seeds, {allocated} allocations, faults that struck: {faults:?}");
    assert!(failed.is_empty(), "seeds {failed:?}");
    assert!(faults.len() >= 12 && faults.values().all(|count| *count > 0), "{faults:?}");
    assert!(allocated > 0);
}

/// One seed is one story, to the last request.
#[test]
fn a_seed_is_a_story() {
    assert_eq!(lariat_simulation::run(3), lariat_simulation::run(3));
}
