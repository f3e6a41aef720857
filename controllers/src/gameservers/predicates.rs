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

/// With which status the game has ended for good although its pod goes on, as one with further containers does: nothing starts it
/// again, and the phase of the pod says nothing of it (issue 4728). Without sidecar containers a game that ends is started again.
pub fn ended_game(pod: &Pod, gates: FeatureGates) -> Option<i32> {
    if !gates.has(Gate::SidecarContainers) {
        return None;
    }
    let status = pod.game_container()?.state.terminated.as_ref()?.exit_code;
    match pod.spec.other.get("restartPolicy").and_then(serde_json::Value::as_str) {
        Some("Never") => Some(status),
        Some("OnFailure") if status == 0 => Some(status),
        _ => None,
    }
}

/// Whether the game of a pod has come to a good end.
pub fn has_succeeded(pod: &Pod, gates: FeatureGates) -> bool {
    pod.status.phase == "Succeeded" || ended_game(pod, gates) == Some(0)
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
        || ended_game(pod, gates).is_some_and(|status| status != 0)
}
