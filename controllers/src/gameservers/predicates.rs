//! What is wrong with a pod (reference 2.6).

use crate::gates::{FeatureGates, Gate};
use crate::types::{ContainerStatus, Pod};

/// Whether a pod had to leave its node.
pub fn is_evicted(pod: &Pod) -> bool {
    pod.status.reason == "Evicted"
}

/// Whether a pod has ended, and not well. Without sidecar containers pods do not end by themselves.
pub fn has_failed(pod: &Pod, gates: FeatureGates) -> bool {
    gates.has(Gate::SidecarContainers) && pod.status.phase == "Failed"
}

/// Whether the game's container has ended, now or before. With sidecar containers the phase of the pod says so.
pub fn has_failed_container(pod: &Pod, gates: FeatureGates) -> bool {
    let ended = |status: &ContainerStatus| {
        status.state.terminated.is_some() || status.last_state.terminated.is_some()
    };
    !gates.has(Gate::SidecarContainers) && pod.game_container().is_some_and(ended)
}

/// Whether no node has the pod's host ports free. With sidecar containers such a pod waits for a node.
pub fn has_no_free_ports(pod: &Pod, gates: FeatureGates) -> bool {
    if gates.has(Gate::SidecarContainers) {
        return false;
    }
    pod.status.conditions.iter().any(|condition| {
        condition.kind == "PodScheduled"
            && condition.reason == "Unschedulable"
            && condition.message.contains("free ports")
    })
}

/// Whether the server of a pod cannot go on.
pub fn is_unhealthy(pod: &Pod, gates: FeatureGates) -> bool {
    is_evicted(pod)
        || has_failed(pod, gates)
        || has_no_free_ports(pod, gates)
        || has_failed_container(pod, gates)
}
