use std::collections::BTreeSet;

use serde_json::Value;

use super::field_set::FieldSet;
use super::list::{duplicates, element_of, elements_of};
use super::path::{Path, PathElement};
use super::types::{Child, ListType, TypeInfo};
use crate::builtin::{FieldShape, field_table};

/// The fields that an object sets: what whoever applies it owns.
///
/// An object or list is not set by itself, only its parts are, unless it is atomic, an empty object, an entry of a map, or
/// an item of a list.
pub(crate) fn fields_of(node: &dyn TypeInfo, value: &Value) -> FieldSet {
    below(node, value).0
}

/// The fields set below a value, and whether it is set by itself, as a leaf.
fn below(node: &dyn TypeInfo, value: &Value) -> (FieldSet, bool) {
    let mut set = FieldSet::new();
    match value {
        Value::Array(items) => {
            let Some(elements) = elements_of(node, items) else { return (set, true) };
            let duplicates = duplicates(&elements);
            for (element, item) in elements.iter().zip(items) {
                set.insert_member(element.clone());
                if !duplicates.contains(element) {
                    set.insert_child(element.clone(), below(node.item(), item).0);
                }
            }
            (set, false)
        }
        Value::Object(_) if node.is_atomic_map() => (set, true),
        Value::Object(fields) => {
            for (name, value) in fields {
                let child = node.child(name);
                let (fields, is_leaf) = below(child.node(), value);
                let is_empty = value.as_object().is_some_and(|fields| fields.is_empty());
                let element = PathElement::field(name);
                if is_leaf || is_empty || !child.is_declared() {
                    set.insert_member(element.clone());
                }
                set.insert_child(element, fields);
            }
            (set, false)
        }
        _ => (set, true),
    }
}

/// The set with every field in it whose parts are in it, if the schema names the field: such a field has no existence of
/// its own, so who owns its parts owns it.
pub(crate) fn with_declared(node: &dyn TypeInfo, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet::new();
    for member in set.members() {
        out.insert_member(member.clone());
    }
    for (element, below) in set.children() {
        let below = match element {
            PathElement::Field(name) => {
                let child = node.child(name);
                if child.is_declared() {
                    out.insert_member(element.clone());
                }
                with_declared(child.node(), below)
            }
            PathElement::Key(_) => with_declared(node.item(), below),
            PathElement::Value(_) | PathElement::Index(_) => below.clone(),
        };
        out.insert_child(element.clone(), below);
    }
    out
}

/// What keeps an object from being applied, in the API server's words.
///
/// `fields` names the built-in type that says which fields there are, if `node` does not know.
pub(crate) fn problems(node: &dyn TypeInfo, fields: Option<&'static str>, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let shape = fields.map(FieldShape::Struct);
    find_problems(node, shape.as_ref(), value, &mut Vec::new(), &mut found);
    found
}

fn find_problems(
    node: &dyn TypeInfo,
    shape: Option<&FieldShape>,
    value: &Value,
    path: &mut Vec<PathElement>,
    found: &mut Vec<String>,
) {
    let shape = match shape {
        Some(FieldShape::Pointer(inner)) => Some(&**inner),
        other => other,
    };
    match value {
        Value::Array(items) => {
            let item_shape = match shape {
                Some(FieldShape::List(inner)) => Some(&**inner),
                _ => None,
            };
            let list = node.list_type();
            if list == ListType::Atomic {
                for (index, item) in items.iter().enumerate().filter(|_| item_shape.is_some()) {
                    path.push(PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX)));
                    find_problems(node.item(), item_shape, item, path, found);
                    path.pop();
                }
                return;
            }
            let mut seen = BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                let at = Path(path);
                match element_of(node, &list, item) {
                    Err(why) => found.push(format!("{at}: element {index}: {why}")),
                    Ok(element) if seen.contains(&element) => {
                        found.push(format!("{at}: duplicate entries for key {element}"));
                    }
                    Ok(element) => {
                        seen.insert(element.clone());
                        path.push(element);
                        find_problems(node.item(), item_shape, item, path, found);
                        path.pop();
                    }
                }
            }
        }
        Value::Object(fields) if !node.is_atomic_map() || shape.is_some() => {
            for (name, value) in fields {
                path.push(PathElement::field(name));
                let (is_unknown, shape) = match shape {
                    Some(FieldShape::Struct(of)) => {
                        let field = field_table(of).and_then(|known| known.field(name));
                        (field.is_none(), field.map(|field| &field.shape))
                    }
                    Some(FieldShape::Map(inner, _)) => (false, Some(&**inner)),
                    _ => (false, None),
                };
                match node.child(name) {
                    Child::Unknown => {
                        found.push(format!("{}: field not declared in schema", Path(path)));
                    }
                    _ if is_unknown => found.push(format!("{}: field not declared in schema", Path(path))),
                    child => find_problems(child.node(), shape, value, path, found),
                }
                path.pop();
            }
        }
        _ => {}
    }
}
