//! Objects and lists in the form that the client accepts.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::kinds::Served;
use crate::request::Form;

/// An object in a form.
pub(crate) fn object(served: &Served, object: &Value, form: Form, now: SystemTime) -> Value {
    match form {
        Form::Full | Form::Discovery => versioned(served, object),
        Form::Metadata => partial(object),
        Form::Table => table(served, std::slice::from_ref(object), json!({}), now),
    }
}

/// A list in a form.
pub(crate) fn list(
    served: &Served,
    objects: &[Value],
    metadata: Value,
    form: Form,
    now: SystemTime,
) -> Value {
    match form {
        Form::Full | Form::Discovery => {
            let items: Vec<Value> = objects.iter().map(|object| versioned(served, object)).collect();
            json!({
                "apiVersion": served.api_version(), "kind": served.list_kind, "metadata": metadata, "items": items,
            })
        }
        Form::Metadata => {
            let items: Vec<Value> = objects.iter().map(partial).collect();
            json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": items,
            })
        }
        Form::Table => table(served, objects, metadata, now),
    }
}

/// An object in the version that is served, of which all versions have the same fields.
pub(crate) fn versioned(served: &Served, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = served.api_version().into_owned().into();
    object["kind"] = served.kind.as_str().into();
    object
}

fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn table(served: &Served, objects: &[Value], metadata: Value, now: SystemTime) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| json!({"cells": served.cells(object, now), "object": partial(object)}))
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": served.columns(), "rows": rows,
    })
}
