//! Whether something happens again, and whether it happens too often to be told.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use super::event::{Observed, Told};
use super::lru::Lru;
use crate::limits::EVENT_MEMORY;

/// Counts what comes again, puts together what is similar, and holds back what comes too often; after client-go's.
///
/// - What was told before, word by word, is one event that is counted.
/// - From the tenth different message on of the same reason about the same object, with no ten minutes between any two, they
///   are one event with the last message.
/// - An object has so many events of a type at once, and then one each five minutes.
#[derive(Debug)]
pub(crate) struct Correlator {
    options: CorrelatorOptions,
    similar: Lru<Similar>,
    known: Lru<Known>,
    buckets: Lru<Bucket>,
}

#[derive(Debug, Clone)]
pub(crate) struct CorrelatorOptions {
    pub(crate) burst: u32,
    /// Events in a second.
    pub(crate) rate: f64,
    pub(crate) similar: usize,
    pub(crate) similar_within: Duration,
}

/// What is to be done with an event.
#[derive(Debug)]
pub(crate) enum Action {
    Create(Observed),
    /// The event of its name is there already.
    Patch(Observed),
    Drop,
}

/// Messages of one group.
#[derive(Debug, Default)]
struct Similar {
    messages: VecDeque<String>,
    last: Option<SystemTime>,
}

/// An event that was told before.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    first: SystemTime,
    count: u32,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: SystemTime,
}

impl Default for CorrelatorOptions {
    fn default() -> Self {
        Self { burst: 25, rate: 1.0 / 300.0, similar: 10, similar_within: Duration::from_secs(600) }
    }
}

impl Correlator {
    pub(crate) fn new(options: CorrelatorOptions) -> Self {
        let (similar, known, buckets) =
            (Lru::new(EVENT_MEMORY), Lru::new(EVENT_MEMORY), Lru::new(EVENT_MEMORY));
        Self { options, similar, known, buckets }
    }

    pub(crate) fn correlate(&mut self, told: Told) -> Action {
        let now = told.at;
        let spam_key = spam_key(&told);
        let (told, key) = self.aggregate(told);
        let mut observed = Observed { first: now, last: now, count: 1, told };
        let known = self.known.get_mut(&key).cloned();
        let is_known = known.is_some();
        if let Some(Known { name, first, count }) = known {
            observed.told.name = name;
            observed.first = first;
            observed.count = count.saturating_add(1);
        }
        self.known.insert(
            key,
            Known { name: observed.told.name.clone(), first: observed.first, count: observed.count },
        );
        if !self.may_pass(spam_key, now) {
            return Action::Drop;
        }
        if is_known { Action::Patch(observed) } else { Action::Create(observed) }
    }

    /// The event as it is to be told, and the key of what it is the same as.
    fn aggregate(&mut self, told: Told) -> (Told, String) {
        let CorrelatorOptions { similar, similar_within, .. } = self.options;
        let group_key = group_key(&told);
        let now = told.at;
        if self.similar.get_mut(&group_key).is_none() {
            self.similar.insert(group_key.clone(), Similar::default());
        }
        let Some(group) = self.similar.get_mut(&group_key) else { return by_itself(told) };
        let is_over = |last: SystemTime| now.duration_since(last).is_ok_and(|since| since > similar_within);
        if group.last.is_none_or(is_over) {
            group.messages.clear();
        }
        group.last = Some(now);
        if !group.messages.contains(&told.message) {
            group.messages.push_back(told.message.clone());
        }
        if group.messages.len() < similar {
            return by_itself(told);
        }
        // One has to go, so that the group stays full and no fuller.
        group.messages.pop_front();
        let message = format!("(combined from similar events): {}", told.message);
        let name = event_name(&told.involved.name, told.stamp);
        (Told { message, name, ..told }, group_key)
    }

    /// Takes one of the events that an object may have.
    fn may_pass(&mut self, key: String, now: SystemTime) -> bool {
        let CorrelatorOptions { burst, rate, .. } = self.options;
        let full = f64::from(burst);
        let Some(bucket) = self.buckets.get_mut(&key) else {
            self.buckets.insert(key, Bucket { tokens: full - 1.0, at: now });
            return burst > 0;
        };
        // A clock that goes back gives nothing.
        let passed = now.duration_since(bucket.at).unwrap_or_default();
        bucket.tokens = (bucket.tokens + passed.as_secs_f64() * rate).min(full);
        bucket.at = bucket.at.max(now);
        let may = bucket.tokens >= 1.0;
        if may {
            bucket.tokens -= 1.0;
        }
        may
    }
}

fn by_itself(told: Told) -> (Told, String) {
    let key = event_key(&told);
    (told, key)
}

/// The name of an event about an object.
pub(crate) fn event_name(object: &str, stamp: u64) -> String {
    format!("{object}.{stamp:x}")
}

/// Fields of which none holds the separator.
fn joined(fields: &[&str]) -> String {
    fields.join("\u{0}")
}

/// Source, object and type.
fn spam_key(told: &Told) -> String {
    let Told { involved, component, host, event_type, .. } = told;
    joined(&[
        component,
        host,
        &involved.kind,
        &involved.namespace,
        &involved.name,
        &involved.uid,
        &involved.api_version,
        &event_type.to_string(),
    ])
}

fn group_key(told: &Told) -> String {
    joined(&["group", &spam_key(told), &told.reason])
}

fn event_key(told: &Told) -> String {
    joined(&["event", &spam_key(told), &told.involved.field_path, &told.reason, &told.message])
}

#[cfg(test)]
#[path = "vectors.rs"]
mod vectors;
