//! OpenAPI v3, as far as kubectl asks: which query parameters a kind takes, and which fields it has.

pub(crate) mod v2;

use serde_json::{Map, Value, json};

use crate::aggregation::Verb;
use crate::builtin::Schemas;
use crate::kinds::{Behaviour, Kinds, Served};

/// What can be asked for at an object, and by which verb.
const OF_ONE: [(&str, Verb); 4] =
    [("get", Verb::Get), ("put", Verb::Update), ("patch", Verb::Patch), ("delete", Verb::Delete)];

/// The same at a collection.
const OF_ALL: [(&str, Verb); 3] =
    [("get", Verb::List), ("post", Verb::Create), ("delete", Verb::DeleteCollection)];

/// The list of documents, one for each group and version.
pub(crate) fn index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for (group, version) in kinds.group_versions() {
        let path = root(group, version);
        let hash = document(kinds, group, version).map(|document| crate::discovery::hash(&document));
        let url = format!("/openapi/v3/{path}?hash={}", hash.unwrap_or_default());
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

/// What is served of a group and version.
pub(crate) fn document(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    if let Some(aggregated) = kinds.aggregated(group, version) {
        for resource in aggregated.resources() {
            let kind = resource.kind();
            let named = Named { group, version, kind: kind.kind() };
            let collection = collection(&named, kind.is_namespaced(), kind.plural());
            let allowed = |methods: &[(&'static str, Verb)]| -> Vec<&'static str> {
                let allowed = methods.iter().filter(|(_, verb)| resource.allows(*verb));
                allowed.map(|(method, _)| *method).collect()
            };
            let of_one = allowed(&OF_ONE);
            if !of_one.is_empty() {
                paths.insert(format!("{collection}/{{name}}"), operations(&named, &of_one));
            }
            paths.insert(collection, operations(&named, &allowed(&OF_ALL)));
            let schema = resource.open_api().cloned().unwrap_or_else(anything);
            add_object(&named, schema, &mut schemas);
        }
    } else {
        for served in kinds.iter().filter(|served| served.group == group && served.version == version) {
            let named = Named { group, version, kind: &served.kind };
            let collection = collection(&named, served.namespaced, &served.plural);
            paths.insert(
                format!("{collection}/{{name}}"),
                operations(&named, &OF_ONE.map(|(method, _)| method)),
            );
            paths.insert(collection, operations(&named, &OF_ALL.map(|(method, _)| method)));
            add_schema(served, &named, &mut schemas);
        }
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

fn collection(named: &Named<'_>, namespaced: bool, plural: &str) -> String {
    let place = if namespaced { "namespaces/{namespace}/" } else { "" };
    format!("/{}/{place}{plural}", root(named.group, named.version))
}

/// An object of which nothing is known.
fn anything() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// A kind, as documents name it.
struct Named<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl Named<'_> {
    fn value(&self) -> Value {
        json!({"group": self.group, "version": self.version, "kind": self.kind})
    }

    fn schema_name(&self) -> String {
        let group: Vec<&str> = self.group.split('.').rev().filter(|part| !part.is_empty()).collect();
        let group = if group.is_empty() { "core".to_owned() } else { group.join(".") };
        format!("{group}.{}.{}", self.version, self.kind)
    }
}

fn operations(named: &Named<'_>, methods: &[&str]) -> Value {
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
            "x-kubernetes-group-version-kind": named.value(),
        });
        operations.insert((*method).to_owned(), operation);
    }
    operations.into()
}

/// Adds the schema of a kind, and those that it refers to.
fn add_schema(served: &Served, named: &Named<'_>, schemas: &mut Map<String, Value>) {
    match &served.behaviour {
        Behaviour::Custom(custom) => add_object(named, custom.open_api.clone(), schemas),
        Behaviour::BuiltIn(resource) => {
            let name = Schemas::new(named.group, named.version, schemas).add_kind(resource.strategy);
            if let Some(schema) = schemas.get_mut(&name) {
                schema["x-kubernetes-group-version-kind"] = json!([named.value()]);
            }
        }
    }
}

/// Adds the schema of an object, with what all objects have.
fn add_object(named: &Named<'_>, mut schema: Value, schemas: &mut Map<String, Value>) {
    let mut parts = Schemas::new(named.group, named.version, schemas);
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
    schema["x-kubernetes-group-version-kind"] = json!([named.value()]);
    schemas.insert(named.schema_name(), schema);
}
