//! What is wrong with a pod.

use std::net::IpAddr;

use serde_json::Value;

use super::super::meta::validate_labels;
use super::super::names;
use super::super::priority_class::POLICIES;
use super::super::value::{at, int, items, text};
use super::container::enumerated;
use super::{container, volume};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
/// The longest deadline that there is, in seconds.
const LONGEST: i64 = i32::MAX as i64;

pub(crate) fn validate(pod: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    let null = Value::Null;
    let spec = pod.get("spec").unwrap_or(&null);

    let volumes = volume::validate(spec, &path.child("volumes"), &mut errors);
    container::validate_all(spec, &volumes, &path, &mut errors);
    enumerated(spec, "restartPolicy", &RESTART_POLICIES, &path, &mut errors);
    enumerated(spec, "dnsPolicy", &DNS_POLICIES, &path, &mut errors);
    if let Some(seconds @ ..0) = int(spec, &["terminationGracePeriodSeconds"]) {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be greater than or equal to 0"));
    }
    validate_labels(spec, "nodeSelector", &path.child("nodeSelector"), &mut errors);
    validate_gates(spec, &path, &mut errors);
    for (field, problems) in [
        ("serviceAccountName", names::subdomain as fn(&str) -> Vec<String>),
        ("nodeName", names::subdomain),
        ("hostname", names::label),
        ("subdomain", names::label),
        ("priorityClassName", names::subdomain),
    ] {
        let value = text(spec, field);
        if !value.is_empty() {
            let problems = problems(value).into_iter();
            errors.extend(problems.map(|problem| FieldError::invalid(&path.child(field), value, problem)));
        }
    }
    if let Some(seconds) = int(spec, &["activeDeadlineSeconds"])
        && !(1..=LONGEST).contains(&seconds)
    {
        let detail = format!("must be between 1 and {LONGEST}, inclusive");
        errors.push(FieldError::invalid(&path.child("activeDeadlineSeconds"), seconds, detail));
    }
    for (index, toleration) in items(spec, &["tolerations"]).iter().enumerate() {
        validate_toleration(toleration, &path.child("tolerations").index(index), &mut errors);
    }
    for (index, alias) in items(spec, &["hostAliases"]).iter().enumerate() {
        let path = path.child("hostAliases").index(index);
        let ip = text(alias, "ip");
        if ip.parse::<IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(&path.child("ip"), ip, detail));
        }
    }
    let policy = text(spec, "preemptionPolicy");
    if !policy.is_empty() && !POLICIES.contains(&policy) {
        errors.push(FieldError::not_supported(&path.child("preemptionPolicy"), policy, &POLICIES));
    }
    errors
}

fn validate_gates(spec: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, gate) in items(spec, &["readinessGates"]).iter().enumerate() {
        let path = path.child("readinessGates").index(index).child("conditionType");
        let kind = text(gate, "conditionType");
        errors.extend(
            names::qualified(kind).into_iter().map(|problem| FieldError::invalid(&path, kind, problem)),
        );
    }
    let gates = items(spec, &["schedulingGates"]);
    if !gates.is_empty() && at(spec, &["nodeName"]).is_some_and(|name| name != "") {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden(&path.child("nodeName"), detail));
    }
    for (index, gate) in gates.iter().enumerate() {
        let path = path.child("schedulingGates").index(index);
        let name = text(gate, "name");
        let problems = names::qualified(name);
        errors.extend(
            problems.into_iter().map(|problem| FieldError::invalid(&path.child("name"), name, problem)),
        );
        if gates.get(..index).unwrap_or_default().iter().any(|other| text(other, "name") == name) {
            errors.push(FieldError::duplicate(&path, name));
        }
    }
}

fn validate_toleration(toleration: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
    let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
    if !key.is_empty() {
        let problems = names::qualified(key);
        errors.extend(
            problems.into_iter().map(|problem| FieldError::invalid(&path.child("key"), key, problem)),
        );
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(FieldError::invalid(&path.child("operator"), operator, detail));
    }
    let seconds = int(toleration, &["tolerationSeconds"]);
    if seconds.is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(&path.child("effect"), effect, detail));
    }
    match operator {
        "Equal" | "" => {
            let problems = names::label_value(value);
            errors.extend(
                problems.into_iter().map(|problem| FieldError::invalid(&path.child("value"), value, problem)),
            );
        }
        "Exists" if !value.is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(&path.child("operator"), value, detail));
        }
        "Exists" => {}
        operator => {
            errors.push(FieldError::not_supported(&path.child("operator"), operator, &["Equal", "Exists"]));
        }
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        errors.push(FieldError::not_supported(&path.child("effect"), effect, &EFFECTS));
    }
}
