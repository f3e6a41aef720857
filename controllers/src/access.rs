//! What a program with the loops may do in a cluster, as RBAC has it (reference 7.7).

use serde_json::{Value, json};

/// The service account that the original's controller runs as.
pub const SERVICE_ACCOUNT: &str = "agones-controller";

/// The service account in a namespace, the role that suffices for all loops, and the binding of one to the other. The namespace is
/// not among them.
///
/// It is what the original's controller is given: a program with the loops can take its place without being given more.
///
/// # Example
///
/// ```
/// let kinds: Vec<_> = lariat_controllers::access::all("agones-system")
///     .iter()
///     .map(|object| object["kind"].as_str().unwrap().to_owned())
///     .collect();
/// assert_eq!(kinds, ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]);
/// ```
pub fn all(namespace: &str) -> Vec<Value> {
    let labels = json!({"app": "agones"});
    let account = json!({"name": SERVICE_ACCOUNT, "namespace": namespace, "labels": labels});
    let unbound = json!({"name": SERVICE_ACCOUNT, "labels": labels});
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": unbound, "rules": rules(),
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": unbound,
            "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": namespace}],
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SERVICE_ACCOUNT,
            },
        }),
    ]
}

fn rules() -> Value {
    const ALL: &[&str] = &["create", "delete", "get", "list", "update", "watch"];
    const READ_AND_REPLACE: &[&str] = &["get", "list", "update", "watch"];
    let agones = "agones.dev";
    let autoscaling = "autoscaling.agones.dev";
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    json!([
        rule("", &["events"], &["create", "patch"]),
        rule("", &["pods"], &["create", "update", "delete", "list", "watch"]),
        rule("", &["nodes", "secrets"], &["list", "watch"]),
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get"]),
        rule(agones, &["gameservers", "gameserversets"], ALL),
        rule(agones, &["gameservers"], &["patch"]),
        rule(agones, &["fleets"], READ_AND_REPLACE),
        rule(agones, &["fleets/status", "gameserversets/status"], &["update"]),
        rule(
            agones,
            &["fleets/finalizers", "gameserversets/finalizers", "gameservers/finalizers"],
            &["update"],
        ),
        rule(autoscaling, &["fleetautoscalers"], READ_AND_REPLACE),
        rule(autoscaling, &["fleetautoscalers/status"], &["update"]),
        rule("multicluster.agones.dev", &["gameserverallocationpolicies"], ALL),
        rule("coordination.k8s.io", &["leases"], ALL),
    ])
}
