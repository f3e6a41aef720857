//! Priority classes.

use serde_json::Value;

use super::meta;
use super::value::{fill, int, same, text};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

/// The highest priority that is not the system's.
const HIGHEST: i64 = 1_000_000_000;

/// The classes that the system has, and their priorities.
pub(crate) const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(crate) const POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];

pub(crate) fn default(class: &mut Value) {
    fill(class, "preemptionPolicy", "PreemptLowerPriority");
}

pub(crate) fn validate(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = meta::name(class);
    let value = int(class, &["value"]).unwrap_or_default();
    if name.starts_with("system-") {
        let known = SYSTEM.iter().find(|(known, _)| *known == name);
        let problem = match known {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, want)) if *want != value => {
                Some(format!("value of {name} PriorityClass must be {want}"))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            );
            errors.push(FieldError::forbidden(&FieldPath::new("metadata").child("name"), detail));
        }
    } else if value > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(FieldError::forbidden(&FieldPath::new("value"), detail));
    }
    let policy = text(class, "preemptionPolicy");
    if !POLICIES.contains(&policy) {
        errors.push(FieldError::not_supported(&FieldPath::new("preemptionPolicy"), policy, &POLICIES));
    }
    errors
}

pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if int(new, &["value"]) != int(old, &["value"]) {
        errors.push(FieldError::forbidden(&FieldPath::new("value"), "may not be changed in an update."));
    }
    if !same(new.get("preemptionPolicy"), old.get("preemptionPolicy")) {
        let path = FieldPath::new("preemptionPolicy");
        errors.push(FieldError::invalid(&path, text(new, "preemptionPolicy"), "field is immutable"));
    }
    errors
}
