//! Whole systems in virtual time: an API server in process, simulated nodes, all control loops and players. What a seed says
//! goes wrong: requests are delayed, refused, cut and lost, watches end and begin anew, reads are behind, controllers are
//! killed and begin again, pods vanish, people scale, change and delete.
//!
//! A witness that nothing happens to watches the server meanwhile and says what must never be. In the end all is healed,
//! and the system has to become what is wanted, and then to be quiet.
//!
//! Here lives what makes and breaks such systems, and what must hold. The systems' parts live in the crates above; so do tests
//! of one part alone.
//!
//! Invariants:
//!
//! * Nothing reads the clock on the wall or the operating system's randomness, so one seed is one story.
//! * Faults are only for those who are under test: requests whose user agent begins with `controller`.

mod faults;
mod report;
mod script;
mod virtual_clock;
mod witness;
mod world;

use std::time::Duration;

use lariat::api::Randomness;

pub use crate::report::Report;
use crate::script::Script;
use crate::witness::Witness;
use crate::world::World;

/// How long things go wrong: so many steps, with a few seconds before each.
const STEPS: usize = 40;

/// How long the system may take to become what is wanted, once all is healed. An object that failed ten times is tried again within
/// minutes.
const CONVERGENCE: Duration = Duration::from_secs(1800);

/// For how long nobody may write anything after that. Six resyncs.
const QUIET: Duration = Duration::from_secs(180);

/// Runs the story of a seed, in a runtime of its own with virtual time.
///
/// It takes some tenths of a second on the wall.
///
/// # Panics
///
/// If there can be no runtime.
///
/// # Example
///
/// ```
/// let report = lariat_simulation::run(1);
/// assert!(report.violations.is_empty(), "{report}");
/// ```
#[allow(clippy::expect_used, reason = "nothing can be simulated then")]
pub fn run(seed: u64) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(story(seed))
}

async fn story(seed: u64) -> Report {
    let randomness = Randomness::seeded(seed);
    let world = World::new(randomness.below(u64::MAX)).await;
    let witness = Witness::start(world.client("witness"));
    let mut script = Script::new(world, witness.clone(), randomness);
    script.begin().await;
    for _ in 0..STEPS {
        script.step().await;
    }
    script.heal().await;
    let mut violations = Vec::new();
    match script.converge(CONVERGENCE).await {
        Err(difference) => violations.push(format!("not within {CONVERGENCE:?}: {difference}")),
        Ok(()) => violations.extend(script.stays_quiet(QUIET).await.err()),
    }
    violations.splice(0..0, witness.violations());
    script.report(seed, violations).await
}
