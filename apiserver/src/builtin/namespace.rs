//! Namespaces.

use serde_json::{Value, json};

use super::meta::{self, unqualified_finalizer};
use super::names;
use super::value::{at, items, object_mut, remove, restore, set, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

pub(crate) fn default(namespace: &mut Value) {
    let name = meta::name(namespace).to_owned();
    if name.is_empty() {
        return;
    }
    if let Some(labels) = namespace.get_mut("metadata").and_then(|metadata| object_mut(metadata, "labels")) {
        labels.insert(NAME_LABEL.into(), name.into());
    }
}

pub(crate) fn prepare_create(namespace: &mut Value) {
    // The name may have been generated since the defaults were filled in.
    default(namespace);
    set(namespace, "status", json!({"phase": "Active"}));
    let mut finalizers = items(namespace, &["spec", "finalizers"]).to_vec();
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    if let Some(spec) = object_mut(namespace, "spec") {
        spec.insert("finalizers".into(), finalizers.into());
    }
}

/// Finalizers change through their subresource only.
pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    restore(new, old, "spec");
    restore(new, old, "status");
}

/// Makes a namespace ready to replace another through `/finalize`: only the finalizers and metadata are taken.
///
/// What is left has to be removed if [`super::Strategy::is_finished`] says so.
pub fn finalize(new: &mut Value, old: &Value) {
    meta::prepare_update(new, old);
    restore(new, old, "status");
    default(new);
}

pub(crate) fn validate(namespace: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec").child("finalizers");
    for finalizer in items(namespace, &["spec", "finalizers"]).iter().filter_map(Value::as_str) {
        for problem in names::qualified(finalizer) {
            errors.push(FieldError::invalid(&path, finalizer, problem));
        }
        unqualified_finalizer(finalizer, &path, &mut errors);
    }
    errors
}

pub(crate) fn validate_status(namespace: &Value) -> Vec<FieldError> {
    let deleted = at(namespace, &["metadata", "deletionTimestamp"]).is_some();
    let phase = text_at(namespace, &["status", "phase"]);
    let (want, when) = match deleted {
        true => ("Terminating", "is not empty"),
        false => ("Active", "is empty"),
    };
    if phase == want {
        return Vec::new();
    }
    let detail = format!("may only be '{want}' if `deletionTimestamp` {when}");
    vec![FieldError::invalid(&FieldPath::new("status").child("Phase"), phase, detail)]
}

/// Marks a namespace as being deleted.
pub(crate) fn terminate(namespace: &mut Value, now: &str) {
    if let Some(metadata) = namespace.get_mut("metadata") {
        if text(metadata, "deletionTimestamp").is_empty() {
            set(metadata, "deletionTimestamp", now);
        }
        remove(metadata, "deletionGracePeriodSeconds");
    }
    if let Some(status) = object_mut(namespace, "status") {
        status.insert("phase".into(), "Terminating".into());
    }
}
