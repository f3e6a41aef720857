//! What happens to pods through their subresources: they are bound to nodes and evicted from them.

use std::time::SystemTime;

use lariat_api::{Reason, Status, StatusDetails};
use serde_json::{Value, json};

use super::super::meta;
use super::super::value::{at, entries, int, items, object_mut, remove, set, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;
use crate::schema::shared::format_rfc3339;

/// Binds a pod to a node.
///
/// # Errors
///
/// The binding is for another pod (400) or names no node (500, as the server has it), or the pod is bound, gated or being
/// deleted already (409).
pub fn bind(pod: &mut Value, binding: &Value, now: SystemTime) -> Result<(), Status> {
    let name = meta::name(pod).to_owned();
    if meta::name(binding) != name {
        return Err(failure(
            400,
            Reason::BadRequest.as_str(),
            "name in URL does not match name in Binding object",
        ));
    }
    let target = FieldPath::new("target");
    let kind = text_at(binding, &["target", "kind"]);
    let node = text_at(binding, &["target", "name"]);
    let mut errors = Vec::new();
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(&target.child("kind"), kind, &["Node", "<empty>"]));
    }
    if node.is_empty() {
        errors.push(FieldError::required(&target.child("name"), ""));
    }
    if !errors.is_empty() {
        return Err(failure(500, "", &crate::schema::shared::aggregate(&errors)));
    }
    let conflict = |problem: String| {
        let mut status = failure(
            409,
            Reason::Conflict.as_str(),
            &format!("Operation cannot be fulfilled on pods/binding {name:?}: {problem}"),
        );
        status.details = Some(Box::new(StatusDetails {
            name: name.as_str().into(),
            kind: "pods/binding".into(),
            ..StatusDetails::default()
        }));
        Err(status)
    };
    let uid = text_at(binding, &["metadata", "uid"]);
    let own = text_at(pod, &["metadata", "uid"]);
    if !uid.is_empty() && uid != own {
        return conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {own}"
        ));
    }
    if at(pod, &["metadata", "deletionTimestamp"]).is_some() {
        return conflict(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let bound = text_at(pod, &["spec", "nodeName"]);
    if !bound.is_empty() {
        return conflict(format!("pod {name} is already assigned to node {bound:?}"));
    }
    if !items(pod, &["spec", "schedulingGates"]).is_empty() {
        return conflict(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    if let Some(spec) = object_mut(pod, "spec") {
        spec.insert("nodeName".into(), node.into());
    }
    for map in ["annotations", "labels"] {
        for (key, value) in entries(binding, &["metadata", map]) {
            let own = pod.get_mut("metadata").and_then(|metadata| object_mut(metadata, map));
            if let Some(own) = own {
                own.insert(key.clone(), value.clone());
            }
        }
    }
    if let Some(status) = pod.get_mut("status") {
        remove(status, "nominatedNodeName");
    }
    set_condition(pod, json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null}), now);
    Ok(())
}

/// Evicts a pod: adds the condition that says so. What is left is to store the pod, and then to delete it with the grace
/// period that this returns, through [`super::super::Strategy::delete`].
///
/// There are no disruption budgets here, so that nothing holds an eviction up.
///
/// # Errors
///
/// The eviction is for another pod (400), or its preconditions are not met (409).
pub fn evict(pod: &mut Value, eviction: &Value, now: SystemTime) -> Result<Option<i64>, Status> {
    let name = meta::name(pod).to_owned();
    if meta::name(eviction) != name {
        return Err(failure(
            400,
            Reason::BadRequest.as_str(),
            "name in URL does not match name in Eviction object",
        ));
    }
    for (field, title) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let wanted = text_at(eviction, &["deleteOptions", "preconditions", field]);
        let found = text_at(pod, &["metadata", field]);
        if !wanted.is_empty() && wanted != found {
            let problem = format!(
                "Operation cannot be fulfilled on pods {name:?}: Precondition failed: {title} in precondition: {wanted}, \
                 {title} in object meta: {found}"
            );
            let mut status = failure(409, Reason::Conflict.as_str(), &problem);
            status.details = Some(Box::new(StatusDetails {
                name: name.as_str().into(),
                kind: "pods".into(),
                ..StatusDetails::default()
            }));
            return Err(status);
        }
    }
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": null,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    set_condition(pod, condition, now);
    Ok(int(eviction, &["deleteOptions", "gracePeriodSeconds"]))
}

/// Sets a condition. Its time changes only when its status does.
fn set_condition(pod: &mut Value, mut condition: Value, now: SystemTime) {
    let kind = text(&condition, "type").to_owned();
    let mut conditions = items(pod, &["status", "conditions"]).to_vec();
    let place = conditions.iter().position(|known| text(known, "type") == kind);
    let since = match place.and_then(|place| conditions.get(place)) {
        Some(known) if text(known, "status") == text(&condition, "status") => {
            text(known, "lastTransitionTime").to_owned()
        }
        _ => format_rfc3339(now),
    };
    set(&mut condition, "lastTransitionTime", since);
    match place.and_then(|place| conditions.get_mut(place)) {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    if let Some(status) = object_mut(pod, "status") {
        status.insert("conditions".into(), conditions.into());
    }
}

fn failure(code: u16, reason: &str, message: &str) -> Status {
    Status {
        status: "Failure".into(),
        message: message.into(),
        reason_text: reason.into(),
        details: None,
        code,
    }
}
