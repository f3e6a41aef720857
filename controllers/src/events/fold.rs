use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::record::{EventRecord, EventType, Reference};

/// How many records there may be at once before they are folded, and how many each second after that.
const BURST: f64 = 100.0;
const PER_SECOND: f64 = 5.0;

/// How long folded records are gathered.
pub(super) const GATHER: Duration = Duration::from_secs(2);

/// An Event to write: a record, and how often it was made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Folded {
    pub(super) record: EventRecord,
    pub(super) count: u32,
    pub(super) first: SystemTime,
    pub(super) last: SystemTime,
}

/// Decides which records are written one by one.
#[derive(Debug)]
pub(super) struct Folder {
    tokens: f64,
    at: Instant,
    gathered: BTreeMap<Group, Folded>,
}

/// What records have in common that are written as one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    regarding: Reference,
    component: &'static str,
    kind: EventType,
    reason: String,
    message: String,
}

impl Folder {
    pub(super) fn new(now: Instant) -> Self {
        Self { tokens: BURST, at: now, gathered: BTreeMap::new() }
    }

    /// The record to write now, unless it is to be folded.
    pub(super) fn take(&mut self, record: EventRecord, now: Instant, wall: SystemTime) -> Option<Folded> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = (self.tokens + passed * PER_SECOND).min(BURST);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Some(Folded { record, count: 1, first: wall, last: wall });
        }
        self.gather(record, wall);
        None
    }

    fn gather(&mut self, record: EventRecord, wall: SystemTime) {
        // What is wrong with one object stays with it; what goes well is told of its owner.
        let regarding = match (&record.owner, record.kind) {
            (Some(owner), EventType::Normal) => owner.clone(),
            _ => record.regarding.clone(),
        };
        let group = Group {
            message: record.message.replace(&record.regarding.name, "*"),
            regarding: Reference { resource_version: String::new(), ..regarding.clone() },
            component: record.component,
            kind: record.kind,
            reason: record.reason.clone(),
        };
        match self.gathered.get_mut(&group) {
            Some(folded) => {
                folded.count += 1;
                folded.last = wall;
            }
            None => {
                let record = EventRecord { regarding, ..record };
                self.gathered.insert(group, Folded { record, count: 1, first: wall, last: wall });
            }
        }
    }

    /// What was gathered.
    pub(super) fn flush(&mut self) -> Vec<Folded> {
        let gathered = std::mem::take(&mut self.gathered);
        gathered.into_values().map(Folded::named).collect()
    }
}

impl Folded {
    /// Says that several are meant, in the words of client-go.
    fn named(mut self) -> Self {
        if self.count > 1 {
            self.record.message = format!("(combined from similar events): {}", self.record.message);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, owner: Option<&str>, kind: EventType) -> EventRecord {
        let reference = |name: &str| Reference {
            api_version: "agones.dev/v1".into(),
            kind: "GameServer".into(),
            namespace: "n".into(),
            name: name.into(),
            uid: name.into(),
            resource_version: String::new(),
        };
        EventRecord {
            component: "test",
            regarding: reference(name),
            owner: owner.map(reference),
            kind,
            reason: "Creating".into(),
            message: format!("Pod {name} created"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_told_one_by_one_and_the_rest_of_its_owner() {
        let wall = SystemTime::UNIX_EPOCH;
        let mut folder = Folder::new(Instant::now());
        let mut single = 0;
        for number in 0..500 {
            let record = record(&format!("gs-{number}"), Some("set"), EventType::Normal);
            single += u32::from(folder.take(record, Instant::now(), wall).is_some());
        }
        assert_eq!(single, 100);
        let folded = folder.flush();
        assert_eq!(folded.len(), 1);
        assert_eq!((folded[0].count, folded[0].record.regarding.name.as_str()), (400, "set"));
        assert_eq!(folded[0].record.message, "(combined from similar events): Pod gs-100 created");
        assert!(folder.flush().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_stays_with_its_object() {
        let wall = SystemTime::UNIX_EPOCH;
        let mut folder = Folder::new(Instant::now());
        folder.tokens = 0.0;
        for name in ["a", "a", "b"] {
            assert_eq!(
                folder.take(record(name, Some("set"), EventType::Warning), Instant::now(), wall),
                None
            );
        }
        let told: Vec<_> = folder.flush().into_iter().map(|f| (f.record.regarding.name, f.count)).collect();
        assert_eq!(told, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
    }
}
