//! The plan that a server has now, and what it does to a request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_api::{Randomness, Status};

use super::asking::Asking;
use super::events::EventFaults;
use super::fault::{Duplicates, Kind};
use super::plan::FaultPlan;
use super::rule::Rule;
use super::stale::{Stale, StaleRead};
use crate::storage::Storage;

/// How often a rule struck.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Struck {
    /// How many requests or connections the rule was chosen for; at most [`times`](Rule::times).
    pub chosen: u64,
    /// How often something really went wrong: an event was dropped or came twice, a read did not get the newest, an answer
    /// was long enough to be cut. For faults that always happen it is the same number.
    pub happened: u64,
}

/// The faults of a server: none at first.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether there is a plan. All that a request without faults costs.
    active: AtomicBool,
    /// The last plan, also after it ended.
    rules: Mutex<Arc<[Arc<ActiveRule>]>>,
}

/// A rule of the plan that is set.
pub(crate) struct ActiveRule {
    rule: Rule,
    randomness: Randomness,
    counts: Mutex<Counts>,
    happened: AtomicU64,
    stale: Option<Arc<Stale>>,
}

#[derive(Default)]
struct Counts {
    matched: u64,
    chosen: u64,
}

/// A fault that was chosen for a request, to be counted when it happens.
#[derive(Clone)]
pub(crate) struct Chosen(Arc<ActiveRule>);

/// What happens to one request.
#[derive(Default)]
pub(crate) struct Strike {
    pub(crate) delay: Duration,
    pub(crate) end: Option<End>,
    pub(crate) stale: Option<StaleRead>,
    pub(crate) lose_response: Option<Chosen>,
    pub(crate) events: Option<Box<EventFaults>>,
    pub(crate) cut: Option<(usize, Chosen)>,
}

/// How a request ends that is not carried out.
pub(crate) enum End {
    Reset,
    BlackHole,
    Answer(Box<Status>),
}

// === impl Faults ===

