//! Under which address players reach a server (reference 2.3).

use std::net::IpAddr;

use crate::gates::{FeatureGates, Gate};
use crate::types::{GameServer, GameServerPort, GameServerStatusPort, Node, NodeAddress, Pod};

/// A node that has no address for players.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {0:?} has no external or internal address")]
pub struct NoAddress(pub String);

/// The address of a node for players: its external name, its external address, its internal name, its internal address.
///
/// # Errors
///
/// If it has none of them.
pub fn address_of(node: &Node) -> Result<&str, NoAddress> {
    let addresses = &node.status.addresses;
    let name = |kind: &str| addresses.iter().find(|address| address.kind == kind);
    let ip = |kind: &str| {
        addresses.iter().find(|address| address.kind == kind && address.address.parse::<IpAddr>().is_ok())
    };
    name("ExternalDNS")
        .or_else(|| ip("ExternalIP"))
        .or_else(|| name("InternalDNS"))
        .or_else(|| ip("InternalIP"))
        .map(|address| address.address.as_str())
        .ok_or_else(|| NoAddress(node.metadata.name.to_string()))
}

/// Writes into a server's status where its players connect to.
///
/// # Errors
///
/// If the node has no address.
pub fn apply_address(
    server: &mut GameServer,
    node: &Node,
    pod: &Pod,
    gates: FeatureGates,
) -> Result<(), NoAddress> {
    let address = address_of(node)?.to_owned();
    server.status.address = address;
    server.status.node_name.clone_from(&pod.spec.node_name);
    let pod_ips = pod.status.pod_ips.iter();
    let pod_ips = pod_ips.map(|ip| NodeAddress { kind: "PodIP".to_owned(), address: ip.ip.clone() });
    server.status.addresses = node.status.addresses.iter().cloned().chain(pod_ips).collect();
    server.status.ports = server.spec.ports.iter().map(|port| status_port(port, gates)).collect();
    Ok(())
}

/// Whether one of a node's addresses is the server's.
pub fn has_address(node: &Node, address: &str) -> bool {
    node.status.addresses.iter().any(|known| known.address == address)
}

pub(super) fn status_port(port: &GameServerPort, gates: FeatureGates) -> GameServerStatusPort {
    let has_none = port.port_policy == "None" && gates.has(Gate::PortPolicyNone);
    let number = if has_none { port.container_port } else { port.host_port };
    GameServerStatusPort { name: port.name.clone(), port: number, ..GameServerStatusPort::default() }
}
