//! Leases.

use serde_json::Value;

use super::value::{int, remove};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

/// Coordinated election is behind a gate that is shut.
pub(crate) fn prepare(lease: &mut Value) {
    if let Some(spec) = lease.get_mut("spec") {
        remove(spec, "strategy");
        remove(spec, "preferredHolder");
    }
}

pub(crate) fn validate(lease: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    if let Some(seconds @ ..=0) = int(lease, &["spec", "leaseDurationSeconds"]) {
        let path = path.child("leaseDurationSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be greater than 0"));
    }
    if let Some(transitions @ ..0) = int(lease, &["spec", "leaseTransitions"]) {
        let path = path.child("leaseTransitions");
        errors.push(FieldError::invalid(&path, transitions, "must be greater than or equal to 0"));
    }
    errors
}
