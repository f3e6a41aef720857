use serde_json::Value;

use super::collect::fields_of;
use super::compare::compare;
use super::field_set::FieldSet;
use super::types::TypeInfo;
use super::value::{MAX_DEPTH, is_within};

/// The manager for which a client-side apply is taken over.
pub(crate) const MANAGER: &str = "kubectl";

/// Where a client-side apply keeps what it applied.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How many bytes all annotations of an object may have.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// What an object still has as `kubectl apply` set it on the client's side; whoever owns that may not keep
/// `kubectl apply --server-side` from taking it.
pub(crate) fn allowed(types: &dyn TypeInfo, live: &Value, api_version: &str) -> Option<FieldSet> {
    let text = annotation(live)?;
    let config: Value = serde_json::from_str(text).ok()?;
    if config.get("apiVersion").and_then(Value::as_str) != Some(api_version) || !is_within(&config, MAX_DEPTH)
    {
        return None;
    }
    let changes = compare(types, &config, live);
    let fields = fields_of(types, &config);
    Some(fields.difference(&changes.modified).difference(&changes.added).difference(&changes.removed))
}

/// Brings the annotation of an object that has one up to date with what was applied.
pub(crate) fn renew(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION.into(), format!("{config}\n").into());
        let size = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
        if size.sum::<usize>() > MAX_ANNOTATIONS {
            annotations.remove(ANNOTATION);
        }
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let text = object.pointer("/metadata/annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
