//! What may happen.

use std::time::Duration;

use lariat_api::Status;
use lariat_apiserver::{Fault, FaultPlan, Rule, Staleness};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any as any_value, prop_oneof};

/// An informer, and what happens to its server and its handlers.
#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) streaming: bool,
    pub(crate) page_size: u32,
    /// How many writes the server keeps.
    pub(crate) window: usize,
    /// How many events a watch may be behind.
    pub(crate) buffer: usize,
    /// Whether the informer follows only objects with a label, which they get and lose.
    pub(crate) selects: bool,
    pub(crate) resync: Duration,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Write {
        object: u8,
        write: Write,
    },
    /// So many writes of any kind to any object, before anybody looks.
    Burst {
        writes: u32,
        seed: u64,
    },
    Compact,
    Advance(u64),
    Wait(Duration),
    Break {
        seed: u64,
        troubles: Vec<Trouble>,
    },
    Heal,
    Add(Listening),
    Remove(u8),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Write {
    /// Creates or updates.
    Put {
        labelled: bool,
    },
    Delete,
    Recreate,
}

/// A fault of some requests.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    pub(crate) kind: Kind,
    verb: Option<&'static str>,
    probability: f64,
    after: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Reset,
    Refuse,
    BlackHole,
    Cut(usize),
    Delay(u64),
    Answer { code: u16, retry_after: Option<u32> },
    ErrorEvent { code: u16, after: u64 },
    DropBookmarks,
    DropInitialEventsEnd,
    Duplicate,
    Stale(u64),
}

/// A way to hear of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listening {
    Calls,
    Futures,
    /// Each call takes so many milliseconds.
    Slowly(u64),
    Filtered,
    Stream,
    Channel,
}

pub(crate) fn any() -> impl Strategy<Value = History> {
    let server = (
        prop_oneof![3 => Just(10_000_usize), 1 => 5..40_usize],
        prop_oneof![1 => Just(1_000_usize), 1 => 1..20_usize],
    );
    let informer = (
        any_value::<bool>(),
        prop_oneof![Just(0_u32), 1..4_u32],
        prop_oneof![3 => Just(false), 1 => Just(true)],
        prop_oneof![3 => Just(Duration::ZERO), 1 => (1..60_u64).prop_map(Duration::from_secs)],
    );
    (server, informer, vec(step(), 10..60)).prop_map(
        |((window, buffer), (streaming, page_size, selects, resync), steps)| History {
            streaming,
            page_size,
            window,
            buffer,
            selects,
            resync,
            steps,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let write = prop_oneof![
        6 => any_value::<bool>().prop_map(|labelled| Write::Put { labelled }),
        2 => Just(Write::Delete),
        1 => Just(Write::Recreate),
    ];
    let writes = prop_oneof![15 => 2..60_u32, 1 => 1_100..1_700_u32];
    prop_oneof![
        12 => (0..8_u8, write).prop_map(|(object, write)| Step::Write { object, write }),
        3 => (writes, any_value::<u64>()).prop_map(|(writes, seed)| Step::Burst { writes, seed }),
        2 => Just(Step::Compact),
        1 => (1..100_u64).prop_map(Step::Advance),
        6 => (0..3_000_u64).prop_map(|wait| Step::Wait(Duration::from_millis(wait))),
        6 => (3..700_u64).prop_map(|wait| Step::Wait(Duration::from_secs(wait))),
        6 => (any_value::<u64>(), vec(trouble(), 1..4)).prop_map(|(seed, troubles)| Step::Break { seed, troubles }),
        1 => Just(Step::Heal),
        3 => listening().prop_map(Step::Add),
        2 => any_value::<u8>().prop_map(Step::Remove),
    ]
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let codes = prop_oneof![Just(410_u16), Just(429), Just(500), Just(503), Just(504)];
    let kind = prop_oneof![
        Just(Kind::Reset),
        Just(Kind::Refuse),
        Just(Kind::BlackHole),
        (0..4_000_usize).prop_map(Kind::Cut),
        (0..20_000_u64).prop_map(Kind::Delay),
        (codes.clone(), prop_oneof![Just(None), (0..5_u32).prop_map(Some)])
            .prop_map(|(code, retry_after)| Kind::Answer { code, retry_after }),
        (codes, 0..6_u64).prop_map(|(code, after)| Kind::ErrorEvent { code, after }),
        Just(Kind::DropBookmarks),
        Just(Kind::DropInitialEventsEnd),
        Just(Kind::Duplicate),
        (1..30_u64).prop_map(Kind::Stale),
    ];
    let verb = prop_oneof![Just(None), Just(Some("list")), Just(Some("watch"))];
    let probability = prop_oneof![Just(1.0), Just(0.5), Just(0.2)];
    (kind, verb, probability, prop_oneof![3 => Just(0_u64), 1 => 1..4_u64])
        .prop_map(|(kind, verb, probability, after)| Trouble { kind, verb, probability, after })
}

fn listening() -> impl Strategy<Value = Listening> {
    prop_oneof![
        4 => Just(Listening::Calls),
        2 => Just(Listening::Futures),
        3 => (1..4_000_u64).prop_map(Listening::Slowly),
        2 => Just(Listening::Filtered),
        2 => Just(Listening::Stream),
        1 => Just(Listening::Channel),
    ]
}

pub(crate) fn plan(seed: u64, troubles: &[Trouble]) -> FaultPlan {
    troubles.iter().fold(FaultPlan::seeded(seed), |plan, trouble| plan.rule(trouble.rule()))
}

impl Trouble {
    fn rule(&self) -> Rule {
        let rule = Rule::new(self.kind.fault()).probability(self.probability).after(self.after);
        match self.verb {
            // Of a connection nothing is known.
            Some(verb) if !matches!(self.kind, Kind::Refuse) => rule.verb(verb),
            _ => rule,
        }
    }
}

impl Kind {
    fn fault(self) -> Fault {
        match self {
            Self::Reset => Fault::reset(),
            Self::Refuse => Fault::refuse(),
            Self::BlackHole => Fault::black_hole(),
            Self::Cut(bytes) => Fault::cut(bytes),
            Self::Delay(most) => Fault::delay_between(Duration::ZERO, Duration::from_millis(most)),
            Self::Answer { code, retry_after } => Fault::answer_status(Status {
                details: retry_after.map(|seconds| {
                    Box::new(lariat_api::StatusDetails { retry_after_seconds: seconds, ..Default::default() })
                }),
                ..status(code)
            }),
            Self::ErrorEvent { code, after } => Fault::error_event_after(after, status(code)),
            Self::DropBookmarks => Fault::drop_bookmarks(),
            Self::DropInitialEventsEnd => Fault::drop_initial_events_end(),
            Self::Duplicate => Fault::duplicate_randomly(0.5),
            Self::Stale(writes) => Fault::stale(Staleness::behind(writes)),
        }
    }
}

fn status(code: u16) -> Status {
    let reason = match code {
        410 => "Expired",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        _ => "Timeout",
    };
    Status { reason_text: reason.into(), ..Status::from_code(code, "on purpose") }
}
