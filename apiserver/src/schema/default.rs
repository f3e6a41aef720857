//! Defaults are filled in.

use serde_json::Value;

use super::structural::{Schema, StructuralSchema};

impl StructuralSchema {
    /// Fills in the defaults of absent fields, and of nulls where the schema does not allow null. A null that is not
    /// allowed and has no default is dropped, as the server does before it looks for defaults.
    pub fn default(&self, object: &mut Value) {
        drop_nulls(object, &self.root);
        fill(object, &self.root);
    }
}

/// Drops the fields that are null, may not be, and have no default. Items of lists stay.
fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => fields.retain(|key, field| {
            let Some(schema) = schema.field(key) else { return true };
            if is_forbidden_null(field, schema) {
                return schema.default.is_some();
            }
            drop_nulls(field, schema);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(item, schema));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                if fields.get(name).is_none_or(|field| is_forbidden_null(field, property)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (key, field) in fields {
                if let Some(property) = schema.properties.get(key) {
                    fill(field, property);
                } else if let Some(any) = schema.additional_schema() {
                    replace_null(field, any);
                    fill(field, any);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                replace_null(item, schema);
                fill(item, schema);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replace_null(value: &mut Value, schema: &Schema) {
    if let Some(default) = &schema.default
        && is_forbidden_null(value, schema)
    {
        *value = default.clone();
    }
}

fn is_forbidden_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}
