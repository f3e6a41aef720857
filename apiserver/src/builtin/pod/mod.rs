//! Pods.

mod action;
mod admission;
mod container;
mod defaults;
mod diff;
mod qos;
mod status;
mod update;
mod validate;
mod volume;

use std::time::SystemTime;

use serde_json::{Value, json};

pub use action::{bind, evict};
pub use admission::resolve_priority;
pub(crate) use defaults::default;
pub(crate) use status::summary;
pub(crate) use update::{validate_status, validate_update};
pub(crate) use validate::validate;

use super::meta;
use super::value::{items, remove, restore, same, set};
use crate::schema::shared::format_rfc3339;

pub(crate) fn prepare_create(pod: &mut Value, now: SystemTime) {
    meta::first_generation(pod);
    admission::tolerate_lost_nodes(pod);
    admission::default_priority(pod);
    let mut status = json!({"phase": "Pending", "qosClass": qos::class(pod)});
    if !items(pod, &["spec", "schedulingGates"]).is_empty() {
        let gated = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": format_rfc3339(now),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
        set(&mut status, "conditions", gated);
    }
    set(pod, "status", status);
}

pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    restore(new, old, "status");
    admission::keep_priority(new, old);
    admission::tolerate_lost_nodes(new);
    if !same(new.get("spec"), old.get("spec")) {
        meta::next_generation(new, old);
    }
}

/// A pod's status comes with labels and annotations, but with nothing else.
pub(crate) fn prepare_status_update(new: &mut Value, old: &Value) {
    restore(new, old, "spec");
    if let (Some(metadata), Some(old)) = (new.get_mut("metadata"), old.get("metadata")) {
        restore(metadata, old, "ownerReferences");
        restore(metadata, old, "deletionTimestamp");
    }
    let Some(status) = new.get_mut("status") else { return };
    if status.get("qosClass").is_none_or(Value::is_null) {
        match old.get("status") {
            Some(old) => restore(status, old, "qosClass"),
            None => _ = remove(status, "qosClass"),
        }
    }
}
