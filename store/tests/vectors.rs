//! Traces of client-go's thread-safe store.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::sync::Arc;

use lariat_api::ObjectKey;
use lariat_fixtures::vectors::{self, Difference, same};
use lariat_store::{Indexers, Store, UnknownIndex};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[];

/// ST-2, ST-3, ST-4, ST-5, ST-6.
#[test]
fn vectors_threadsafestore() {
    vectors::run("client-go/threadsafestore", DIFFERENCES, |case| {
        let indexers = Indexers::new()
            .with("namespace", |object: &Value, emit| emit(object["namespace"].as_str().unwrap_or_default()))
            .with("labels", |object: &Value, emit| {
                object["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).for_each(emit);
            });
        let store = Store::with_indexers(indexers);
        for (number, (op, want)) in case.trace().enumerate() {
            let got = apply(&store, op);
            same(format!("operation {number}, {op}"), &got, want)?;
        }
        same("at the end", &last_state(&store), &case.want["final"])
    });
}

fn apply(store: &Store<Value>, op: &Value) -> Value {
    let text = |field: &str| op[field].as_str().unwrap_or_default();
    let keyed = |object: &Value| {
        (ObjectKey::explicit(object["key"].as_str().unwrap_or_default()), Arc::new(object.clone()))
    };
    let objects = |list: Result<Vec<Arc<Value>>, UnknownIndex>| match list {
        Ok(list) => json!({"objects": sorted(list.iter().map(|object| shown(object)))}),
        Err(_) => json!({"error": true}),
    };
    match text("op") {
        "add" | "update" => {
            let (key, object) = keyed(&op["obj"]);
            store.insert(key, object);
            json!({})
        }
        "delete" => {
            store.remove(text("key"));
            json!({})
        }
        "replace" => {
            store.replace(op["objs"].as_array().into_iter().flatten().map(keyed));
            json!({})
        }
        "get" => match store.get(text("key")) {
            Some(object) => json!({"exists": true, "val": object["val"]}),
            None => json!({"exists": false}),
        },
        "listKeys" => json!({"keys": sorted(store.keys().iter().map(ToString::to_string))}),
        "byIndex" => objects(store.by_index(text("index"), text("value"))),
        "index" => objects(store.index(text("index"), &op["obj"])),
        "indexKeys" => match store.index_keys(text("index"), text("value")) {
            Ok(keys) => json!({"keys": sorted(keys.iter().map(ToString::to_string))}),
            Err(_) => json!({"error": true}),
        },
        // The original cannot report an unknown index here and gives no values.
        "listIndexFuncValues" => {
            json!({"values": sorted(store.index_values(text("index")).unwrap_or_default())})
        }
        other => panic!("operation {other} is not known"),
    }
}

fn last_state(store: &Store<Value>) -> Value {
    let label_values = sorted(store.index_values("labels").unwrap());
    let keys_by_label: serde_json::Map<String, Value> = label_values
        .iter()
        .map(|value| {
            let keys = store.index_keys("labels", value).unwrap();
            (value.clone(), sorted(keys.iter().map(ToString::to_string)).into())
        })
        .collect();
    json!({
        "objects": sorted(store.list().iter().map(|object| shown(object))),
        "namespaceValues": sorted(store.index_values("namespace").unwrap()),
        "labelValues": label_values,
        "keysByLabel": keys_by_label,
    })
}

fn shown(object: &Value) -> String {
    format!("{}={}", object["key"].as_str().unwrap_or_default(), object["val"].as_i64().unwrap_or_default())
}

fn sorted(items: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut items: Vec<String> = items.into_iter().collect();
    items.sort();
    items
}
