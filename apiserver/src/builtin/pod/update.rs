//! What may change in a pod that exists: little.

use serde_json::Value;

use super::super::value::{at, entries, int, items, items_mut, remove, restore, same, set, text, text_at};
use super::validate;
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const IMMUTABLE: &str = "pod updates may not change fields other than \
                         `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),\
                         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = validate(new);
    let path = FieldPath::new("spec");
    let null = Value::Null;
    let (spec, old_spec) = (new.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    for list in ["containers", "initContainers"] {
        let (before, after) = (items(old_spec, &[list]), items(spec, &[list]));
        if before.len() != after.len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(&path.child(list), detail));
            return errors;
        }
        for (index, container) in after.iter().enumerate() {
            if text(container, "image").is_empty() {
                errors.push(FieldError::required(&path.child(list).index(index).child("image"), ""));
            }
        }
    }
    let deadline = path.child("activeDeadlineSeconds");
    match (int(old_spec, &["activeDeadlineSeconds"]), int(spec, &["activeDeadlineSeconds"])) {
        (_, Some(after)) if !(0..=i64::from(i32::MAX)).contains(&after) => {
            let detail = format!("must be between 0 and {}, inclusive", i32::MAX);
            errors.push(FieldError::invalid(&deadline, after, detail));
            return errors;
        }
        (Some(before), Some(after)) if before < after => {
            let detail = "must be less than or equal to previous value";
            errors.push(FieldError::invalid(&deadline, after, detail));
            return errors;
        }
        (Some(_), None) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(&deadline, Value::Null, detail));
        }
        _ => {}
    }
    validate_tolerations(spec, old_spec, &path.child("tolerations"), &mut errors);
    for (index, gate) in items(spec, &["schedulingGates"]).iter().enumerate() {
        if !items(old_spec, &["schedulingGates"]).contains(gate) {
            let name = text(gate, "name");
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            let path = path.child("schedulingGates").index(index).child("name");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    let mut rest = spec.clone();
    forget_changeable(&mut rest, old_spec);
    if !items(old_spec, &["schedulingGates"]).is_empty() {
        validate_gated(spec, old_spec, &path, &mut errors);
        restore(&mut rest, old_spec, "nodeSelector");
        restore_node_affinity(&mut rest, old_spec);
    }
    if !same(Some(&rest), Some(old_spec)) {
        errors.push(FieldError::forbidden(
            &path,
            format!("{IMMUTABLE}{}", super::diff::specs(old_spec, &rest)),
        ));
    }
    errors
}

/// Takes what may change from the old spec, so that only the other changes are left.
fn forget_changeable(spec: &mut Value, old: &Value) {
    for list in ["containers", "initContainers"] {
        for (container, old) in items_mut(spec, &[list]).zip(items(old, &[list])) {
            restore(container, old, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        restore(spec, old, field);
    }
    let grace = |spec: &Value| int(spec, &["terminationGracePeriodSeconds"]);
    if grace(old).is_some_and(|seconds| seconds < 0) && grace(spec) == Some(1) {
        restore(spec, old, "terminationGracePeriodSeconds");
    }
}

/// Tolerations may be added, and those that are there may last for another time.
fn validate_tolerations(spec: &Value, old: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        remove(&mut toleration, "tolerationSeconds");
        toleration
    };
    let after: Vec<_> = items(spec, &["tolerations"]).iter().map(without_time).collect();
    if items(old, &["tolerations"]).iter().any(|toleration| !after.contains(&without_time(toleration))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// A pod that is not scheduled yet may be kept to fewer nodes.
fn validate_gated(spec: &Value, old: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let kept =
        entries(old, &["nodeSelector"]).all(|(key, value)| at(spec, &["nodeSelector", key]) == Some(value));
    if !kept {
        let detail = "only additions are allowed (no mutations or deletions)";
        let value = spec.get("nodeSelector").cloned().unwrap_or_default();
        errors.push(FieldError::invalid(&path.child("nodeSelector"), value, detail));
    }
}

fn restore_node_affinity(spec: &mut Value, old: &Value) {
    match (spec.get_mut("affinity").filter(|affinity| affinity.is_object()), old.get("affinity")) {
        (Some(affinity), Some(old)) => restore(affinity, old, "nodeAffinity"),
        (Some(affinity), None) => _ = remove(affinity, "nodeAffinity"),
        (None, Some(old)) => {
            let only_nodes =
                old.as_object().is_some_and(|fields| fields.keys().all(|key| key == "nodeAffinity"));
            if only_nodes {
                set(spec, "affinity", old.clone());
            }
        }
        (None, None) => {}
    }
}

pub(crate) fn validate_status(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("status");
    if let Some(generation @ ..0) = int(new, &["status", "observedGeneration"]) {
        let path = path.child("observedGeneration");
        errors.push(FieldError::invalid(&path, generation, "must be a non-negative integer"));
    }
    let nominated = text_at(new, &["status", "nominatedNodeName"]);
    let bound = !text_at(old, &["spec", "nodeName"]).is_empty();
    if bound && !nominated.is_empty() && nominated != text_at(old, &["status", "nominatedNodeName"]) {
        let detail = "may not be set on pods that are already bound to a node";
        errors.push(FieldError::forbidden(&path.child("nominatedNodeName"), detail));
    }
    let class = text_at(new, &["status", "qosClass"]);
    if class != text_at(old, &["status", "qosClass"]) {
        errors.push(FieldError::invalid(&path.child("qosClass"), class, "field is immutable"));
    }
    errors
}
