//! Reviews: questions about who asks and what they may do. There are no roles here, so whoever is let in may do everything.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::Strategy;
use super::value::{at, items, text, text_at};
use crate::schema::shared::format_rfc3339;
use crate::schema::{FieldError, FieldErrorKind};

/// Whom the server takes everybody for who is let in.
pub(crate) const USER: &str = "admin";
pub(crate) const GROUPS: [&str; 2] = ["system:masters", "system:authenticated"];

/// Puts the answer into a review.
pub(super) fn answer(strategy: Strategy, review: &mut Value, now: SystemTime) {
    match strategy {
        Strategy::SelfSubjectAccessReview => review["status"] = json!({"allowed": true}),
        Strategy::SelfSubjectReview => {
            review["metadata"]["creationTimestamp"] = format_rfc3339(now).into();
            review["status"] = json!({"userInfo": {"username": USER, "uid": USER, "groups": GROUPS}});
        }
        Strategy::SelfSubjectRulesReview => {
            // The server does not repeat which namespace it was asked for.
            review["spec"] = json!({});
            review["status"] = json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            });
        }
        _ => {}
    }
}

/// What is wrong with a question for access.
pub(super) fn validate(review: &Value) -> Vec<FieldError> {
    let invalid = |field: &str, value: Value, detail: &str| {
        FieldError::new(FieldErrorKind::Invalid, field, value, detail)
    };
    let given = |field: &str| at(review, &["spec", field]).filter(|attributes| attributes.is_object());
    let mut errors = Vec::new();
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (Some(_), Some(attributes)) => {
            let shown = json!({"Path": text(attributes, "path"), "Verb": text(attributes, "verb")});
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.push(invalid("spec.nonResourceAttributes", shown, detail));
        }
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(invalid("spec.resourceAttributes", Value::Null, detail));
        }
        _ => {}
    }
    for name in ["fieldSelector", "labelSelector"] {
        let path = format!("spec.resourceAttributes.{name}");
        let Some(selector) =
            at(review, &["spec", "resourceAttributes", name]).filter(|found| found.is_object())
        else {
            continue;
        };
        let raw = text_at(selector, &["rawSelector"]);
        match (raw, items(selector, &["requirements"])) {
            ("", []) => {
                let detail = format!("when {path} is specified, requirements or rawSelector is required");
                let field = format!("{path}.requirements");
                errors.push(FieldError::new(FieldErrorKind::Required, field, Value::Null, detail));
            }
            (_, []) | ("", _) => {}
            (raw, _) => {
                let detail = "may not specified at the same time as requirements";
                errors.push(invalid(&format!("{path}.rawSelector"), raw.into(), detail));
            }
        }
    }
    errors
}
