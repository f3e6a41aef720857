use lariat::api::ObjectMeta;
use serde_json::Value;

use super::meta::{name, object_meta};
use super::resources::resources;
use super::{Errors, FieldError};
use crate::defaults::containers_of;
use crate::gates::{FeatureGates, Gate};
use crate::types::{GameServer, GameServerPort, GameServerSpec, names};

/// What is wrong with a game server, defaults applied.
pub fn game_server(server: &GameServer, gates: FeatureGates) -> Vec<FieldError> {
    let mut errors = Errors::default();
    name(&mut errors, &server.metadata);
    spec(&mut errors, &server.spec, server.dev_address(), gates, "spec");
    errors.0
}

pub(super) fn spec(
    errors: &mut Errors,
    spec: &GameServerSpec,
    dev_address: Option<&str>,
    gates: FeatureGates,
    path: &str,
) {
    if !gates.has(Gate::CountsAndLists) {
        if !spec.counters.is_empty() {
            errors.forbidden(format!("{path}.counters"), "needs the feature gate CountsAndLists");
        }
        if !spec.lists.is_empty() {
            errors.forbidden(format!("{path}.lists"), "needs the feature gate CountsAndLists");
        }
    }
    if !gates.has(Gate::PlayerTracking) && spec.players.is_some() {
        errors.forbidden(format!("{path}.players"), "needs the feature gate PlayerTracking");
    }
    let template = match spec.template.get() {
        Ok(template) => template,
        Err(error) => return errors.invalid(format!("{path}.template"), error.to_string()),
    };
    match dev_address {
        Some(address) if !address.is_empty() => dev_server(errors, spec, address, path),
        _ => pod_server(errors, spec, template, gates, path),
    }
    let meta = serde_json::from_value::<Option<ObjectMeta>>(template["metadata"].clone());
    match meta {
        Ok(meta) => object_meta(errors, &meta.unwrap_or_default(), &format!("{path}.template.metadata")),
        Err(error) => errors.invalid(format!("{path}.template.metadata"), error.to_string()),
    }
}

fn dev_server(errors: &mut Errors, spec: &GameServerSpec, address: &str, path: &str) {
    if !GameServer::dev_address_is_ip(address) {
        let field = format!("metadata.annotations.{}", names::DEV_ADDRESS);
        errors.invalid(field, "must be an IP address");
    }
    for (index, port) in spec.ports.iter().enumerate() {
        if port.host_port == 0 {
            errors.required(format!("{path}.ports[{index}].hostPort"), "a server for development needs it");
        }
        if port.port_policy != "Static" {
            let detail = "must be Static for a server for development";
            errors.required(format!("{path}.ports[{index}].portPolicy"), detail);
        }
    }
}

fn pod_server(errors: &mut Errors, spec: &GameServerSpec, template: &Value, gates: FeatureGates, path: &str) {
    let containers = containers_of(template, "containers");
    if spec.container.is_empty() && containers.len() > 1 {
        errors.required(format!("{path}.container"), "name the container of the game: there are several");
    }
    if !has_container(template, &spec.container) {
        errors.invalid(format!("{path}.container"), "there is no such container");
    }
    for (index, port) in spec.ports.iter().enumerate() {
        ports(errors, spec, template, port, gates, &format!("{path}.ports[{index}]"));
    }
    for field in ["initContainers", "containers"] {
        for (index, container) in containers_of(template, field).iter().enumerate() {
            let path = format!("{path}.template.spec.{field}[{index}].resources");
            resources(errors, &container["resources"], &path);
        }
    }
}

fn ports(
    errors: &mut Errors,
    spec: &GameServerSpec,
    template: &Value,
    port: &GameServerPort,
    gates: FeatureGates,
    path: &str,
) {
    let policy = port.port_policy.as_str();
    if policy == "None" && !gates.has(Gate::PortPolicyNone) {
        errors.forbidden(format!("{path}.portPolicy"), "needs the feature gate PortPolicyNone");
    }
    if matches!(policy, "Dynamic" | "Static") && port.container_port <= 0 {
        errors.required(format!("{path}.containerPort"), format!("a port that is {policy} needs it"));
    }
    if policy == "Passthrough" && port.container_port > 0 {
        errors.required(format!("{path}.containerPort"), "must not be set for Passthrough");
    }
    if matches!(policy, "Dynamic" | "Passthrough") && port.host_port > 0 {
        errors.forbidden(format!("{path}.hostPort"), format!("must not be set for {policy}"));
    }
    if let Some(container) = &port.container
        && !spec.container.is_empty()
        && !can_have_ports(template, container)
    {
        errors.invalid(format!("{path}.container"), "there is no such container");
    }
}

fn has_container(template: &Value, name: &str) -> bool {
    containers_of(template, "containers").iter().any(|container| container["name"] == *name)
}

/// Containers of the game, and init containers that go on running.
fn can_have_ports(template: &Value, name: &str) -> bool {
    has_container(template, name)
        || containers_of(template, "initContainers")
            .iter()
            .any(|container| container["name"] == *name && container["restartPolicy"] == "Always")
}
