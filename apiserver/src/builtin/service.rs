//! Services, and the addresses and ports that they are given.

use serde_json::{Value, json};

use super::names;
use super::value::{at, fill, int, items, items_mut, remove, restore, set, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const AFFINITIES: [&str; 2] = ["ClientIP", "None"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

/// The addresses of services are 10.0.0.2 to 10.0.0.254; 10.0.0.1 is the API server's own.
const NETWORK: &str = "10.0.0.";
const ADDRESSES: u64 = 253;
/// Ports on nodes are 30000 to 32767.
const FIRST_NODE_PORT: u64 = 30_000;
const NODE_PORTS: u64 = 2_768;

pub(crate) fn default(service: &mut Value) {
    if text_at(service, &["spec", "type"]) == "LoadBalancer" {
        for ingress in items_mut(service, &["status", "loadBalancer", "ingress"]) {
            if !text(ingress, "ip").is_empty() {
                fill(ingress, "ipMode", "VIP");
            }
        }
    }
    if service.get("spec").is_none_or(|spec| !spec.is_object()) {
        return;
    }
    let Some(spec) = service.get_mut("spec") else { return };
    fill(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "ClientIP" if at(spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"]).is_none() => {
            set(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10_800}}));
        }
        "None" => _ = remove(spec, "sessionAffinityConfig"),
        _ => {}
    }
    fill(spec, "type", "ClusterIP");
    for port in items_mut(spec, &["ports"]) {
        fill(port, "protocol", "TCP");
        if port.get("targetPort").is_none_or(|target| target.is_null() || target == 0 || target == "") {
            let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
            set(port, "targetPort", number);
        }
    }
    let kind = text(spec, "type").to_owned();
    let external = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
    if external || (kind == "ClusterIP" && !items(spec, &["externalIPs"]).is_empty()) {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if external || kind == "ClusterIP" {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
}

pub(crate) fn prepare_create(service: &mut Value) {
    set(service, "status", json!({"loadBalancer": {}}));
}

/// What was given to a service stays with it, unless its type says that it has no use for it any more.
pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    restore(new, old, "status");
    let Some(old_spec) = old.get("spec") else { return };
    let old_ports = items(old_spec, &["ports"]);
    let Some(spec) = new.get_mut("spec") else { return };
    let (kind, old_kind) = (text(spec, "type").to_owned(), text(old_spec, "type"));
    if kind == "ExternalName" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(field) == old_spec.get(field) {
                remove(spec, field);
            }
        }
    } else if old_kind != "ExternalName" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(field).is_none_or(super::value::is_empty) {
                restore(spec, old_spec, field);
            }
        }
        // A new first address that came in by the older field alone.
        let (ip, old_ip) = (text(spec, "clusterIP").to_owned(), text(old_spec, "clusterIP"));
        if ip != old_ip
            && spec.get("clusterIPs") == old_spec.get("clusterIPs")
            && let Some(first) = items_mut(spec, &["clusterIPs"]).next()
        {
            *first = ip.into();
        }
    }
    let on_nodes = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
    let was_on_nodes = matches!(old_kind, "NodePort" | "LoadBalancer");
    for port in items_mut(spec, &["ports"]) {
        let same = |other: &&Value| {
            text(other, "protocol") == text(port, "protocol") && other.get("port") == port.get("port")
        };
        let Some(node_port) = old_ports.iter().find(same).and_then(|old| old.get("nodePort")) else {
            continue;
        };
        let mine = int(port, &["nodePort"]).unwrap_or_default();
        if on_nodes && mine == 0 {
            set(port, "nodePort", node_port.clone());
        } else if was_on_nodes && !on_nodes && port.get("nodePort") == Some(node_port) {
            remove(port, "nodePort");
        }
    }
    let external = on_nodes || (kind == "ClusterIP" && !items(spec, &["externalIPs"]).is_empty());
    for (field, unused) in [
        ("allocateLoadBalancerNodePorts", kind != "LoadBalancer"),
        ("externalTrafficPolicy", !external),
        ("healthCheckNodePort", !on_nodes),
        ("internalTrafficPolicy", kind == "ExternalName"),
    ] {
        if unused && spec.get(field) == old_spec.get(field) {
            remove(spec, field);
        }
    }
    if kind != "LoadBalancer" && old_kind == "LoadBalancer" {
        set(new, "status", json!({"loadBalancer": {}}));
    }
}

