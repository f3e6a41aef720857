//! What a program with the loops may do in a cluster, as RBAC has it (reference 7.7).

use serde_json::{Value, json};

/// The service account that the original's controller runs as.
pub const SERVICE_ACCOUNT: &str = "agones-controller";

/// The service account that game servers run as unless they name another one.
pub const SDK_SERVICE_ACCOUNT: &str = "agones-sdk";

/// The service account in a namespace, the role that suffices for all loops, and the binding of one to the other. The namespace is
/// not among them.
///
/// It is what the original's controller is given: a program with the loops can take its place without being given more.
///
/// # Example
///
/// ```
/// let kinds: Vec<_> = lariat_controllers::access::controller("agones-system")
///     .iter()
///     .map(|object| object["kind"].as_str().unwrap().to_owned())
///     .collect();
/// assert_eq!(kinds, ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]);
/// ```
pub fn controller(namespace: &str) -> Vec<Value> {
    let mut binding = binding("ClusterRoleBinding", SERVICE_ACCOUNT, namespace);
    if let Some(metadata) = binding["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    vec![account(SERVICE_ACCOUNT, namespace), role(SERVICE_ACCOUNT, &rules()), binding]
}

/// What the SDK server beside each game server needs in some namespaces: a role, and a service account and a binding in each. API servers
/// refuse pods whose service account is missing.
///
/// # Example
///
/// ```
/// assert_eq!(lariat_controllers::access::sdk(["default", "games"]).len(), 5);
/// assert!(lariat_controllers::access::sdk([]).is_empty());
/// ```
pub fn sdk<'a>(namespaces: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    let rules = json!([
        rule("", &["events"], &["create", "patch"]),
        rule("agones.dev", &["gameservers"], &["list", "patch", "update", "watch"]),
    ]);
    let each = namespaces.into_iter().flat_map(|namespace| {
        [account(SDK_SERVICE_ACCOUNT, namespace), binding("RoleBinding", SDK_SERVICE_ACCOUNT, namespace)]
    });
    let mut objects: Vec<Value> = each.collect();
    if !objects.is_empty() {
        objects.insert(0, role(SDK_SERVICE_ACCOUNT, &rules));
    }
    objects
}

fn account(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "agones"}},
    })
}

fn role(name: &str, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {"app": "agones"}}, "rules": rules,
    })
}

/// A binding of an account to the role of its name, named as the original names it.
fn binding(kind: &str, name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {"name": format!("{name}-access"), "namespace": namespace, "labels": {"app": "agones"}},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
    })
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn rules() -> Value {
    const ALL: &[&str] = &["create", "delete", "get", "list", "update", "watch"];
    const READ_AND_REPLACE: &[&str] = &["get", "list", "update", "watch"];
    let agones = "agones.dev";
    let autoscaling = "autoscaling.agones.dev";
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
