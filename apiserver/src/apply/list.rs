use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::path::PathElement;
use super::types::{ListType, TypeInfo};

/// What an item of a list that is not atomic is known by.
///
/// # Errors
///
/// The API server's words for an item that cannot be known, without its position.
pub(crate) fn element_of(
    node: &dyn TypeInfo,
    list: &ListType<'_>,
    item: &Value,
) -> Result<PathElement, String> {
    match (list, item) {
        (ListType::Map(_), Value::Null) => {
            Err("associative list with keys may not have a null element".into())
        }
        (ListType::Map(keys), Value::Object(fields)) => {
            let mut found = BTreeMap::new();
            for key in keys {
                let value = fields.get(*key).cloned().or_else(|| node.key_default(key)).ok_or_else(|| {
                    format!(
                        "associative list with keys has an element that omits key field {key:?} (and doesn't have \
                         default value)"
                    )
                })?;
                found.insert((*key).to_owned(), value);
            }
            Ok(PathElement::Key(found))
        }
        (ListType::Map(_), _) => Err("associative list with keys may not have non-map elements".into()),
        (_, Value::Object(_)) => Err("associative list without keys has an element that's a map type".into()),
        (_, Value::Array(_)) => Err("not supported: associative list with lists as elements".into()),
        (_, Value::Null) => {
            Err("associative list without keys has an element that's an explicit null".into())
        }
        (_, value) => Ok(PathElement::Value(value.clone())),
    }
}

/// What the items of a list are known by, in their order; none if the list is atomic or an item cannot be known, so that
/// the list can only be taken as a whole.
pub(crate) fn elements_of(node: &dyn TypeInfo, items: &[Value]) -> Option<Vec<PathElement>> {
    let list = node.list_type();
    if list == ListType::Atomic {
        return None;
    }
    items.iter().map(|item| element_of(node, &list, item).ok()).collect()
}

/// The elements that occur more than once.
pub(crate) fn duplicates(elements: &[PathElement]) -> BTreeSet<&PathElement> {
    let mut seen = BTreeSet::new();
    elements.iter().filter(|element| !seen.insert(*element)).collect()
}