/// Gives a service its address, and its ports on nodes where its type has them.
///
/// `counter` says where to look first, and is moved on past what was given; `taken` says whether an address or a port
/// (in digits) is in use. What the service had as `old` stays with it without being asked for. Call this after [`super::Strategy::prepare_create`] or [`super::Strategy::prepare_update`]: what
/// is there already stays.
///
/// # Errors
///
/// The address that was asked for is not one of the cluster's or is taken, or there are no more.
///
/// # Example
///
/// ```
/// use lariat_apiserver::builtin::allocate;
/// use serde_json::json;
///
/// let mut service = json!({"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}});
/// let mut counter = 0;
/// assert!(allocate(&mut service, None, &mut counter, |address| address == "10.0.0.2").is_ok());
/// assert_eq!(service["spec"]["clusterIP"], "10.0.0.3");
/// ```
pub fn allocate(
    service: &mut Value,
    old: Option<&Value>,
    counter: &mut u64,
    taken: impl Fn(&str) -> bool,
) -> Result<(), FieldError> {
    let has_selector =
        at(service, &["spec", "selector"]).and_then(Value::as_object).is_some_and(|s| !s.is_empty());
    let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else { return Ok(()) };
    let kind = text(spec, "type").to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    let path = FieldPath::new("spec").child("clusterIPs");
    let fixed = text(spec, "clusterIP");
    let address = match (fixed, items(spec, &["clusterIPs"]).first().and_then(Value::as_str)) {
        ("", Some(first)) => first.to_owned(),
        (fixed, _) => fixed.to_owned(),
    };
    let address =
        match address.as_str() {
            "" => next(counter, ADDRESSES, |place| format!("{NETWORK}{}", place + 2), &taken).ok_or_else(
                || FieldError::invalid(&path, json!([]), "failed to allocate a serviceIP: range is full"),
            )?,
            "None" => address,
            wanted if old.is_some_and(|old| text_at(old, &["spec", "clusterIP"]) == wanted) => address,
            wanted => {
                let refuse = |problem: &str| {
                    let detail = format!("failed to allocate IP {wanted}: {problem}");
                    Err(FieldError::invalid(&path, json!([wanted]), detail))
                };
                let host = wanted.strip_prefix(NETWORK).and_then(|host| host.parse::<u8>().ok());
                if host.is_none_or(|host| host == 0 || host == 255) {
                    return refuse("the provided network does not match the current range");
                }
                if taken(wanted) {
                    return refuse("provided IP is already allocated");
                }
                address
            }
        };
    let (families, policy) = match address == "None" && !has_selector {
        true => (json!(["IPv4", "IPv6"]), "RequireDualStack"),
        false => (json!(["IPv4"]), "SingleStack"),
    };
    set(spec, "clusterIPs", json!([address]));
    set(spec, "clusterIP", address);
    fill(spec, "ipFamilies", families);
    fill(spec, "ipFamilyPolicy", policy);
    let wants_ports = match kind.as_str() {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    };
    if wants_ports {
        let mut given: Vec<String> = items(spec, &["ports"])
            .iter()
            .filter_map(|port| int(port, &["nodePort"]))
            .map(|port| port.to_string())
            .collect();
        for (index, port) in items_mut(spec, &["ports"]).enumerate() {
            if int(port, &["nodePort"]).unwrap_or_default() != 0 {
                continue;
            }
            let in_use = |port: &str| taken(port) || given.iter().any(|given| given == port);
            let node_port = next(counter, NODE_PORTS, |place| (FIRST_NODE_PORT + place).to_string(), &in_use);
            let number = node_port.as_ref().and_then(|port| port.parse::<u64>().ok());
            let (Some(node_port), Some(number)) = (node_port, number) else {
                let path = FieldPath::new("spec").child("ports").index(index).child("nodePort");
                return Err(FieldError::invalid(&path, 0, "failed to allocate a nodePort: range is full"));
            };
            given.push(node_port);
            set(port, "nodePort", number);
        }
    }
    Ok(())
}

/// The next that is not taken, going around once.
fn next(
    counter: &mut u64,
    size: u64,
    name: impl Fn(u64) -> String,
    taken: &impl Fn(&str) -> bool,
) -> Option<String> {
    (0..size).find_map(|_| {
        let found = name(*counter % size);
        *counter = counter.wrapping_add(1);
        (!taken(&found)).then_some(found)
    })
}

