//! OpenAPI v3, as far as kubectl asks: which query parameters a kind takes, and which fields it has.

pub(crate) mod v2;

use serde_json::{Map, Value, json};

use crate::builtin::Schemas;
use crate::kinds::{Behaviour, Kinds, Served};

/// The list of documents, one for each group and version.
pub(crate) fn index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for served in kinds.iter() {
        let path = root(&served.group, &served.version);
        if paths.contains_key(&path) {
            continue;
        }
        let hash =
            document(kinds, &served.group, &served.version).map(|document| crate::discovery::hash(&document));
        let url = format!("/openapi/v3/{path}?hash={}", hash.unwrap_or_default());
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

/// What is served of a group and version.
pub(crate) fn document(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for served in kinds.iter().filter(|served| served.group == group && served.version == version) {
        let place = if served.namespaced { "namespaces/{namespace}/" } else { "" };
        let collection = format!("/{}/{place}{}", root(group, version), served.plural);
        paths
            .insert(format!("{collection}/{{name}}"), operations(served, &["get", "put", "patch", "delete"]));
        paths.insert(collection, operations(served, &["get", "post", "delete"]));
        add_schema(served, &mut schemas);
    }
    (!paths.is_empty()).then(|| {
        json!({
            "openapi": "3.0.0", "info": {"title": "Lariat", "version": "v1.36.0"}, "paths": paths,
            "components": {"schemas": schemas},
        })
    })
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn kind(served: &Served) -> Value {
    json!({"group": served.group, "version": served.version, "kind": served.kind})
}

fn schema_name(served: &Served) -> String {
    let group: Vec<&str> = served.group.split('.').rev().filter(|part| !part.is_empty()).collect();
    let group = if group.is_empty() { "core".to_owned() } else { group.join(".") };
    format!("{group}.{}.{}", served.version, served.kind)
}

fn operations(served: &Served, methods: &[&str]) -> Value {
    let mut operations = Map::new();
    for method in methods {
        let names: &[&str] = match *method {
            "post" | "put" => &["dryRun", "fieldManager", "fieldValidation"],
            "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
            "delete" => &["dryRun", "gracePeriodSeconds", "propagationPolicy"],
            _ => &[],
        };
        let parameters: Vec<Value> = names
            .iter()
            .map(|name| {
                let value = match *name {
                    "force" => "boolean",
                    "gracePeriodSeconds" => "integer",
                    _ => "string",
                };
                json!({"name": name, "in": "query", "schema": {"type": value, "uniqueItems": true}})
            })
            .collect();
        let operation = json!({
            "parameters": parameters, "responses": {"200": {"description": "OK"}},
            "x-kubernetes-group-version-kind": kind(served),
        });
        operations.insert((*method).to_owned(), operation);
    }
    operations.into()
}

/// Adds the schema of a kind, and those that it refers to.
fn add_schema(served: &Served, schemas: &mut Map<String, Value>) {
    let mut parts = Schemas::new(&served.group, &served.version, schemas);
    let mut schema = match &served.behaviour {
        Behaviour::Custom(custom) => custom.open_api.clone(),
        Behaviour::BuiltIn(resource) => {
            let name = parts.add_kind(resource.strategy);
            if let Some(schema) = schemas.get_mut(&name) {
                schema["x-kubernetes-group-version-kind"] = json!([kind(served)]);
            }
            return;
        }
    };
    if !schema.is_object() {
        schema = json!({"type": "object"});
    }
    schema["properties"]["metadata"] = json!({"allOf": [parts.metadata()]});
    let common = [
        ("apiVersion", "The group and version of the object's kind, such as `v1` or `apps/v1`.", "string"),
        ("kind", "The kind of the object.", "string"),
    ];
    for (field, description, value) in common {
        if schema["properties"][field].is_null() {
            schema["properties"][field] = json!({"type": value, "description": description});
        }
    }
    schema["x-kubernetes-group-version-kind"] = json!([kind(served)]);
    schemas.insert(schema_name(served), schema);
}
