use std::collections::BTreeMap;

use serde_json::Value;

use super::field_set::FieldSet;
use super::list::elements_of;
use super::path::PathElement;
use super::types::TypeInfo;
use super::value::is_same;

/// The fields in which one object differs from another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

/// Compares an object with what becomes of it.
pub(crate) fn compare(node: &dyn TypeInfo, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { path: Vec::new(), found: Comparison::default() };
    walk.visit(node, Some(old), Some(new));
    walk.found
}

impl Comparison {
    /// Without some fields and all that is below them.
    pub(crate) fn without(&self, fields: &FieldSet) -> Self {
        Self {
            added: self.added.difference_below(fields),
            modified: self.modified.difference_below(fields),
            removed: self.removed.difference_below(fields),
        }
    }

    /// What is new or other.
    pub(crate) fn changed(&self) -> FieldSet {
        self.modified.union(&self.added)
    }
}

struct Walk {
    path: Vec<PathElement>,
    found: Comparison,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Scalar,
    List,
    Map,
}

impl Walk {
    fn visit(&mut self, node: &dyn TypeInfo, old: Option<&Value>, new: Option<&Value>) {
        let (before, after) = (old.and_then(form), new.and_then(form));
        let is_leaf = match (before, after) {
            // A value that turned from one form into another is both: what was there is gone, and what came is new.
            (Some(before), Some(after)) if before != after => {
                self.visit_as(before, node, old, new);
                self.visit_as(after, node, old, new)
            }
            (Some(form), _) | (None, Some(form)) => self.visit_as(form, node, old, new),
            (None, None) => self.visit_leaf(old, new),
        };
        if !is_leaf && old.is_none() {
            self.found.added.insert(&self.path);
        } else if !is_leaf && new.is_none() {
            self.found.removed.insert(&self.path);
        }
    }

    /// Whether it was taken as a whole.
    fn visit_as(
        &mut self,
        form: Form,
        node: &dyn TypeInfo,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> bool {
        match form {
            Form::Scalar => self.visit_leaf(old, new),
            Form::List => self.visit_list(node, old, new),
            Form::Map => self.visit_map(node, old, new),
        }
    }

    fn visit_leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, None) => {}
            (None, Some(_)) => self.found.added.insert(&self.path),
            (Some(_), None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if is_same(old, new) => {}
            (Some(_), Some(_)) => self.found.modified.insert(&self.path),
        }
        true
    }

    fn visit_map(&mut self, node: &dyn TypeInfo, old: Option<&Value>, new: Option<&Value>) -> bool {
        let before = old.and_then(Value::as_object).filter(|fields| !fields.is_empty());
        let after = new.and_then(Value::as_object).filter(|fields| !fields.is_empty());
        if node.is_atomic_map() || before.is_none() && after.is_none() {
            return self.visit_leaf(old, new);
        }
        for (name, value) in before.into_iter().flatten() {
            let other = after.and_then(|fields| fields.get(name));
            self.visit_part(PathElement::field(name), node.child(name).node(), Some(value), other);
        }
        for (name, value) in after.into_iter().flatten() {
            if before.is_none_or(|fields| !fields.contains_key(name)) {
                self.visit_part(PathElement::field(name), node.child(name).node(), None, Some(value));
            }
        }
        false
    }

    fn visit_list(&mut self, node: &dyn TypeInfo, old: Option<&Value>, new: Option<&Value>) -> bool {
        let before = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let after = new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_empty = before.is_empty() && after.is_empty();
        let (Some(before_elements), Some(after_elements), false) =
            (elements_of(node, before), elements_of(node, after), is_empty)
        else {
            return self.visit_leaf(old, new);
        };
        let mut items: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (element, item) in before_elements.into_iter().zip(before) {
            items.entry(element).or_default().0.push(item);
        }
        for (element, item) in after_elements.into_iter().zip(after) {
            items.entry(element).or_default().1.push(item);
        }
        for (element, (before, after)) in items {
            self.visit_items(node.item(), element, &before, &after);
        }
        false
    }

    /// Compares what has the same element. Items that have it more than once are taken as a whole, under their element.
    fn visit_items(
        &mut self,
        node: &dyn TypeInfo,
        element: PathElement,
        before: &[&Value],
        after: &[&Value],
    ) {
        match (before, after) {
            ([] | [_], [] | [_]) => {
                self.visit_part(element, node, before.first().copied(), after.first().copied());
            }
            ([_, _, ..], [_, _, ..]) => {
                let is_equal = before.len() == after.len()
                    && before.iter().zip(after).all(|(before, after)| is_same(before, after));
                if !is_equal {
                    self.at(element, |walk| walk.found.modified.insert(&walk.path));
                }
            }
            ([_, _, ..], [] | [_]) => {
                if let [item] = after {
                    self.visit_part(element.clone(), node, None, Some(item));
                }
                self.at(element, |walk| walk.found.removed.insert(&walk.path));
            }
            ([] | [_], _) => {
                if let [item] = before {
                    self.visit_part(element.clone(), node, Some(item), None);
                }
                self.at(element, |walk| walk.found.added.insert(&walk.path));
            }
        }
    }

    fn visit_part(
        &mut self,
        element: PathElement,
        node: &dyn TypeInfo,
        old: Option<&Value>,
        new: Option<&Value>,
    ) {
        self.at(element, |walk| walk.visit(node, old, new));
    }

    fn at(&mut self, element: PathElement, visit: impl FnOnce(&mut Self)) {
        self.path.push(element);
        visit(self);
        self.path.pop();
    }
}

/// None for null, which is of any form.
fn form(value: &Value) -> Option<Form> {
    match value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(Form::Scalar),
        Value::Array(_) => Some(Form::List),
        Value::Object(_) => Some(Form::Map),
    }
}
