use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::path::PathElement;
use super::value::MAX_DEPTH;

/// Why a value is not a set of fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A level of it is no object.
    #[error("fieldsV1 must be made of objects")]
    NoObject,
    /// A key says of which kind it is and then something else.
    #[error("{0:?} is no path element")]
    BadElement(String),
    /// It is nested too deeply.
    #[error("fieldsV1 is nested too deeply")]
    TooDeep,
}

impl FieldSet {
    /// Reads the form in which an object holds a set: an object whose keys are `.` or steps such as `f:spec`.
    ///
    /// # Errors
    ///
    /// If it is not of that form. Steps of a kind that is not known are left out, as the API server does.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        Ok(read(fields, MAX_DEPTH)?.0)
    }

    /// The form in which an object holds the set.
    pub fn to_fields_v1(&self) -> Value {
        let elements: BTreeSet<&PathElement> = self.members().iter().chain(self.children().keys()).collect();
        let mut fields = Map::new();
        for element in elements {
            let mut below = self.below(element).map_or_else(|| Value::Object(Map::new()), Self::to_fields_v1);
            if self.members().contains(element)
                && let Value::Object(below) = &mut below
                && !below.is_empty()
            {
                below.insert(".".into(), Value::Object(Map::new()));
            }
            fields.insert(element.to_key(), below);
        }
        Value::Object(fields)
    }
}

/// The set below a step, and whether the step itself is a member.
fn read(fields: &Value, depth: usize) -> Result<(FieldSet, bool), FieldsError> {
    let Value::Object(fields) = fields else { return Err(FieldsError::NoObject) };
    let Some(depth) = depth.checked_sub(1) else { return Err(FieldsError::TooDeep) };
    let mut set = FieldSet::new();
    let mut is_member = false;
    for (key, below) in fields {
        if key == "." {
            is_member = true;
            continue;
        }
        let Some(element) = PathElement::parse(key) else {
            match key.as_bytes() {
                [b'f' | b'k' | b'v' | b'i', b':', ..] => return Err(FieldsError::BadElement(key.clone())),
                [_, b':', ..] => continue,
                _ => return Err(FieldsError::BadElement(key.clone())),
            }
        };
        let (below, is_member) = read(below, depth)?;
        if is_member {
            set.insert_member(element.clone());
        }
        set.insert_child(element, below);
    }
    let is_member = is_member || set.is_empty();
    Ok((set, is_member))
}
