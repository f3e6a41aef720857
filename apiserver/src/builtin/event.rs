//! Events, in the form of the core group and in that of `events.k8s.io`.
//!
//! There is one store: the core form. Fields that only have other names there are renamed on the way in and out.

use serde_json::Value;

use super::value::{at, int, remove, same, set, text, text_at};
use super::{Strategy, meta, names};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

/// Names in the core group, and in `events.k8s.io`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];
/// What an update through `events.k8s.io` may not change. The order is that of the errors.
const IMMUTABLE: [(&str, &str); 12] = [
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
];

/// The core form of an event of `events.k8s.io`.
///
/// # Example
///
/// ```
/// use lariat_apiserver::builtin::{from_core, to_core};
/// use serde_json::json;
///
/// let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "note": "hello"});
/// let core = to_core(&event);
/// assert_eq!(core["apiVersion"], "v1");
/// assert_eq!(core["message"], "hello");
/// assert_eq!(from_core(&core)["note"], "hello");
/// ```
pub fn to_core(event: &Value) -> Value {
    let mut core = event.clone();
    for (core_name, name) in RENAMED {
        if let Some(value) = remove(&mut core, name) {
            set(&mut core, core_name, value);
        }
    }
    set(&mut core, "apiVersion", "v1");
    Strategy::Event.normalise(&mut core);
    core
}

/// The form that an event of the core group has in `events.k8s.io`.
pub fn from_core(core: &Value) -> Value {
    let mut event = core.clone();
    for (core_name, name) in RENAMED {
        if let Some(value) = remove(&mut event, core_name) {
            set(&mut event, name, value);
        }
    }
    set(&mut event, "apiVersion", "events.k8s.io/v1");
    Strategy::EventsEvent.normalise(&mut event);
    event
}

pub(crate) fn validate_create(strategy: Strategy, event: &Value) -> Vec<FieldError> {
    let resource = strategy.resource();
    if strategy == Strategy::Event {
        let errors = validate_legacy(event, "reportingComponent");
        // The metadata is only looked at afterwards, and the name may be anything that fits into a path.
        return match errors.is_empty() {
            true => meta::validate_create(resource, event, crate::schema::shared::path_segment),
            false => errors,
        };
    }
    let core = to_core(event);
    let mut errors = validate_legacy(&core, "reportingController");
    errors.extend(meta::validate_create(resource, event, names::subdomain));
    validate_series(&core, &mut errors);
    if text(&core, "eventTime").is_empty() {
        errors.push(FieldError::required(&FieldPath::new("eventTime"), ""));
    }
    let kind = text(&core, "type");
    let mut invalid =
        |field: &str, detail: String| errors.push(FieldError::invalid(&FieldPath::new(field), "", detail));
    if !matches!(kind, "Normal" | "Warning") {
        invalid("type", format!("has invalid value: {kind}"));
    }
    let set = |field: &str| !text(&core, field).is_empty();
    for field in ["firstTimestamp", "lastTimestamp"].into_iter().filter(|field| set(field)) {
        invalid(field, "needs to be unset".into());
    }
    if int(&core, &["count"]).unwrap_or_default() != 0 {
        invalid("count", "needs to be unset".into());
    }
    if ["component", "host"].iter().any(|field| !text_at(&core, &["source", field]).is_empty()) {
        invalid("source", "needs to be unset".into());
    }
    errors
}

pub(crate) fn validate_update(strategy: Strategy, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::validate_update(strategy.resource(), new, old);
    if strategy == Strategy::Event {
        errors.extend(validate_legacy(new, "reportingComponent"));
        return errors;
    }
    let (new, old) = (to_core(new), to_core(old));
    errors.extend(validate_legacy(&new, "reportingController"));
    if !same(new.get("series"), old.get("series")) {
        validate_series(&new, &mut errors);
    }
    for (field, name) in IMMUTABLE.into_iter().chain([("reportingInstance", "reportingInstance")]) {
        if !same(new.get(field), old.get(field)) {
            let value = new.get(field).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&FieldPath::new(name), value, "field is immutable"));
        }
    }
    errors
}

fn validate_series(event: &Value, errors: &mut Vec<FieldError>) {
    if at(event, &["series"]).is_none() {
        return;
    }
    if int(event, &["series", "count"]).unwrap_or_default() < 2 {
        errors.push(FieldError::invalid(&FieldPath::new("series.count"), "", "should be at least 2"));
    }
    if text_at(event, &["series", "lastObservedTime"]).is_empty() {
        errors.push(FieldError::required(&FieldPath::new("series.lastObservedTime"), ""));
    }
}

/// What both groups check. Events with an `eventTime` are new ones, which have to be complete.
fn validate_legacy(event: &Value, controller_field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text_at(event, &["metadata", "namespace"]);
    let involved = text_at(event, &["involvedObject", "namespace"]);
    let is_new = !text(event, "eventTime").is_empty();
    let agrees = match (is_new, involved) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, involved) => involved == namespace,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !agrees {
        let path = FieldPath::new("involvedObject").child("namespace");
        errors.push(FieldError::invalid(&path, involved, "does not match event.namespace"));
    }
    if !is_new {
        return errors;
    }
    let path = FieldPath::new(controller_field);
    let controller = text(event, "reportingComponent");
    if controller.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    for problem in names::qualified(controller) {
        errors.push(FieldError::invalid(&path, controller, problem));
    }
    for (field, most, required) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1024, false),
    ] {
        let (path, value) = (FieldPath::new(field), text(event, field));
        if required && value.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        if value.len() > most {
            errors.push(FieldError::invalid(&path, "", format!("can have at most {most} characters")));
        }
    }
    errors
}

/// Who reports an event, and from where: `kubelet, node-1`.
pub(crate) fn reporter(event: &Value) -> String {
    let first = |a: &'static [&str], b: &'static [&str]| match text_at(event, a) {
        "" => text_at(event, b),
        found => found,
    };
    let component = first(&["source", "component"], &["reportingComponent"]);
    match first(&["source", "host"], &["reportingInstance"]) {
        "" => component.into(),
        instance => format!("{component}, {instance}"),
    }
}

/// How often an event was seen.
pub(crate) fn count(event: &Value) -> i64 {
    let single = int(event, &["count"]).filter(|count| *count != 0).unwrap_or(1);
    match at(event, &["series"]) {
        Some(series) => int(series, &["count"]).unwrap_or_default(),
        None => single,
    }
}

/// What an event is about, such as `pod/web-1`.
pub(crate) fn target(event: &Value) -> String {
    let kind = text_at(event, &["involvedObject", "kind"]).to_lowercase();
    match text_at(event, &["involvedObject", "name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// When an event was seen first and last; empty if nothing says so.
pub(crate) fn times(event: &Value) -> (&str, &str) {
    let first = match text(event, "eventTime") {
        "" => text(event, "firstTimestamp"),
        time => time,
    };
    let last = match (at(event, &["series"]), text(event, "lastTimestamp")) {
        (Some(series), _) => text(series, "lastObservedTime"),
        (None, "") => first,
        (None, last) => last,
    };
    (first, last)
}
