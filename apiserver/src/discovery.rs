//! What is served, as clients ask for it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::ACCEPT;
use lariat_api::Status;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::aggregation::AggregatedResource;
use crate::failure;
use crate::kinds::{Behaviour, Custom, Kinds, Served};
use crate::openapi;
use crate::reply::Reply;
use crate::request::Form;

/// What can be done with a custom resource, in the real server's order.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Answers a request to anything but a resource.
pub(crate) fn answer(kinds: &Kinds, path: &[String], headers: &HeaderMap) -> Result<Reply, Status> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if matches!(path[..], ["api" | "apis"]) && Form::accepted(headers)? == Form::Discovery {
        return Ok(Reply::discovery(aggregated(kinds, path[..] == ["api"])));
    }
    if path[..] == ["openapi", "v2"] {
        let document = openapi::v2::all(kinds);
        return Ok(if accepts(headers, &openapi::v2::ACCEPTED) {
            Reply::bytes(openapi::v2::PROTOBUF, openapi::v2::encode(&document))
        } else {
            Reply::json(200, document)
        });
    }
    let found = match path[..] {
        ["livez" | "readyz" | "healthz", ..] => return Ok(Reply::text(200, "ok")),
        ["version"] => Some(version()),
        ["openapi", "v3"] => Some(openapi::index(kinds)),
        ["openapi", "v3", "api", version] => openapi::document(kinds, "", version),
        ["openapi", "v3", "apis", group, version] => openapi::document(kinds, group, version),
        ["api"] => Some(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        })),
        ["apis"] => Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(kinds)})),
        ["apis", group] => group_of(kinds, group),
        ["api", version] => resources(kinds, "", version),
        ["apis", group, version] => resources(kinds, group, version),
        _ => None,
    };
    match (found, &path[..]) {
        (Some(body), _) => Ok(Reply::json(200, body)),
        (None, ["api", ..]) => Err(failure::no_such_path()),
        (None, ["apis", group, ..]) if kinds.is_built_in(group) => Err(failure::no_such_path()),
        (None, _) => Ok(Reply::no_such_page()),
    }
}

/// Whether the first media type that a client accepts is one of these.
fn accepts(headers: &HeaderMap, media_types: &[&str]) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = accepted.split([',', ';']).next().unwrap_or_default().trim();
    media_types.contains(&first)
}

const BUILT_IN: [&str; 6] = [
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
];

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35", "gitVersion": concat!("v1.36.0-lariat.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

/// In the order of their importance: built-in groups in the real server's order, then those of custom resources.
fn group_names(kinds: &Kinds) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (group, _) in kinds.group_versions().filter(|(group, _)| !group.is_empty()) {
        if !names.contains(&group) {
            names.push(group);
        }
    }
    names.sort_by_key(|name| BUILT_IN.iter().position(|known| known == name).unwrap_or(BUILT_IN.len()));
    names
}

fn groups(kinds: &Kinds) -> Vec<Value> {
    group_names(kinds)
        .into_iter()
        .filter_map(|group| {
            let mut found = group_of(kinds, group)?;
            found.as_object_mut()?.retain(|field, _| field != "kind" && field != "apiVersion");
            Some(found)
        })
        .collect()
}

fn versions_of<'a>(kinds: &'a Kinds, group: &str) -> Vec<&'a str> {
    kinds.group_versions().filter(|(known, _)| *known == group).map(|(_, version)| version).collect()
}

fn group_of(kinds: &Kinds, group: &str) -> Option<Value> {
    let shown: Vec<Value> = versions_of(kinds, group)
        .iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    let preferred = shown.first()?.clone();
    Some(json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": shown, "preferredVersion": preferred,
    }))
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let resources: Vec<Value> = match kinds.aggregated(group, version) {
        Some(aggregated) => aggregated.resources().map(AggregatedResource::row).collect(),
        None => of_version(kinds, group, version).flat_map(rows).collect(),
    };
    if resources.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn of_version<'a>(kinds: &'a Kinds, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Served> {
    let is_of = move |served: &&Served| served.group == group && served.version == version;
    kinds.iter().map(Arc::as_ref).filter(is_of)
}

/// All groups with all that they have, or the group without a name.
fn aggregated(kinds: &Kinds, core: bool) -> Value {
    let names = if core { vec![""] } else { group_names(kinds) };
    let items: Vec<Value> = names
        .into_iter()
        .map(|group| {
            let versions: Vec<Value> = versions_of(kinds, group)
                .into_iter()
                .map(|version| {
                    let resources: Vec<Value> = match kinds.aggregated(group, version) {
                        Some(aggregated) => {
                            aggregated.resources().map(AggregatedResource::aggregated_row).collect()
                        }
                        None => of_version(kinds, group, version).map(aggregated_resource).collect(),
                    };
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    })
}

fn aggregated_resource(served: &Served) -> Value {
    let custom = match &served.behaviour {
        Behaviour::BuiltIn(resource) => return resource.aggregated_discovery(),
        Behaviour::Custom(custom) => custom,
    };
    let kind = json!({"group": served.group, "version": served.version, "kind": served.kind});
    let mut resource = json!({
        "resource": served.plural, "responseKind": kind, "singularResource": custom.singular, "verbs": VERBS,
        "scope": if served.namespaced { "Namespaced" } else { "Cluster" },
    });
    put_names(&mut resource, custom);
    let shown = ["status", "scale"].into_iter().filter(|name| served.has_subresource(name)).map(|name| {
        let kind = match name {
            "scale" => json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}),
            _ => kind.clone(),
        };
        json!({"subresource": name, "responseKind": kind, "verbs": ["get", "patch", "update"]})
    });
    let shown: Vec<Value> = shown.collect();
    if !shown.is_empty() {
        resource["subresources"] = shown.into();
    }
    resource
}

fn put_names(resource: &mut Value, custom: &Custom) {
    for (field, names) in [("shortNames", &custom.short_names), ("categories", &custom.categories)] {
        if !names.is_empty() {
            resource[field] = names.as_slice().into();
        }
    }
}

/// By this clients see that a document has changed.
pub(crate) fn hash(document: &Value) -> String {
    let hash = digest(&SHA256, document.to_string().as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect()
}

/// By this clients see that what is stored has changed its version.
fn storage_version_hash(served: &Served) -> String {
    let kind = format!("{}/{}/{}", served.group, served.version, served.kind);
    let hash = digest(&SHA256, kind.as_bytes());
    STANDARD.encode(hash.as_ref().get(..8).unwrap_or_default())
}

/// A resource and its subresources.
fn rows(served: &Served) -> Vec<Value> {
    let custom = match &served.behaviour {
        Behaviour::BuiltIn(resource) => return resource.discovery(),
        Behaviour::Custom(custom) => custom,
    };
    let mut row = json!({
        "name": served.plural, "singularName": custom.singular, "namespaced": served.namespaced, "kind": served.kind,
        "verbs": VERBS, "storageVersionHash": storage_version_hash(served),
    });
    put_names(&mut row, custom);
    let mut rows = vec![row];
    for subresource in ["status", "scale"] {
        if served.has_subresource(subresource) {
            let mut row = json!({
                "name": format!("{}/{subresource}", served.plural), "singularName": "",
                "namespaced": served.namespaced, "kind": served.kind, "verbs": ["get", "patch", "update"],
            });
            if subresource == "scale" {
                row["kind"] = "Scale".into();
                row["group"] = "autoscaling".into();
                row["version"] = "v1".into();
            }
            rows.push(row);
        }
    }
    rows
}
