//! The definitions of the custom resources, as an API server takes them (reference 1.1).

use lariat::api::Resource;
use serde_json::{Value, json};

use crate::types::{Fleet, FleetAutoscaler, GameServer, GameServerSet};

/// The definitions of all custom resources.
///
/// # Example
///
/// ```
/// let names: Vec<_> = lariat_controllers::definitions::all()
///     .iter()
///     .map(|definition| definition["metadata"]["name"].as_str().unwrap().to_owned())
///     .collect();
/// assert!(names.contains(&"gameservers.agones.dev".to_owned()));
/// ```
pub fn all() -> Vec<Value> {
    vec![game_servers(), game_server_sets(), fleets(), fleet_autoscalers(), allocation_policies()]
}

/// The fields of a `GameServerAllocation`, which is no custom resource, but has a schema all the same.
#[cfg(feature = "apiserver")]
pub(crate) fn allocation_schema() -> Value {
    let bounds = |of: &[&str]| -> Value {
        let bounds = of.iter().map(|what| [format!("min{what}"), format!("max{what}")]);
        object(bounds.flatten().map(|field| (field, json!({"type": "integer"}))).collect())
    };
    let mut list_bounds = bounds(&["Available"]);
    list_bounds["properties"]["containsValue"] = text();
    let selector = object(json!({
        "matchLabels": nullable(map(text())),
        "matchExpressions": nullable(list(object(json!({
            "key": text(), "operator": text(), "values": nullable(list(text())),
        })))),
        "gameServerState": text(),
        "players": nullable(bounds(&["Available"])),
        "counters": nullable(map(bounds(&["Count", "Available"]))),
        "lists": nullable(map(list_bounds)),
    }));
    let metadata = object(json!({"labels": nullable(map(text())), "annotations": nullable(map(text()))}));
    let number = json!({"type": "integer", "nullable": true});
    let spec = object(json!({
        "multiClusterSetting": open(json!({"enabled": {"type": "boolean"}})),
        "required": selector, "preferred": nullable(list(selector.clone())),
        "selectors": nullable(list(selector)),
        "priorities": nullable(list(priority())),
        "scheduling": text(),
        "metadata": metadata,
        "counters": nullable(map(object(json!({
            "action": {"type": "string", "nullable": true}, "amount": number, "capacity": number,
        })))),
        "lists": nullable(map(object(json!({
            "addValues": nullable(list(text())), "deleteValues": nullable(list(text())), "capacity": number,
        })))),
    }));
    object(json!({"spec": nullable(spec), "status": nullable(open(json!({})))}))
}

