//! What is wrong with a pod's containers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::names;
use super::super::quantity::Quantity;
use super::super::service::validate_target;
use super::super::value::{at, entries, int, is_empty, items, text};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const MESSAGE_POLICIES: [&str; 2] = ["File", "FallbackToLogsOnError"];
const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";
const HANDLERS: [&str; 5] = ["exec", "grpc", "httpGet", "sleep", "tcpSocket"];

/// `volumes` are the names of the pod's volumes.
pub(super) fn validate_all(
    spec: &Value,
    volumes: &BTreeSet<&str>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let containers = items(spec, &["containers"]);
    if containers.is_empty() {
        errors.push(FieldError::required(&path.child("containers"), ""));
    }
    let mut seen = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        for (index, container) in items(spec, &[list]).iter().enumerate() {
            let path = path.child(list).index(index);
            validate_name(container, &mut seen, &path, errors);
            validate(container, volumes, &path, errors);
            if list == "containers" {
                validate_host_ports(container, &mut host_ports, &path, errors);
            }
        }
    }
}

fn validate_name<'a>(
    container: &'a Value,
    seen: &mut BTreeSet<&'a str>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let (path, name) = (path.child("name"), text(container, "name"));
    if name.is_empty() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    for problem in names::label(name) {
        errors.push(FieldError::invalid(&path, name, problem));
    }
    if !seen.insert(name) {
        errors.push(FieldError::duplicate(&path, name));
    }
}

fn validate(container: &Value, volumes: &BTreeSet<&str>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let image = text(container, "image");
    if image.is_empty() {
        errors.push(FieldError::required(&path.child("image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(&path.child("image"), image, detail));
    }
    if let Some(lifecycle) = at(container, &["lifecycle"]) {
        for hook in ["postStart", "preStop"] {
            if let Some(handler) = at(lifecycle, &[hook]) {
                validate_handler(handler, &path.child("lifecycle").child(hook), errors);
            }
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe_value) = at(container, &[probe]) {
            validate_probe(probe_value, &path.child(probe), errors);
        }
    }
    enumerated(container, "terminationMessagePolicy", &MESSAGE_POLICIES, path, errors);
    validate_ports(container, &path.child("ports"), errors);
    validate_env(container, &path.child("env"), errors);
    validate_mounts(container, volumes, &path.child("volumeMounts"), errors);
    enumerated(container, "imagePullPolicy", &PULL_POLICIES, path, errors);
    validate_resources(container, &path.child("resources"), errors);
}

/// A field that is required and has one of a few values.
pub(super) fn enumerated(
    value: &Value,
    field: &str,
    accepted: &[&str],
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    match text(value, field) {
        "" => errors.push(FieldError::required(&path.child(field), "")),
        found if !accepted.contains(&found) => {
            errors.push(FieldError::not_supported(&path.child(field), found, accepted));
        }
        _ => {}
    }
}

fn validate_ports(container: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, port) in items(container, &["ports"]).iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let problems = names::port_name(name);
            if problems.is_empty() && !seen.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
            errors.extend(problems.into_iter().map(|p| FieldError::invalid(&path.child("name"), name, p)));
        }
        match int(port, &["containerPort"]).unwrap_or_default() {
            0 => errors.push(FieldError::required(&path.child("containerPort"), "")),
            1..=65_535 => {}
            number => errors.push(FieldError::invalid(&path.child("containerPort"), number, PORT_RANGE)),
        }
        match int(port, &["hostPort"]).unwrap_or_default() {
            0..=65_535 => {}
            number => errors.push(FieldError::invalid(&path.child("hostPort"), number, PORT_RANGE)),
        }
        enumerated(port, "protocol", &PROTOCOLS, &path, errors);
    }
}

/// Two containers cannot have the same port of their node.
fn validate_host_ports(
    container: &Value,
    seen: &mut BTreeSet<String>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    for (index, port) in items(container, &["ports"]).iter().enumerate() {
        let number = int(port, &["hostPort"]).unwrap_or_default();
        if number == 0 {
            continue;
        }
        let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
        if !seen.insert(key.clone()) {
            errors.push(FieldError::duplicate(&path.child("ports").index(index).child("hostPort"), key));
        }
    }
}

