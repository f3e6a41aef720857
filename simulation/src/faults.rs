//! What goes wrong between the loops and the server.

use std::time::Duration;

use lariat::api::Randomness;
use lariat_apiserver::{Asking, Fault, FaultPlan, Rule, Staleness};

/// Some faults for all who are under test, and their names.
pub(crate) fn random(randomness: &Randomness) -> (FaultPlan, Vec<&'static str>) {
    let kinds = 1 + randomness.below(3);
    let rules: Vec<(&'static str, Rule)> = (0..kinds).map(|_| rule(randomness)).collect();
    let names = rules.iter().map(|(name, _)| *name).collect();
    let plan = FaultPlan::seeded(randomness.below(u64::MAX));
    (rules.into_iter().fold(plan, |plan, (_, rule)| plan.rule(rule.user_agent("controller"))), names)
}

fn rule(randomness: &Randomness) -> (&'static str, Rule) {
    let bytes = randomness.below(4_000) as usize;
    let (name, fault, probability) = match randomness.below(12) {
        0 => {
            let delay = Fault::delay_between(Duration::from_millis(1), Duration::from_secs(3));
            ("delays", delay, 0.3)
        }
        1 => ("resets", Fault::reset(), 0.2),
        2 => ("500", Fault::answer(500, "InternalError", None), 0.3),
        3 => ("429", Fault::answer(429, "TooManyRequests", Some(1)), 0.3),
        4 => ("503", Fault::answer(503, "ServiceUnavailable", None), 0.5),
        5 => ("lost answers", Fault::lose_response(), 0.3),
        6 => return ("cut watches", often(Fault::cut(bytes), 0.3).verb("watch")),
        7 => return ("cut lists", often(Fault::cut(bytes), 0.3).verb("list")),
        8 => ("duplicates", Fault::duplicate_randomly(0.3), 1.0),
        9 => ("stale reads", Fault::stale(Staleness::behind(randomness.below(40))), 1.0),
        10 => {
            let reads = |asking: &Asking<'_>| matches!(asking.verb(), "get" | "list" | "watch");
            return ("black holes", often(Fault::black_hole(), 0.1).on(reads));
        }
        _ => ("no bookmarks", Fault::drop_bookmarks(), 1.0),
    };
    (name, often(fault, probability))
}

fn often(fault: Fault, probability: f64) -> Rule {
    Rule::new(fault).probability(probability)
}
