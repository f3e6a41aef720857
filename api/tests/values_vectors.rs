//! Keys, resource versions and percentages against what client-go and apimachinery answered.

mod differences;

use differences::DIFFERENCES;
use lariat_api::{IntOrString, KeyError, ObjectKey, ObjectMeta, ResourceVersion};
use lariat_fixtures::vectors;
use serde_json::{Value, json};

/// ST-1.
#[test]
fn vectors_keyfuncs() {
    vectors::run("client-go/keyfuncs", DIFFERENCES, |case| {
        let text = |field: &str| case.input[field].as_str().unwrap_or_default();
        let parsed = || text("key").parse::<ObjectKey>();
        let answer: Result<Value, String> = match text("fn") {
            "SplitMetaNamespaceKey" => parsed()
                .map(|key| json!({"namespace": key.namespace(), "name": key.name()}))
                .map_err(|error: KeyError| error.to_string()),
            "ParseObjectName" => parsed()
                .map(|key| json!({"namespace": key.namespace(), "name": key.name(), "string": key.as_str()}))
                .map_err(|error| error.to_string()),
            "DeletionHandlingMetaNamespaceKeyFunc" if !case.input["tombstoneKey"].is_null() => {
                Ok(json!({"err": false, "key": ObjectKey::explicit(text("tombstoneKey")).as_str()}))
            }
            "MetaNamespaceKeyFunc" | "DeletionHandlingMetaNamespaceKeyFunc" => {
                if let Some(explicit) = case.input["explicitKey"].as_str() {
                    Ok(json!({"err": false, "key": ObjectKey::explicit(explicit).as_str()}))
                } else if !case.input["notAnObject"].is_null() {
                    serde_json::from_value::<ObjectMeta>(case.input["notAnObject"].clone())
                        .map(|_| Value::Null)
                        .map_err(|error| error.to_string())
                } else {
                    let key = ObjectKey::new(text("namespace"), text("name"));
                    Ok(json!({"err": false, "key": key.as_str()}))
                }
            }
            other => Err(format!("no such function: {other}")),
        };
        case.expect(answer)
    });
}

/// ST-8.
#[test]
fn vectors_resource_version_compare() {
    vectors::run("client-go/resourceversion-compare", DIFFERENCES, |case| {
        let text = |field: &str| case.input[field].as_str().unwrap_or_default();
        let order = ResourceVersion::compare(text("a"), text("b"));
        if let Ok(order) = order {
            let (a, b): (ResourceVersion, ResourceVersion) =
                (text("a").parse().unwrap(), text("b").parse().unwrap());
            assert_eq!(a.cmp(&b), order, "the two ways to compare agree");
        }
        case.expect(order.map(|order| json!(order as i8)))
    });
}

#[test]
fn vectors_intstr_scaled() {
    vectors::run("client-go/intstr-scaled", DIFFERENCES, |case| {
        let value: IntOrString = serde_json::from_value(case.input["value"].clone()).unwrap();
        let total = case.input["total"].as_i64().unwrap_or_default();
        let round_up = case.input["roundUp"].as_bool().unwrap_or_default();
        case.expect(value.scaled(total, round_up).map(|scaled| json!(scaled)))
    });
}