fn validate_env(container: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, variable) in items(container, &["env"]).iter().enumerate() {
        let path = path.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            let problems = names::env_name(name).into_iter();
            errors.extend(problems.map(|p| FieldError::invalid(&path.child("name"), name, p)));
        }
        let Some(source) = at(variable, &["valueFrom"]) else { continue };
        let path = path.child("valueFrom");
        let sources = source.as_object().map_or(0, |fields| fields.values().filter(|v| !v.is_null()).count());
        if sources == 0 {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef`, \
                          or `fileKeyRef`";
            errors.push(FieldError::invalid(&path, "", detail));
        } else if !text(variable, "value").is_empty() {
            errors.push(FieldError::invalid(&path, "", "may not be specified when `value` is not empty"));
        } else if sources > 1 {
            errors.push(FieldError::invalid(
                &path,
                "",
                "may not have more than one field specified at a time",
            ));
        }
    }
}

fn validate_mounts(
    container: &Value,
    volumes: &BTreeSet<&str>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let mut seen = BTreeSet::new();
    for (index, mount) in items(container, &["volumeMounts"]).iter().enumerate() {
        let path = path.index(index);
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        if !volumes.contains(name) {
            // The server has a reason of its own for this, `FieldValueNotFound`.
            errors.push(FieldError::invalid(&path.child("name"), name, "not found"));
        }
        if place.is_empty() {
            errors.push(FieldError::required(&path.child("mountPath"), ""));
        } else if !seen.insert(place) {
            errors.push(FieldError::invalid(&path.child("mountPath"), place, "must be unique"));
        }
    }
}

fn validate_probe(probe: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    validate_handler(probe, path, errors);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        if let Some(number @ ..0) = int(probe, &[field]) {
            errors.push(FieldError::invalid(
                &path.child(field),
                number,
                "must be greater than or equal to 0",
            ));
        }
    }
    let successes = int(probe, &["successThreshold"]).unwrap_or_default();
    if successes > 1 && !path.to_string().ends_with("readinessProbe") {
        errors.push(FieldError::invalid(&path.child("successThreshold"), successes, "must be 1"));
    }
}

fn validate_handler(handler: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let given: Vec<_> = HANDLERS.iter().filter(|kind| at(handler, &[kind]).is_some()).collect();
    if given.is_empty() {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    for (index, kind) in given.into_iter().enumerate() {
        let path = path.child(kind);
        if index > 0 {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 handler type"));
            continue;
        }
        match *kind {
            "exec" if items(handler, &["exec", "command"]).is_empty() => {
                errors.push(FieldError::required(&path.child("command"), ""));
            }
            "httpGet" => {
                if at(handler, &["httpGet", "path"]).is_none_or(is_empty) {
                    errors.push(FieldError::required(&path.child("path"), ""));
                }
                validate_target(at(handler, &["httpGet", "port"]), &path.child("port"), errors);
            }
            "tcpSocket" | "grpc" => {
                validate_target(at(handler, &[kind, "port"]), &path.child("port"), errors);
            }
            _ => {}
        }
    }
}

fn validate_resources(container: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let amount = |value: &Value| value.as_str().and_then(Quantity::parse);
    for list in ["limits", "requests"] {
        for (name, value) in entries(container, &["resources", list]) {
            let path_of_list = path.child(list);
            let path = path_of_list.key(name);
            validate_resource_name(name, &path, errors);
            let Some(found) = amount(value) else { continue };
            if found.is_negative() {
                errors.push(FieldError::invalid(&path, value.clone(), "must be greater than or equal to 0"));
            }
            let limit = at(container, &["resources", "limits", name]);
            if let (true, Some(limit)) = (list == "requests", limit.and_then(amount))
                && found > limit
            {
                let detail = format!("must be less than or equal to {name} limit of {}", limit.print());
                errors.push(FieldError::invalid(&path_of_list, found.print(), detail));
            }
        }
    }
}

fn validate_resource_name(name: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for problem in names::qualified(name) {
        errors.push(FieldError::invalid(path, name, problem));
    }
    let known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !name.contains('/') && !known {
        errors.push(FieldError::invalid(path, name, "must be a standard resource type or fully qualified"));
        errors.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    }
}
