//! Objects and lists in the form that the client accepts.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::builtin::{self, Column};
use crate::kinds::Served;
use crate::request::{Form, RowObject};

/// An object in a form.
pub(crate) fn object(served: &Served, object: &Value, form: Form, now: SystemTime) -> Value {
    match form {
        Form::Full | Form::Discovery => served.to_served(object),
        Form::Metadata => partial(object),
        Form::Table(part) => {
            let version = &object["metadata"]["resourceVersion"];
            table(served, &[object], json!({"resourceVersion": version}), part, now)
        }
    }
}

/// A list in a form.
pub(crate) fn list(
    served: &Served,
    objects: &[&Value],
    metadata: Value,
    form: Form,
    now: SystemTime,
) -> Value {
    match form {
        Form::Full | Form::Discovery => {
            let is_custom = served.strategy().is_none();
            let item = |object: &Value| {
                let mut item = served.to_served(object);
                // Typed lists leave out what their own kind says.
                if let (false, Some(fields)) = (is_custom, item.as_object_mut()) {
                    fields.remove("kind");
                    fields.remove("apiVersion");
                }
                item
            };
            let items: Vec<Value> = objects.iter().copied().map(item).collect();
            let mut list = json!({
                "apiVersion": served.api_version(), "kind": served.list_kind, "metadata": metadata, "items": items,
            });
            if is_custom && list["metadata"]["continue"].is_null() {
                list["metadata"]["continue"] = "".into();
            }
            list
        }
        Form::Metadata => {
            let items: Vec<Value> = objects.iter().copied().map(partial).collect();
            json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": items,
            })
        }
        Form::Table(part) => table(served, objects, metadata, part, now),
    }
}

/// A scale in a form.
pub(crate) fn scale(scale: &Value, form: Form, now: SystemTime) -> Value {
    match form {
        Form::Full | Form::Discovery => scale.clone(),
        Form::Metadata => partial(scale),
        Form::Table(part) => {
            let mut row = json!({"cells": builtin::scale_cells(scale, now)});
            row["object"] = row_object(scale, part, Value::clone);
            json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": scale["metadata"]["resourceVersion"]},
                "columnDefinitions": columns(builtin::SCALES), "rows": [row],
            })
        }
    }
}

/// Columns as a table says them.
pub(crate) fn columns(columns: &[Column]) -> Value {
    let column = |column: &Column| {
        json!({
            "name": column.name, "type": column.column_type, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    };
    columns.iter().map(column).collect()
}

fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn row_object(object: &Value, part: RowObject, all: impl Fn(&Value) -> Value) -> Value {
    match part {
        RowObject::Metadata => partial(object),
        RowObject::All => all(object),
        RowObject::Nothing => Value::Null,
    }
}

fn table(served: &Served, objects: &[&Value], metadata: Value, part: RowObject, now: SystemTime) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut row = served.row(object, now);
            row["object"] = row_object(object, part, |object| served.to_served(object));
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": served.columns(), "rows": rows,
    })
}