impl Faults {
    /// Takes a plan in place of the one before. The storage is the one that it may be behind of.
    pub(crate) fn set(&self, plan: FaultPlan, storage: &Storage) {
        let rules = plan.into_rules().map(|(rule, randomness)| {
            let stale = match rule.fault.0 {
                Kind::Stale(staleness) => Some(Arc::new(Stale::new(storage, staleness))),
                _ => None,
            };
            let (counts, happened) = (Mutex::default(), AtomicU64::new(0));
            Arc::new(ActiveRule { rule, randomness, counts, happened, stale })
        });
        let rules: Arc<[_]> = rules.collect();
        self.end();
        self.active.store(!rules.is_empty(), Ordering::Release);
        *self.rules.lock().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// Ends the plan.
    pub(crate) fn end(&self) {
        self.active.store(false, Ordering::Release);
        for stale in self.rules().iter().filter_map(|rule| rule.stale.as_ref()) {
            stale.end();
        }
    }

    /// How often each rule of the last plan struck.
    pub(crate) fn struck(&self) -> Vec<Struck> {
        self.rules().iter().map(|rule| rule.struck()).collect()
    }

    /// Whether a new connection is refused.
    pub(crate) fn refuse(&self) -> bool {
        self.is_active()
            && self.rules().iter().any(|rule| {
                let is_refused = rule.rule.is_for_connections() && rule.choose();
                if is_refused {
                    rule.happened();
                }
                is_refused
            })
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// What happens to a request.
    pub(crate) fn strike(&self, asking: &Asking<'_>) -> Strike {
        let mut strike = Strike::default();
        for rule in self.rules().iter() {
            if strike.can_take(&rule.rule.fault.0) && rule.rule.is_for(asking) && rule.choose() {
                strike.take(rule);
            }
        }
        strike
    }

    fn rules(&self) -> Arc<[Arc<ActiveRule>]> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

// === impl ActiveRule ===

impl ActiveRule {
    /// Whether the rule strikes what meets its conditions.
    fn choose(&self) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.matched += 1;
        if counts.matched <= self.rule.after || counts.chosen >= self.rule.times {
            return false;
        }
        // Drawn under the lock, so that the order of the draws is that of the matches.
        let is_chosen = self.rule.probability >= 1.0 || self.randomness.unit() < self.rule.probability;
        counts.chosen += u64::from(is_chosen);
        is_chosen
    }

    fn happened(&self) {
        self.happened.fetch_add(1, Ordering::Relaxed);
    }

    fn struck(&self) -> Struck {
        let chosen = self.counts.lock().unwrap_or_else(PoisonError::into_inner).chosen;
        Struck { chosen, happened: self.happened.load(Ordering::Relaxed) }
    }
}

// === impl Chosen ===

impl Chosen {
    pub(crate) fn happened(&self) {
        self.0.happened();
    }
}

// === impl Strike ===

impl Strike {
    /// Whether a fault would still make a difference.
    fn can_take(&self, fault: &Kind) -> bool {
        let is_carried_out = self.end.is_none();
        let events = self.events.as_ref();
        match fault {
            Kind::Delay { .. } => true,
            Kind::Refuse => false,
            Kind::Reset | Kind::BlackHole | Kind::Answer(_) => is_carried_out,
            Kind::Cut(_) => self.cut.is_none() && matches!(self.end, None | Some(End::Answer(_))),
            Kind::LoseResponse => is_carried_out && self.lose_response.is_none(),
            Kind::Stale(_) => is_carried_out && self.stale.is_none(),
            Kind::ErrorEvent { .. } => is_carried_out && events.is_none_or(|events| events.error.is_none()),
            Kind::DropBookmarks => is_carried_out && events.is_none_or(|events| events.bookmarks.is_none()),
            Kind::DropInitialEventsEnd => {
                is_carried_out && events.is_none_or(|events| events.initial_end.is_none())
            }
            Kind::Duplicate(_) => is_carried_out && events.is_none_or(|events| events.duplicates.is_none()),
        }
    }

    fn take(&mut self, rule: &Arc<ActiveRule>) {
        let chosen = Chosen(rule.clone());
        match &rule.rule.fault.0 {
            Kind::Delay { from, to } => {
                let span = u64::try_from((*to - *from).as_micros()).unwrap_or(u64::MAX);
                let more = if span == 0 { 0 } else { rule.randomness.below(span.saturating_add(1)) };
                self.delay = self.delay.saturating_add(*from).saturating_add(Duration::from_micros(more));
                chosen.happened();
            }
            Kind::Refuse => {}
            Kind::Reset => self.end(End::Reset, &chosen),
            Kind::BlackHole => self.end(End::BlackHole, &chosen),
            Kind::Answer(status) => self.end(End::Answer(status.clone()), &chosen),
            Kind::Cut(bytes) => self.cut = Some((*bytes, chosen)),
            Kind::LoseResponse => self.lose_response = Some(chosen),
            Kind::Stale(_) => self.stale = rule.stale.clone().map(|stale| StaleRead::new(stale, chosen)),
            Kind::ErrorEvent { status, after } => {
                self.events().error = Some((*after, status.clone(), chosen));
            }
            Kind::DropBookmarks => self.events().bookmarks = Some(chosen),
            Kind::DropInitialEventsEnd => self.events().initial_end = Some(chosen),
            Kind::Duplicate(duplicates) => {
                // A sequence for each watch, so that it does not matter in which order watches are read.
                let seed = match duplicates {
                    Duplicates::Randomly(_) => rule.randomness.below(u64::MAX),
                    Duplicates::Each | Duplicates::Nth(_) => 0,
                };
                self.events().duplicates = Some((*duplicates, Randomness::seeded(seed), chosen));
            }
        }
    }

    fn end(&mut self, end: End, chosen: &Chosen) {
        self.end = Some(end);
        chosen.happened();
    }

    fn events(&mut self) -> &mut EventFaults {
        self.events.get_or_insert_default()
    }
}
