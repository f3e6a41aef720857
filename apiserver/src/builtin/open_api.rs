//! The schemas of the built-in kinds in OpenAPI v3, from the table of their fields. Sentences are not in it.

use serde_json::{Map, Value, json};

use super::Strategy;
use super::types::{Field, Shape, Struct, lookup_schema, values_of};

/// The structs that are not of one group.
const COMMON: [&str; 8] = [
    "Condition",
    "FieldSelectorRequirement",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
    "Preconditions",
];

/// Where references point to.
const SCHEMAS: &str = "#/components/schemas/";

/// Schemas by their names, of the structs of one group.
pub(crate) struct Schemas<'a> {
    group: &'a str,
    version: &'a str,
    known: &'a mut Map<String, Value>,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(group: &'a str, version: &'a str, known: &'a mut Map<String, Value>) -> Self {
        Self { group, version, known }
    }

    /// Adds the schema of a kind, and of all that is in it. Returns its name.
    pub(crate) fn add_kind(&mut self, strategy: Strategy) -> String {
        self.add(strategy.type_name())
    }

    /// Adds the schema of what all objects have. Returns a reference to it.
    pub(crate) fn metadata(&mut self) -> Value {
        let name = self.add("ObjectMeta");
        reference(&name)
    }

    fn add(&mut self, type_name: &str) -> String {
        let Some(known) = lookup_schema(type_name) else { return String::new() };
        let name = self.name(known.name);
        if !self.known.contains_key(&name) {
            // It may be in itself.
            self.known.insert(name.clone(), Value::Null);
            let schema = self.of_struct(known);
            self.known.insert(name.clone(), schema);
        }
        name
    }

    fn name(&self, of: &str) -> String {
        match self.group.split('.').next() {
            _ if COMMON.contains(&of) => format!("io.k8s.apimachinery.pkg.apis.meta.v1.{of}"),
            None | Some("") => format!("io.k8s.api.core.{}.{of}", self.version),
            Some(group) => format!("io.k8s.api.{group}.{}.{of}", self.version),
        }
    }

    fn of_struct(&mut self, known: &'static Struct) -> Value {
        let mut properties = Map::new();
        for field in &known.fields {
            let schema = self.of_field(field);
            properties.insert(field.name.into(), schema);
        }
        let required: Vec<&str> =
            known.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn of_field(&mut self, field: &'static Field) -> Value {
        let schema = self.of_shape(&field.shape);
        // Beside a reference nothing may stand, so that those who add to it need not know.
        if schema.get("$ref").is_some() { json!({"allOf": [schema]}) } else { schema }
    }

    fn of_shape(&mut self, shape: &'static Shape) -> Value {
        match shape {
            Shape::Pointer(inner) => self.of_shape(inner),
            Shape::Text(name) => match values_of(name) {
                None => json!({"type": "string"}),
                Some(values) => json!({"type": "string", "enum": values}),
            },
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Int32 => json!({"type": "integer", "format": "int32"}),
            Shape::Int64 => json!({"type": "integer", "format": "int64"}),
            Shape::Float => json!({"type": "number", "format": "double"}),
            Shape::Bytes => json!({"type": "string", "format": "byte"}),
            Shape::Time => self.common("apis.meta.v1.Time", json!({"type": "string", "format": "date-time"})),
            Shape::MicroTime => {
                self.common("apis.meta.v1.MicroTime", json!({"type": "string", "format": "date-time"}))
            }
            Shape::Quantity => self
                .common("api.resource.Quantity", json!({"oneOf": [{"type": "string"}, {"type": "number"}]})),
            Shape::IntOrString => {
                let schema =
                    json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]});
                self.common("util.intstr.IntOrString", schema)
            }
            // The one such field is that of who owns what.
            Shape::Any => self.common("apis.meta.v1.FieldsV1", json!({"type": "object"})),
            Shape::Struct(name) => reference(&self.add(name)),
            Shape::List(inner) => json!({"type": "array", "items": self.of_shape(inner)}),
            Shape::Map(inner, _) => json!({"type": "object", "additionalProperties": self.of_shape(inner)}),
        }
    }

    fn common(&mut self, name: &str, schema: Value) -> Value {
        let name = format!("io.k8s.apimachinery.pkg.{name}");
        let reference = reference(&name);
        self.known.insert(name, schema);
        reference
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{SCHEMAS}{name}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_told_to_its_leaves() {
        let mut known = Map::new();
        let name = Schemas::new("", "v1", &mut known).add_kind(Strategy::Pod);
        assert_eq!(name, "io.k8s.api.core.v1.Pod");
        let container = &known["io.k8s.api.core.v1.Container"];
        assert_eq!(container["required"], json!(["name"]));
        assert_eq!(
            container["properties"]["imagePullPolicy"]["enum"],
            json!(["Always", "IfNotPresent", "Never"])
        );
        let resources = &known["io.k8s.api.core.v1.ResourceRequirements"]["properties"]["limits"];
        let quantity = "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity";
        assert_eq!(resources["additionalProperties"], json!({"$ref": quantity}));
        for schema in known.values() {
            assert!(schema.is_object());
            for name in schema.to_string().split("\"$ref\":\"").skip(1) {
                let name = name.split('"').next().and_then(|name| name.strip_prefix(SCHEMAS));
                assert!(name.is_some_and(|name| known.contains_key(name)), "{name:?}");
            }
        }
    }
}
