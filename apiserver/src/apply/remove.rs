use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::list::elements_of;
use super::path::PathElement;
use super::types::TypeInfo;

/// An object without some of its fields.
///
/// An object or list that loses all it had is null then: whether it goes too depends on who owns it.
pub(crate) fn without(node: &dyn TypeInfo, value: &Value, fields: &FieldSet) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => {
            let Some(elements) = elements_of(node, items) else { return value.clone() };
            let rest = elements.iter().zip(items).filter(|(element, _)| !fields.members().contains(element));
            let rest: Vec<Value> =
                rest.map(|(element, item)| part_without(node.item(), item, fields, element)).collect();
            if rest.is_empty() { Value::Null } else { Value::Array(rest) }
        }
        Value::Object(entries) => {
            let mut rest = Map::new();
            for (name, value) in entries {
                let element = PathElement::field(name);
                if !fields.members().contains(&element) {
                    let value = part_without(node.child(name).node(), value, fields, &element);
                    rest.insert(name.clone(), value);
                }
            }
            if rest.is_empty() { Value::Null } else { Value::Object(rest) }
        }
        _ => value.clone(),
    }
}

fn part_without(node: &dyn TypeInfo, value: &Value, fields: &FieldSet, element: &PathElement) -> Value {
    fields.below(element).map_or_else(|| value.clone(), |below| without(node, value, below))
}

/// Takes out of an object what became null, compared with what it was before.
pub(crate) fn drop_emptied(before: &Value, after: &mut Value) {
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        after.retain(|name, value| !value.is_null() || before.get(name).is_none_or(Value::is_null));
        for (name, value) in after {
            if let Some(before) = before.get(name) {
                drop_emptied(before, value);
            }
        }
    }
}
