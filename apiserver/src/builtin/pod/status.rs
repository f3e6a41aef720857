//! A pod's state in a few words, as tables show it.

use std::time::SystemTime;

use serde_json::Value;

use super::super::table::age;
use super::super::value::{at, flag, int, items, text, text_at};
use crate::schema::shared::parse_rfc3339;

/// What a table shows of a pod's containers.
pub(crate) struct Summary {
    /// `1/2`.
    pub(crate) ready: String,
    /// The phase, or what is wrong.
    pub(crate) status: String,
    /// `3 (5m ago)`.
    pub(crate) restarts: String,
}

/// Restarts, and when the last one was.
#[derive(Default)]
struct Restarts<'a> {
    count: i64,
    last: &'a str,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, container: &'a Value) {
        self.count = self.count.saturating_add(int(container, &["restartCount"]).unwrap_or_default());
        let finished = text_at(container, &["lastState", "terminated", "finishedAt"]);
        if parse_rfc3339(self.last) < parse_rfc3339(finished) {
            self.last = finished;
        }
    }
}

/// The state of a pod's containers.
pub(crate) fn summary(pod: &Value, now: SystemTime) -> Summary {
    let phase = text_at(pod, &["status", "phase"]);
    let reason = text_at(pod, &["status", "reason"]);
    let conditions = items(pod, &["status", "conditions"]);
    let mut status = if reason.is_empty() { phase } else { reason }.to_owned();
    let gated = |c: &Value| text(c, "type") == "PodScheduled" && text(c, "reason") == "SchedulingGated";
    if conditions.iter().any(gated) {
        status = "SchedulingGated".into();
    }
    let sidecars: Vec<_> = items(pod, &["spec", "initContainers"])
        .iter()
        .filter(|container| text(container, "restartPolicy") == "Always")
        .map(|container| text(container, "name"))
        .collect();
    let is_sidecar = |status: &Value| sidecars.contains(&text(status, "name"));
    let total = items(pod, &["spec", "containers"]).len() + sidecars.len();
    let mut ready: usize = 0;
    let mut restarts = Restarts::default();
    let mut sidecar_restarts = Restarts::default();
    let mut initializing = None;
    for (index, container) in items(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        restarts.add(container);
        if is_sidecar(container) {
            sidecar_restarts.add(container);
        }
        if at(container, &["state", "terminated"]).is_some() && exit_code(container) == 0 {
            continue;
        }
        if is_sidecar(container) && flag(container, &["started"]) {
            ready += usize::from(flag(container, &["ready"]));
            continue;
        }
        initializing = Some(init_status(pod, container, index));
        break;
    }
    let initialized = has_condition(conditions, "Initialized");
    if let Some(init) = &initializing {
        status.clone_from(init);
    }
    if initializing.is_none() || initialized {
        restarts = sidecar_restarts;
        let mut running = false;
        let mut failed = None;
        for container in items(pod, &["status", "containerStatuses"]).iter().rev() {
            restarts.add(container);
            let waiting = text_at(container, &["state", "waiting", "reason"]);
            if !waiting.is_empty() {
                status = waiting.into();
            } else if at(container, &["state", "terminated"]).is_some() {
                status = ended(container, "");
                if exit_code(container) != 0 {
                    failed = Some(status.clone());
                }
            } else if flag(container, &["ready"]) && at(container, &["state", "running"]).is_some() {
                running = true;
                ready += 1;
            }
        }
        // One container is done, but others may not be.
        if status == "Completed" {
            status = match (running, failed) {
                (true, _) if has_condition(conditions, "Ready") => "Running".into(),
                (_, Some(failed)) => failed,
                (true, None) => "NotReady".into(),
                (false, None) => status,
            };
        }
    }
    if at(pod, &["metadata", "deletionTimestamp"]).is_some() {
        if reason == "NodeLost" {
            status = "Unknown".into();
        } else if !matches!(phase, "Failed" | "Succeeded") {
            status = "Terminating".into();
        }
    }
    let restarts = match (restarts.count, restarts.last) {
        (count, last) if count == 0 || last.is_empty() => count.to_string(),
        (count, last) => format!("{count} ({} ago)", age(last, now)),
    };
    Summary { ready: format!("{ready}/{total}"), status, restarts }
}

fn has_condition(conditions: &[Value], kind: &str) -> bool {
    conditions.iter().any(|condition| text(condition, "type") == kind && text(condition, "status") == "True")
}

fn exit_code(container: &Value) -> i64 {
    int(container, &["state", "terminated", "exitCode"]).unwrap_or_default()
}

/// Why a container ended.
fn ended(container: &Value, prefix: &str) -> String {
    let reason = text_at(container, &["state", "terminated", "reason"]);
    match int(container, &["state", "terminated", "signal"]).unwrap_or_default() {
        _ if !reason.is_empty() => format!("{prefix}{reason}"),
        0 => format!("{prefix}ExitCode:{}", exit_code(container)),
        signal => format!("{prefix}Signal:{signal}"),
    }
}

/// How far a pod is whose containers start one after the other.
fn init_status(pod: &Value, container: &Value, index: usize) -> String {
    let waiting = text_at(container, &["state", "waiting", "reason"]);
    if at(container, &["state", "terminated"]).is_some() {
        ended(container, "Init:")
    } else if !matches!(waiting, "" | "PodInitializing") {
        format!("Init:{waiting}")
    } else {
        format!("Init:{index}/{}", items(pod, &["spec", "initContainers"]).len())
    }
}
