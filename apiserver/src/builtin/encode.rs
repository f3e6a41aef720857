//! How a typed kind is written: what is empty is left out where the type says so, what is missing is written where the
//! type always writes it, and times and amounts have one form.

use serde_json::{Map, Value};

use super::quantity::Quantity;
use super::times;
use super::types::{Omit, Shape, Struct, lookup};

/// Makes an object what it is after the server has decoded and encoded it. Fields of a wrong type stay as they are.
pub(crate) fn normalise(kind: &str, object: &mut Value) {
    if let (Some(known), Some(fields)) = (lookup(kind), object.as_object_mut()) {
        normalise_fields(known, fields);
    }
}

fn normalise_fields(known: &'static Struct, fields: &mut Map<String, Value>) {
    for field in &known.fields {
        let mut value = fields.remove(field.name).filter(|value| !value.is_null());
        if let Some(value) = &mut value {
            normalise_value(&field.shape, value);
        }
        let pointer = matches!(field.shape, Shape::Pointer(_));
        let value = match value {
            Some(value) if pointer => value,
            None if pointer && field.omit != Omit::Never => continue,
            None => zero(&field.shape),
            Some(value) => value,
        };
        let leave_out = match field.omit {
            Omit::Never => false,
            _ if pointer => false,
            Omit::Empty => is_empty(&field.shape, &value),
            Omit::Zero => is_empty(&field.shape, &value) || value.is_null(),
        };
        if !leave_out {
            fields.insert(field.name.into(), value);
        }
    }
}

fn normalise_value(shape: &'static Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Pointer(inner), value) => normalise_value(inner, value),
        (Shape::Struct(name), Value::Object(fields)) => {
            if let Some(known) = lookup(name) {
                normalise_fields(known, fields);
            }
        }
        (Shape::List(inner), Value::Array(items)) => items.iter_mut().for_each(|item| element(inner, item)),
        (Shape::Map(inner, _), Value::Object(fields)) => {
            fields.values_mut().for_each(|field| element(inner, field));
        }
        (Shape::Time, value) => rewrite(value, |text| times::canonical(text, false)),
        (Shape::MicroTime, value) => rewrite(value, |text| times::canonical(text, true)),
        (Shape::Quantity, value) => {
            if value.is_number() {
                *value = value.to_string().into();
            }
            rewrite(value, |text| Quantity::parse(text).map(Quantity::print));
        }
        _ => {}
    }
}

/// In lists and maps, null is the zero of their type.
fn element(shape: &'static Shape, value: &mut Value) {
    if value.is_null() {
        *value = match shape {
            Shape::Bytes => "".into(),
            shape => zero(shape),
        };
    }
    normalise_value(shape, value);
}

fn rewrite(value: &mut Value, with: impl Fn(&str) -> Option<String>) {
    if let Some(text) = value.as_str().and_then(with) {
        *value = text.into();
    }
}

fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Text(_) => "".into(),
        Shape::Bool => false.into(),
        Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => 0.into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(name) => {
            let mut fields = Map::new();
            if let Some(known) = lookup(name) {
                normalise_fields(known, &mut fields);
            }
            fields.into()
        }
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any
        | Shape::Pointer(_)
        | Shape::List(_)
        | Shape::Map(..) => Value::Null,
    }
}

fn is_empty(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Text(_) | Shape::Bytes, Value::String(text)) => text.is_empty(),
        (Shape::Bool, value) => *value == false,
        (Shape::Int32 | Shape::Int64 | Shape::Float, value) => *value == 0,
        (Shape::List(_), Value::Array(items)) => items.is_empty(),
        (Shape::Map(..), Value::Object(fields)) => fields.is_empty(),
        (Shape::List(_) | Shape::Map(..) | Shape::Bytes | Shape::Any, Value::Null) => true,
        _ => false,
    }
}