fn game_servers() -> Value {
    let columns = json!([
        column("State", "string", ".status.state"),
        column("Address", "string", ".status.address"),
        column("Port", "string", ".status.ports[0].port"),
        column("Node", "string", ".status.nodeName"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    let spec = game_server_spec();
    let status = object(json!({
        "state": text(),
        "ports": nullable(list(object(json!({"name": text(), "port": {"type": "integer"}})))),
        "address": text(),
        "addresses": nullable(list(object(json!({"type": text(), "address": text()})))),
        "nodeName": text(),
        "reservedUntil": {"type": "string", "format": "date-time", "nullable": true},
        "players": nullable(object(json!({"count": count(), "capacity": count(), "ids": nullable(list(text()))}))),
        "counters": map(object(json!({"count": count(), "capacity": count()}))),
        "lists": map(object(json!({"capacity": count(), "values": nullable(list(text()))}))),
        "eviction": object(json!({"safe": text()})),
        "immutableReplicas": replica(),
    }));
    let scale = json!({"scale": {
        "specReplicasPath": ".spec.immutableReplicas", "statusReplicasPath": ".status.immutableReplicas",
    }});
    definition::<GameServer>(&["gs"], &columns, &scale, &spec, &status)
}

fn game_server_sets() -> Value {
    let spec = object(json!({
        "replicas": count(),
        "allocationOverflow": overflow(),
        "scheduling": one_of(&["Packed", "Distributed"]),
        "priorities": nullable(list(priority())),
        "template": template(),
    }));
    let mut status = counts();
    status["properties"]["shutdownReplicas"] = count();
    definition::<GameServerSet>(&["gss", "gsset"], &set_columns(), &scaled(), &spec, &status)
}

fn fleets() -> Value {
    let part = json!({"x-kubernetes-int-or-string": true, "nullable": true});
    let spec = object(json!({
        "replicas": count(),
        "allocationOverflow": overflow(),
        "scheduling": one_of(&["Packed", "Distributed"]),
        "priorities": nullable(list(priority())),
        "strategy": object(json!({
            "type": one_of(&["Recreate", "RollingUpdate"]),
            "rollingUpdate": nullable(object(json!({"maxSurge": part, "maxUnavailable": part}))),
        })),
        "template": template(),
    }));
    definition::<Fleet>(&["flt"], &set_columns(), &scaled(), &spec, &counts())
}

fn fleet_autoscalers() -> Value {
    // Policies hold policies; what they are is checked on admission and at use.
    let spec = object(json!({
        "fleetName": {"type": "string", "minLength": 1, "maxLength": 63},
        "policy": open(json!({"type": text()})),
        "sync": object(json!({
            "type": text(), "fixedInterval": object(json!({"seconds": {"type": "integer"}})),
        })),
    }));
    let status = object(json!({
        "currentReplicas": {"type": "integer"},
        "desiredReplicas": {"type": "integer"},
        "lastScaleTime": {"type": "string", "format": "date-time", "nullable": true},
        "ableToScale": {"type": "boolean"},
        "scalingLimited": {"type": "boolean"},
        "lastAppliedPolicy": {"type": "string", "default": ""},
    }));
    let subresources = json!({"status": {}});
    definition::<FleetAutoscaler>(&["fas"], &json!([]), &subresources, &spec, &status)
}

fn allocation_policies() -> Value {
    let spec = object(json!({
        "priority": count(),
        "weight": count(),
        "connectionInfo": object(json!({
            "clusterName": text(), "allocationEndpoints": {"type": "array", "minItems": 1, "items": text()},
            "secretName": text(), "namespace": text(), "serverCa": {"type": "string", "format": "byte"},
        })),
    }));
    defined(
        ("multicluster.agones.dev", "v1", "GameServerAllocationPolicy", "gameserverallocationpolicies"),
        &["gsap"],
        &json!([]),
        &json!({}),
        object(json!({"spec": spec})),
    )
}

/// What a server's spec looks like. The pod template is the core API's business: all of it is kept.
fn game_server_spec() -> Value {
    object(json!({
        "container": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
        "ports": nullable(list(object(json!({
            "name": text(),
            "range": {"type": "string", "default": "default"},
            "portPolicy": one_of(&["Dynamic", "Static", "Passthrough", "None"]),
            "container": {"type": "string", "nullable": true},
            "containerPort": {"type": "integer", "minimum": 1, "maximum": 65_535},
            "hostPort": {"type": "integer", "minimum": 1, "maximum": 65_535},
            "protocol": one_of(&["UDP", "TCP", "TCPUDP"]),
        })))),
        "health": object(json!({
            "disabled": {"type": "boolean"}, "periodSeconds": {"type": "integer"},
            "failureThreshold": {"type": "integer"}, "initialDelaySeconds": {"type": "integer"},
        })),
        "scheduling": one_of(&["Packed", "Distributed"]),
        "sdkServer": object(json!({
            "logLevel": one_of(&["Error", "Info", "Debug", "Trace"]),
            "grpcPort": {"type": "integer"}, "httpPort": {"type": "integer"},
        })),
        "template": open(json!({})),
        "players": object(json!({"initialCapacity": count()})),
        "counters": map(object(json!({
            "count": {"type": "integer", "default": 0, "minimum": 0},
            "capacity": {"type": "integer", "default": 1_000, "minimum": 0},
        }))),
        "lists": map(object(json!({
            "capacity": {"type": "integer", "default": 1_000, "minimum": 0, "maximum": 1_000},
            "values": nullable(json!({"type": "array", "maxItems": 1_000, "items": text()})),
        }))),
        "eviction": object(json!({"safe": one_of(&["Always", "OnUpgrade", "Never"])})),
        "immutableReplicas": replica(),
    }))
}

fn template() -> Value {
    let metadata = open(json!({}));
    object(json!({"metadata": metadata, "spec": game_server_spec()}))
}

fn counts() -> Value {
    let sums = map(object(json!({
        "allocatedCount": count(), "allocatedCapacity": count(), "count": count(), "capacity": count(),
    })));
    object(json!({
        "replicas": count(), "readyReplicas": count(), "reservedReplicas": count(), "allocatedReplicas": count(),
        "players": nullable(object(json!({"count": count(), "capacity": count()}))),
        "counters": sums, "lists": sums, "labelSelector": text(),
    }))
}

fn overflow() -> Value {
    object(json!({"labels": nullable(map(text())), "annotations": nullable(map(text()))}))
}

fn priority() -> Value {
    object(json!({
        "type": one_of(&["Counter", "List"]), "key": text(), "order": one_of(&["Ascending", "Descending"]),
    }))
}

fn set_columns() -> Value {
    json!([
        column("Scheduling", "string", ".spec.scheduling"),
        column("Desired", "integer", ".spec.replicas"),
        column("Current", "integer", ".status.replicas"),
        column("Allocated", "integer", ".status.allocatedReplicas"),
        column("Ready", "integer", ".status.readyReplicas"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ])
}

fn scaled() -> Value {
    json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }})
}

fn column(name: &str, kind: &str, path: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// A number that is always 1, so that servers have something to scale.
fn replica() -> Value {
    json!({"type": "integer", "default": 1, "minimum": 1, "maximum": 1})
}

fn one_of(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn map(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// An object of which fields are kept that are not named.
fn open(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": true})
}

fn nullable(mut schema: Value) -> Value {
    schema["nullable"] = true.into();
    schema
}

fn definition<K: Resource>(
    short: &[&str],
    columns: &Value,
    subresources: &Value,
    spec: &Value,
    status: &Value,
) -> Value {
    let kind = K::KIND;
    defined(
        (kind.group(), kind.version(), kind.kind(), kind.plural()),
        short,
        columns,
        subresources,
        object(json!({"spec": spec, "status": status})),
    )
}

fn defined(
    (group, version, kind, plural): (&str, &str, &str, &str),
    short: &[&str],
    columns: &Value,
    subresources: &Value,
    schema: Value,
) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "labels": {"app": "agones", "component": "crd"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "shortNames": short},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": subresources,
                "additionalPrinterColumns": columns,
            }],
        },
    })
}
