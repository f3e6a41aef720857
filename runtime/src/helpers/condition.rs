use std::ops::Deref;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::time::rfc3339;

/// One thing that is said of an object in its `status.conditions`.
///
/// # Example
///
/// ```
/// use lariat::Condition;
///
/// let ready = Condition::new("Ready", true, "Complete", "all sellers sell");
/// assert_eq!((ready.kind.as_str(), ready.is_true()), ("Ready", true));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What is said: one word in UpperCamelCase, which no other condition of the object has.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When the status changed last, in RFC 3339.
    pub last_transition_time: String,
    /// Why it is so: one word for programs.
    pub reason: String,
    /// Why it is so, for people.
    pub message: String,
    /// The generation of the object that this was said of; 0 if nobody says.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The `status.conditions` of an object: one of each kind.
///
/// # Example
///
/// ```
/// use std::time::SystemTime;
/// use lariat::{Condition, Conditions};
///
/// let mut conditions = Conditions::default();
/// let ready = || Condition::new("Ready", false, "Waiting", "two sellers are on their way");
/// assert!(conditions.set(ready(), SystemTime::UNIX_EPOCH));
/// assert!(!conditions.set(ready(), SystemTime::UNIX_EPOCH)); // it said so before
/// assert!(!conditions.is_true("Ready"));
/// assert_eq!(conditions[0].last_transition_time, "1970-01-01T00:00:00Z");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conditions(Vec<Condition>);

impl Condition {
    /// A condition that holds or does not.
    pub fn new(
        kind: impl Into<String>,
        holds: bool,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind: kind.into(),
            status: if holds { "True" } else { "False" }.to_owned(),
            reason: reason.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Says of which generation of the object it is said.
    #[must_use]
    pub fn observed(mut self, generation: i64) -> Self {
        self.observed_generation = generation;
        self
    }

    /// Whether it is known to hold.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

impl Conditions {
    /// Says something, and whether that is new. The time is kept unless the status is another.
    pub fn set(&mut self, condition: Condition, now: SystemTime) -> bool {
        let Some(known) = self.0.iter_mut().find(|known| known.kind == condition.kind) else {
            self.0.push(Condition { last_transition_time: rfc3339(now), ..condition });
            return true;
        };
        let last_transition_time =
            if known.status == condition.status { known.last_transition_time.clone() } else { rfc3339(now) };
        let new = Condition { last_transition_time, other: known.other.clone(), ..condition };
        let is_new = *known != new;
        *known = new;
        is_new
    }

    /// The condition of a kind.
    pub fn find(&self, kind: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the condition of a kind is known to hold.
    pub fn is_true(&self, kind: &str) -> bool {
        self.find(kind).is_some_and(Condition::is_true)
    }

    /// Says nothing of a kind any more, and whether something was said.
    pub fn remove(&mut self, kind: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|condition| condition.kind != kind);
        self.0.len() != before
    }
}

impl Deref for Conditions {
    type Target = [Condition];

    fn deref(&self) -> &[Condition] {
        &self.0
    }
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_is_that_of_the_last_change_of_the_status() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut conditions = Conditions::default();
        assert!(conditions.set(Condition::new("Ready", false, "A", ""), at(1)));
        assert!(conditions.set(Condition::new("Ready", false, "B", "").observed(3), at(2)));
        assert_eq!(conditions[0].last_transition_time, rfc3339(at(1)));
        assert!(conditions.set(Condition::new("Ready", true, "C", ""), at(3)));
        assert_eq!(conditions[0].last_transition_time, rfc3339(at(3)));
        assert!(conditions.is_true("Ready") && conditions.remove("Ready") && !conditions.remove("Ready"));
    }

    #[test]
    fn fields_of_others_stay() {
        let text = r#"[{"type":"A","status":"True","lastTransitionTime":"x","reason":"r","message":"m","severity":"low"}]"#;
        let mut conditions: Conditions = serde_json::from_str(text).unwrap();
        assert!(!conditions.set(Condition::new("A", true, "r", "m"), SystemTime::UNIX_EPOCH));
        assert_eq!(serde_json::to_string(&conditions).unwrap(), text);
    }
}
