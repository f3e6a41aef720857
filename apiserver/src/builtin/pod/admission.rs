//! What built-in admission does to pods: tolerations for nodes that are lost, and priorities.

use lariat_api::{Reason, Status, StatusDetails};
use serde_json::{Value, json};

use super::super::meta;
use super::super::priority_class::SYSTEM;
use super::super::value::{fill, flag, int, items, object_mut, restore, set, text, text_at};

const LOST: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
/// How long a pod stays on a node that is lost.
const SECONDS: i64 = 300;

/// Adds the tolerations that keep a pod for a while on a node that is lost.
pub(super) fn tolerate_lost_nodes(pod: &mut Value) {
    let mut tolerations = items(pod, &["spec", "tolerations"]).to_vec();
    for key in LOST {
        let covers = |toleration: &Value| {
            let (own, effect) = (text(toleration, "key"), text(toleration, "effect"));
            (own == key || own.is_empty()) && matches!(effect, "NoExecute" | "")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": SECONDS,
            }));
        }
    }
    if let Some(spec) = object_mut(pod, "spec") {
        spec.insert("tolerations".into(), tolerations.into());
    }
}

/// Gives a pod the priority of the system's classes, or none, where [`resolve_priority`] has not been asked.
pub(super) fn default_priority(pod: &mut Value) {
    let name = text_at(pod, &["spec", "priorityClassName"]);
    let system = SYSTEM.iter().find(|(known, _)| *known == name).map(|(_, priority)| *priority);
    let Some(spec) = pod.get_mut("spec") else { return };
    match system {
        Some(priority) => set(spec, "priority", priority),
        None => fill(spec, "priority", 0),
    }
    fill(spec, "preemptionPolicy", "PreemptLowerPriority");
}

/// A pod that is written back without its priority keeps it.
pub(super) fn keep_priority(new: &mut Value, old: &Value) {
    let (Some(spec), Some(old)) = (new.get_mut("spec"), old.get("spec")) else { return };
    for field in ["priority", "preemptionPolicy"] {
        if spec.get(field).is_none_or(Value::is_null) {
            restore(spec, old, field);
        }
    }
}

/// Sets the priority of a new pod by its class, or by the default class.
///
/// Ask this before [`super::super::Strategy::prepare_create`], with all priority classes.
///
/// # Errors
///
/// The class does not exist, or the pod came with another priority than its class gives (403).
///
/// # Example
///
/// ```
/// use lariat_apiserver::builtin::resolve_priority;
/// use serde_json::json;
///
/// let class = json!({"metadata": {"name": "high"}, "value": 5, "preemptionPolicy": "Never"});
/// let mut pod = json!({"metadata": {"name": "p"}, "spec": {"priorityClassName": "high"}});
/// assert!(resolve_priority(&mut pod, [&class]).is_ok());
/// assert_eq!(pod["spec"]["priority"], 5);
/// ```
pub fn resolve_priority<'a>(
    pod: &mut Value,
    classes: impl IntoIterator<Item = &'a Value>,
) -> Result<(), Status> {
    let pod_name = meta::name(pod).to_owned();
    let refuse = |problem: String| Status {
        status: "Failure".into(),
        message: format!("pods {pod_name:?} is forbidden: {problem}"),
        reason_text: Reason::Forbidden.as_str().into(),
        details: Some(Box::new(StatusDetails {
            name: pod_name.as_str().into(),
            kind: "pods".into(),
            ..StatusDetails::default()
        })),
        code: 403,
    };
    let wanted = text_at(pod, &["spec", "priorityClassName"]).to_owned();
    let value = |class: &&Value| int(class, &["value"]).unwrap_or_default();
    let mut classes = classes.into_iter();
    let class = match wanted.as_str() {
        // The lowest of several default classes.
        "" => classes.filter(|class| flag(class, &["globalDefault"])).min_by_key(value),
        wanted => classes.find(|class| meta::name(class) == wanted),
    };
    let system = SYSTEM.iter().find(|(known, _)| *known == wanted).map(|(_, priority)| *priority);
    let priority = match class {
        Some(class) => value(&class),
        None if wanted.is_empty() => 0,
        None => system.ok_or_else(|| refuse(format!("no PriorityClass with name {wanted} was found")))?,
    };
    if let Some(own) = int(pod, &["spec", "priority"]).filter(|own| *own != priority) {
        return Err(refuse(format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        )));
    }
    let policy = class.map(|class| text(class, "preemptionPolicy")).filter(|policy| !policy.is_empty());
    let Some(spec) = pod.get_mut("spec") else { return Ok(()) };
    set(spec, "priority", priority);
    fill(spec, "preemptionPolicy", policy.unwrap_or("PreemptLowerPriority"));
    if let (Some(class), true) = (class, wanted.is_empty()) {
        set(spec, "priorityClassName", meta::name(class));
    }
    Ok(())
}
