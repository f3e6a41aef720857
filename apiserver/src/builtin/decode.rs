//! What a typed kind makes of a body: values of the wrong type are errors, unknown fields are dropped and named.

use serde_json::Value;

use super::base64;
use super::quantity::{self, Quantity};
use super::times;
use super::types::{Shape, Struct, lookup};
use crate::patch::go_kind;
use crate::schema::unknown_field;

/// The first value of a type that its field does not have, in the words of the server's decoder.
pub(crate) fn check(kind: &str, object: &Value) -> Result<(), String> {
    let Some(known) = lookup(kind) else { return Ok(()) };
    let mut place = Place { owner: known.name, path: Vec::new() };
    match object {
        Value::Object(_) => place.fields(known, object),
        Value::Null => Ok(()),
        other => {
            Err(format!("json: cannot unmarshal {} into Go value of type v1.{}", go_kind(other), known.name))
        }
    }
}

struct Place {
    owner: &'static str,
    path: Vec<&'static str>,
}

impl Place {
    fn fields(&mut self, known: &'static Struct, object: &Value) -> Result<(), String> {
        let outer = std::mem::replace(&mut self.owner, known.name);
        for field in &known.fields {
            if let Some(value) = object.get(field.name) {
                self.path.push(field.error_path);
                self.value(&field.shape, value)?;
                self.path.pop();
                self.owner = known.name;
            }
        }
        self.owner = outer;
        Ok(())
    }

    fn value(&mut self, shape: &'static Shape, value: &Value) -> Result<(), String> {
        match (shape, value) {
            (Shape::Pointer(inner), value) => self.value(inner, value),
            (_, Value::Null)
            | (Shape::Any, _)
            | (Shape::Bool, Value::Bool(_))
            | (Shape::Text(_) | Shape::IntOrString, Value::String(_)) => Ok(()),
            (Shape::Int32 | Shape::IntOrString, Value::Number(number))
                if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) =>
            {
                Ok(())
            }
            (Shape::Int64, Value::Number(number)) if number.is_i64() => Ok(()),
            (Shape::Int32 | Shape::Int64 | Shape::IntOrString, Value::Number(number)) => {
                Err(self.mismatch(&format!("number {number}"), shape))
            }
            (Shape::Bytes, Value::String(text)) => {
                let decoded = base64::decode(text);
                decoded.map(drop).map_err(|place| format!("illegal base64 data at input byte {place}"))
            }
            (Shape::Time, Value::String(text)) => times::check(text, false),
            (Shape::MicroTime, Value::String(text)) => times::check(text, true),
            (Shape::Quantity, Value::Number(number)) => parse_quantity(&number.to_string()),
            (Shape::Quantity, Value::String(text)) => parse_quantity(text),
            (Shape::Quantity, _) => Err(quantity::SYNTAX.into()),
            (Shape::Struct(name), Value::Object(_)) => match lookup(name) {
                Some(known) => self.fields(known, value),
                None => Ok(()),
            },
            (Shape::List(inner), Value::Array(items)) => {
                items.iter().try_for_each(|item| self.value(inner, item))
            }
            (Shape::Map(inner, _), Value::Object(fields)) => {
                fields.values().try_for_each(|field| self.value(inner, field))
            }
            (shape, value) => Err(self.mismatch(go_kind(value), shape)),
        }
    }

    fn mismatch(&self, found: &str, shape: &Shape) -> String {
        let (owner, path) = (self.owner, self.path.join("."));
        format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {}",
            shape.go_name()
        )
    }
}

fn parse_quantity(text: &str) -> Result<(), String> {
    Quantity::parse(text).map(drop).ok_or_else(|| quantity::SYNTAX.into())
}

/// Drops the fields that a kind does not have, and says which.
pub(crate) fn prune(kind: &str, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    if let Some(known) = lookup(kind) {
        prune_fields(known, object, "", &mut dropped);
    }
    dropped
}

fn prune_fields(known: &'static Struct, object: &mut Value, path: &str, dropped: &mut Vec<String>) {
    let Some(fields) = object.as_object_mut() else { return };
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    fields.retain(|name, _| {
        let keep = known.field(name).is_some();
        if !keep {
            dropped.push(unknown_field(&join(name)));
        }
        keep
    });
    for field in &known.fields {
        if let Some(value) = fields.get_mut(field.name) {
            prune_value(&field.shape, value, &join(field.name), dropped);
        }
    }
}

fn prune_value(shape: &'static Shape, value: &mut Value, path: &str, dropped: &mut Vec<String>) {
    match (shape, value) {
        (Shape::Pointer(inner), value) => prune_value(inner, value, path, dropped),
        (Shape::Struct(name), value) => {
            if let Some(known) = lookup(name) {
                prune_fields(known, value, path, dropped);
            }
        }
        (Shape::List(inner), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune_value(inner, item, &format!("{path}[{index}]"), dropped);
            }
        }
        (Shape::Map(inner, _), Value::Object(fields)) => {
            for (key, field) in fields {
                prune_value(inner, field, &format!("{path}.{key}"), dropped);
            }
        }
        _ => {}
    }
}
