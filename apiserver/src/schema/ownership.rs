//! How the fields of custom resources are owned: what field management reads from a schema.

use serde_json::Value;

use super::structural::{Additional, ListType, MapType, Schema, StructuralSchema};
use crate::apply::{self, Child, Deduced, TypeInfo, object_meta};

impl TypeInfo for StructuralSchema {
    fn child(&self, field: &str) -> Child<'_> {
        of_object(field).unwrap_or_else(|| TypeInfo::child(&*self.root, field))
    }
}

impl TypeInfo for Schema {
    fn is_atomic_map(&self) -> bool {
        self.map_type() == MapType::Atomic
    }

    fn list_type(&self) -> apply::ListType<'_> {
        match Self::list_type(self) {
            ListType::Atomic => apply::ListType::Atomic,
            ListType::Set => apply::ListType::Set,
            ListType::Map => apply::ListType::Map(self.list_map_keys.iter().map(String::as_str).collect()),
        }
    }

    fn child(&self, field: &str) -> Child<'_> {
        if self.embedded
            && let Some(child) = of_object(field)
        {
            return child;
        }
        match (self.properties.get(field), &self.additional) {
            (Some(schema), _) => Child::Declared(schema),
            (None, Some(Additional::Schema(schema))) => Child::Entry(&**schema),
            (None, Some(Additional::Any(true))) => Child::Entry(&Deduced),
            (None, _) if self.preserve_unknown => Child::Entry(&Deduced),
            (None, _) => Child::Unknown,
        }
    }

    fn item(&self) -> &dyn TypeInfo {
        match &self.items {
            Some(schema) => &**schema,
            None => &Deduced,
        }
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        self.items.as_ref()?.properties.get(key)?.default.clone()
    }
}

/// The fields that every object has.
fn of_object(field: &str) -> Option<Child<'static>> {
    match field {
        "apiVersion" | "kind" => Some(Child::Declared(&Deduced)),
        "metadata" => Some(Child::Declared(object_meta())),
        _ => None,
    }
}
