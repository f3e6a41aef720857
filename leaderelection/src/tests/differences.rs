use lariat_fixtures::vectors::Difference;

/// Where we answer otherwise than client-go, on purpose.
pub(super) const DIFFERENCES: &[Difference] = &[
    config("001"),
    config("018"),
    not_ours("steps-002"),
    not_ours("steps-008"),
    not_ours("steps-012"),
    not_ours("steps-020"),
    not_ours("steps-021"),
    not_ours("steps-022"),
    not_ours("steps-032"),
    not_ours("steps-034"),
    not_ours("steps-059"),
    not_ours("steps-062"),
    acquired("steps-005"),
    acquired("steps-006"),
    acquired("steps-044"),
    acquired("steps-055"),
    acquired("steps-057"),
    acquired("steps-061"),
    acquired("steps-063"),
    acquired("steps-065"),
    acquired("steps-067"),
    acquired("steps-077"),
    within_a_second(STEPS, "steps-013"),
    within_a_second(STEPS, "steps-018"),
    within_a_second(STEPS, "steps-023"),
    within_a_second(STEPS, "steps-025"),
    within_a_second(STEPS, "steps-037"),
    within_a_second(CRAFTED, "sub-second-renewals-are-invisible-to-candidate"),
    deadline("run-000"),
    deadline("run-005"),
    deadline("run-007"),
    deadline("run-008"),
    deadline("run-009"),
    deadline("run-011"),
    deadline("run-017"),
    deadline("run-021"),
    deadline("run-022"),
    deadline("run-025"),
    deadline("run-026"),
    deadline("run-027"),
    deadline("run-029"),
    deadline("run-030"),
    deadline("run-032"),
    deadline("run-033"),
    deadline("run-034"),
    taken("run-013"),
    taken("run-023"),
];

const STEPS: &str = "client-go/leaderelection-steps";
const CRAFTED: &str = "client-go/leaderelection-crafted";

const fn config(case: &'static str) -> Difference {
    Difference {
        file: "client-go/leaderelection-config",
        case,
        reason: "there are no callbacks that could be missing: the work is an argument of the run",
    }
}

const fn not_ours(case: &'static str) -> Difference {
    Difference {
        file: STEPS,
        case,
        reason: "a Lease that somebody else holds by now is not given back for them (LE-17)",
    }
}

const fn acquired(case: &'static str) -> Difference {
    Difference {
        file: STEPS,
        case,
        reason: "acquireTime is when the Lease was taken; client-go leaves an older time there if a renewal failed just before",
    }
}

const fn within_a_second(file: &'static str, case: &'static str) -> Difference {
    Difference {
        file,
        case,
        reason: "a renewal within the same second is a renewal; client-go compares whole seconds and takes the Lease from a live holder",
    }
}

/// 3.3, number 2 and 8.
const fn deadline(case: &'static str) -> Difference {
    Difference {
        file: "client-go/leaderelection-run",
        case,
        reason: "a leader gives up when the renew deadline has passed since its last renewal was sent; client-go counts from when it next tries",
    }
}

/// 3.3, number 3.
const fn taken(case: &'static str) -> Difference {
    Difference {
        file: "client-go/leaderelection-run",
        case,
        reason: "a leader that sees another holder has ended; client-go goes on until its deadline",
    }
}
