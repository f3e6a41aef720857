//! What a strategic merge patch makes of a typed object: values that do not fit the field, in the words of the server, which
//! are others than those for a body.

use serde_json::{Number, Value};

use super::base64;
use super::quantity::{self, Quantity};
use super::times;
use super::types::{Shape, Struct, lookup};

/// The first value that its field cannot hold.
pub(super) fn check(kind: &str, object: &Value) -> Result<(), String> {
    lookup(kind).map_or(Ok(()), |known| fields(known, object))
}

fn fields(known: &'static Struct, object: &Value) -> Result<(), String> {
    match object {
        Value::Object(object) => {
            let mut present = known.fields.iter().filter_map(|field| Some((field, object.get(field.name)?)));
            present.try_for_each(|(field, found)| value(&field.shape, found))
        }
        Value::Null => Ok(()),
        other => Err(format!("cannot restore struct from: {}", go_kind(other))),
    }
}

fn value(shape: &'static Shape, found: &Value) -> Result<(), String> {
    let unrecognized = || Err(format!("unrecognized type: {}", shape.basic_name()));
    match (shape, found) {
        (Shape::Pointer(inner), found) => value(inner, found),
        (_, Value::Null)
        | (Shape::Any, _)
        | (Shape::Text(_), Value::String(_))
        | (Shape::Bool, Value::Bool(_))
        | (Shape::IntOrString, Value::String(_) | Value::Number(_)) => Ok(()),
        (Shape::Text(_), Value::Number(number)) if number.is_i64() => {
            Err("cannot convert int64 to string".into())
        }
        (Shape::Int32 | Shape::Int64, Value::Number(number)) if !is_whole(number) => {
            Err(format!("cannot convert float64 to {}", shape.basic_name()))
        }
        (Shape::Int32 | Shape::Int64 | Shape::Float, Value::Number(_)) => Ok(()),
        (Shape::Text(_) | Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float, _) => unrecognized(),
        (Shape::Bytes, Value::String(text)) => base64::decode(text)
            .map(drop)
            .map_err(|place| format!("error decoding from json: illegal base64 data at input byte {place}")),
        (Shape::Time, Value::String(text)) => times::check(text, false),
        (Shape::MicroTime, Value::String(text)) => times::check(text, true),
        (Shape::Quantity, Value::String(text)) if Quantity::parse(text).is_some() => Ok(()),
        (Shape::Quantity, Value::Number(number)) if Quantity::parse(&number.to_string()).is_some() => Ok(()),
        (Shape::Quantity, _) => Err(quantity::SYNTAX.into()),
        (Shape::Time | Shape::MicroTime | Shape::IntOrString, other) => Err(format!(
            "json: cannot unmarshal {} into Go value of type {}",
            crate::patch::go_kind(other),
            shape.go_name()
        )),
        (Shape::Struct(name), found) => lookup(name).map_or(Ok(()), |known| fields(known, found)),
        (Shape::List(inner), Value::Array(items)) => items.iter().try_for_each(|item| value(inner, item)),
        (Shape::List(_) | Shape::Bytes, other) => {
            Err(format!("cannot restore slice from {}", go_kind(other)))
        }
        (Shape::Map(inner, _), Value::Object(entries)) => {
            entries.values().try_for_each(|entry| value(inner, entry))
        }
        (Shape::Map(..), other) => Err(format!("cannot restore map from {}", go_kind(other))),
    }
}

fn is_whole(number: &Number) -> bool {
    number.as_f64().is_none_or(|number| number.fract() == 0.0)
}

/// What Go calls the kind of a value without a type.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_do_not_fit_are_refused_in_the_words_of_the_server() {
        let cases = [
            ("ConfigMap", json!({"data": {"a": 1}}), "cannot convert int64 to string"),
            ("ConfigMap", json!({"data": {"a": true}}), "unrecognized type: string"),
            ("ConfigMap", json!({"data": {"a": 1.5}}), "unrecognized type: string"),
            ("ConfigMap", json!({"data": "x"}), "cannot restore map from string"),
            ("ConfigMap", json!({"data": ["x"]}), "cannot restore map from slice"),
            ("ConfigMap", json!({"immutable": "x"}), "unrecognized type: bool"),
            (
                "ConfigMap",
                json!({"binaryData": {"a": "%%"}}),
                "error decoding from json: illegal base64 data at input byte 0",
            ),
            ("ConfigMap", json!({"binaryData": {"a": 1}}), "cannot restore slice from int64"),
            ("ConfigMap", json!({"metadata": "x"}), "cannot restore struct from: string"),
            ("ConfigMap", json!({"metadata": {"ownerReferences": "x"}}), "cannot restore slice from string"),
            ("Pod", json!({"spec": {"activeDeadlineSeconds": "x"}}), "unrecognized type: int64"),
            ("Pod", json!({"spec": {"activeDeadlineSeconds": 1.5}}), "cannot convert float64 to int64"),
            ("Service", json!({"spec": {"ports": [{"port": "80"}]}}), "unrecognized type: int32"),
            ("Service", json!({"spec": 7}), "cannot restore struct from: int64"),
            (
                "Service",
                json!({"spec": {"ports": [{"targetPort": true}]}}),
                "json: cannot unmarshal bool into Go value of type int32",
            ),
        ];
        for (kind, object, problem) in cases {
            assert_eq!(check(kind, &object), Err(problem.to_owned()), "{object}");
        }
        let fine = json!({"data": {"a": "b"}, "immutable": null, "dta": 1, "metadata": {"generation": 1.0}});
        assert_eq!(check("ConfigMap", &fine), Ok(()));
    }
}
