//! Nodes.

use serde_json::{Value, json};

use super::names;
use super::value::{at, items, object_mut, restore, same, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(crate) fn default(node: &mut Value) {
    let cidr = text_at(node, &["spec", "podCIDR"]).to_owned();
    let cidrs = items(node, &["spec", "podCIDRs"]).to_vec();
    if let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) {
        // The two say the same; whichever is there fills the other.
        match (cidr.is_empty(), cidrs.first()) {
            (false, None) => _ = spec.insert("podCIDRs".into(), json!([cidr])),
            (true, Some(first)) => _ = spec.insert("podCIDR".into(), first.clone()),
            _ => {}
        }
    }
    let Some(capacity) = at(node, &["status", "capacity"]).cloned() else { return };
    if at(node, &["status", "allocatable"]).is_none()
        && let Some(status) = object_mut(node, "status")
    {
        status.insert("allocatable".into(), capacity);
    }
}

/// Nodes are not ready until something says that they are.
pub(crate) fn prepare_create(node: &mut Value) {
    let mut taints = items(node, &["spec", "taints"]).to_vec();
    let there = |taint: &Value| text(taint, "key") == NOT_READY && text(taint, "effect") == "NoSchedule";
    if !taints.iter().any(there) {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
    if let Some(spec) = object_mut(node, "spec") {
        spec.insert("taints".into(), taints.into());
    }
}

pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    restore(new, old, "status");
}

pub(crate) fn validate(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("metadata").child("taints");
    let taints = items(node, &["spec", "taints"]);
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        for problem in names::qualified(key) {
            errors.push(FieldError::invalid(&path.child("key"), key, problem));
        }
        for problem in names::label_value(text(taint, "value")) {
            errors.push(FieldError::invalid(&path.child("value"), text(taint, "value"), problem));
        }
        match effect {
            "" => errors.push(FieldError::required(&path.child("effect"), "")),
            effect if !EFFECTS.contains(&effect) => {
                errors.push(FieldError::not_supported(&path.child("effect"), effect, &EFFECTS));
            }
            _ => {}
        }
        let before = taints.get(..index).unwrap_or_default();
        if before.iter().any(|other| text(other, "key") == key && text(other, "effect") == effect) {
            let shown = json!({
                "Key": key,
                "Value": text(taint, "value"),
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded").cloned().unwrap_or_default(),
            });
            let mut error = FieldError::duplicate(&path, shown);
            error.detail = "taints must be unique by key and effect pair".into();
            errors.push(error);
        }
    }
    errors
}

pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = validate(new);
    let path = FieldPath::new("spec");
    let (before, after) = (items(old, &["spec", "podCIDRs"]), items(new, &["spec", "podCIDRs"]));
    if !before.is_empty() && before != after {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden(&path.child("podCIDRs"), detail));
    }
    let before = text_at(old, &["spec", "providerID"]);
    if !before.is_empty() && before != text_at(new, &["spec", "providerID"]) {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden(&path.child("providerID"), detail));
    }
    if !same(at(new, &["spec", "configSource"]), at(old, &["spec", "configSource"])) {
        let detail = "configSource is no longer supported";
        errors.push(FieldError::forbidden(&path.child("configSource"), detail));
    }
    errors
}
