//! Lists that are sets or maps hold no item twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::FieldError;
use super::path::FieldPath;
use super::structural::{ListType, Schema};
use super::text::GoNumber;

/// The items that occur twice in the lists of an object.
pub(crate) fn validate(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, object, &FieldPath::root(), &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter().filter(|(_, field)| field.is_object() || field.is_array()) {
                if let Some(property) = schema.properties.get(key) {
                    walk(property, field, &path.child(key), errors);
                } else if let Some(any) = schema.additional_schema() {
                    walk(any, field, &path.key(key), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type() {
                ListType::Atomic => {}
                ListType::Set => {
                    let repeated = repeated(items.iter().map(canonical));
                    errors.extend(
                        repeated.map(|index| FieldError::duplicate(&path.index(index), items[index].clone())),
                    );
                }
                ListType::Map => map(schema, items, path, errors),
            }
            if let Some(schema) = &schema.items {
                let deep = items.iter().enumerate().filter(|(_, item)| item.is_object() || item.is_array());
                deep.for_each(|(index, item)| walk(schema, item, &path.index(index), errors));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn map(schema: &Schema, items: &[Value], path: &FieldPath, errors: &mut Vec<FieldError>) {
    if let Some((index, item)) =
        items.iter().enumerate().find(|(_, item)| !item.is_null() && !item.is_object())
    {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(&path.index(index), item.clone(), detail));
        return;
    }
    let keys: Vec<_> = items.iter().map(|item| item_key(schema, item)).collect();
    for index in repeated(keys.iter().map(canonical)) {
        errors.push(FieldError::duplicate(&path.index(index), keys[index].clone()));
    }
}

/// The part of an item that identifies it: those of its keys that it has.
pub(crate) fn item_key(schema: &Schema, item: &Value) -> Value {
    let keys = schema.list_map_keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(keys.collect::<Map<_, _>>())
}

/// The index of the second occurrence of whatever occurs more than once.
fn repeated(items: impl Iterator<Item = String>) -> impl Iterator<Item = usize> {
    let mut seen = BTreeMap::new();
    let mut repeated = Vec::new();
    for (index, item) in items.enumerate() {
        let count = seen.entry(item).or_insert(0_usize);
        *count += 1;
        if *count == 2 {
            repeated.push(index);
        }
    }
    repeated.into_iter()
}

/// A text that equal values share and others do not.
fn canonical(value: &Value) -> String {
    match value {
        // 1 and 1.0 are written differently and are different to the server, too.
        Value::Number(number) => match GoNumber::of(number) {
            GoNumber::Int(int) => int.to_string(),
            GoNumber::Float(float) => format!("{float:?}"),
        },
        value => value.to_string(),
    }
}