pub(crate) fn validate(service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    let null = Value::Null;
    let spec = service.get("spec").unwrap_or(&null);
    let kind = text(spec, "type");
    let ports = items(spec, &["ports"]);
    if ports.is_empty() && text(spec, "clusterIP") != "None" && kind != "ExternalName" {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    if kind == "ExternalName" {
        let name = text(spec, "externalName");
        let path = path.child("externalName");
        match name.to_lowercase().trim_end_matches('.') {
            "" => errors.push(FieldError::required(&path, "")),
            host => {
                let problems = names::subdomain(host);
                errors.extend(problems.into_iter().map(|problem| FieldError::invalid(&path, name, problem)));
            }
        }
    }
    let ports_path = path.child("ports");
    for (index, port) in ports.iter().enumerate() {
        let before = ports.get(..index).unwrap_or_default();
        validate_port(port, before, ports.len() > 1, kind, &ports_path.index(index), &mut errors);
    }
    super::meta::validate_labels(spec, "selector", &path.child("selector"), &mut errors);
    let affinity = text(spec, "sessionAffinity");
    match affinity {
        "" => errors.push(FieldError::required(&path.child("sessionAffinity"), "")),
        affinity if !AFFINITIES.contains(&affinity) => {
            errors.push(FieldError::not_supported(&path.child("sessionAffinity"), affinity, &AFFINITIES));
        }
        _ => {}
    }
    if let Some(seconds) = int(spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"])
        && !(1..=86_400).contains(&seconds)
    {
        let path = path.child("sessionAffinityConfig").child("clientIP").child("timeoutSeconds");
        errors.push(FieldError::invalid(
            &path,
            seconds,
            "must be greater than 0 and less than or equal to 86400",
        ));
    }
    match kind {
        "" => errors.push(FieldError::required(&path.child("type"), "")),
        kind if !TYPES.contains(&kind) => {
            errors.push(FieldError::not_supported(&path.child("type"), kind, &TYPES));
        }
        _ => {}
    }
    // The same port twice under two names. Names are told apart by themselves, targets do not matter.
    for (index, port) in ports.iter().enumerate() {
        let key = |port: &Value| (text(port, "protocol").to_owned(), int(port, &["port"]));
        if ports.get(..index).unwrap_or_default().iter().any(|other| key(other) == key(port)) {
            let shown = json!({
                "Name": "",
                "Protocol": text(port, "protocol"),
                "AppProtocol": null,
                "Port": int(port, &["port"]).unwrap_or_default(),
                "TargetPort": 0,
                "NodePort": 0,
            });
            errors.push(FieldError::duplicate(&ports_path.index(index), shown));
        }
    }
    errors
}

fn validate_port(
    port: &Value,
    before: &[Value],
    needs_name: bool,
    kind: &str,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let name = text(port, "name");
    if name.is_empty() {
        if needs_name {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
    } else {
        for problem in names::label(name) {
            errors.push(FieldError::invalid(&path.child("name"), name, problem));
        }
        if before.iter().any(|other| text(other, "name") == name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
    }
    let number = int(port, &["port"]).unwrap_or_default();
    if !(1..=65_535).contains(&number) {
        errors.push(FieldError::invalid(&path.child("port"), number, PORT_RANGE));
    }
    let protocol = text(port, "protocol");
    if protocol.is_empty() {
        errors.push(FieldError::required(&path.child("protocol"), ""));
    } else if !PROTOCOLS.contains(&protocol) {
        errors.push(FieldError::not_supported(&path.child("protocol"), protocol, &PROTOCOLS));
    }
    validate_target(port.get("targetPort"), &path.child("targetPort"), errors);
    let node_port = int(port, &["nodePort"]).unwrap_or_default();
    if kind == "ClusterIP" && node_port != 0 {
        let detail = "may not be used when `type` is 'ClusterIP'";
        errors.push(FieldError::forbidden(&path.child("nodePort"), detail));
    }
}

/// What is wrong with a port that is a number or a name.
pub(crate) fn validate_target(target: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match target {
        Some(Value::String(name)) => {
            for problem in names::port_name(name) {
                errors.push(FieldError::invalid(path, name.as_str(), problem));
            }
        }
        target => {
            let number = target.and_then(Value::as_i64).unwrap_or_default();
            if !(1..=65_535).contains(&number) {
                errors.push(FieldError::invalid(path, number, PORT_RANGE));
            }
        }
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let kinds = (text_at(old, &["spec", "type"]), text_at(new, &["spec", "type"]));
    let (before, after) = (items(old, &["spec", "clusterIPs"]), items(new, &["spec", "clusterIPs"]));
    let changed = match (before.first(), after.first()) {
        (Some(before), after) => Some(before) != after,
        (None, _) => false,
    };
    if !changed || kinds.0 == "ExternalName" || kinds.1 == "ExternalName" {
        return Vec::new();
    }
    let path = FieldPath::new("spec").child("clusterIPs").index(0);
    vec![FieldError::invalid(&path, json!(after), "may not change once set")]
}

pub(crate) fn validate_status(service: &Value) -> Vec<FieldError> {
    let ingress = items(service, &["status", "loadBalancer", "ingress"]);
    if ingress.is_empty() || text_at(service, &["spec", "type"]) == "LoadBalancer" {
        return Vec::new();
    }
    let path = FieldPath::new("status").child("loadBalancer").child("ingress");
    vec![FieldError::forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'")]
}
