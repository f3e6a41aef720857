//! A version of a custom resource, with everything that its definition says compiled.

use std::time::SystemTime;

use serde_json::{Map, Value};

use super::columns::TableColumns;
use super::definition::{CustomResourceDefinition, ScalePaths, SelectableField};
use super::error::FieldError;
use super::parse::SchemaError;
use super::path::FieldPath;
use super::scale;
use super::structural::{Schema, StructuralSchema};

/// A version of a custom resource: what a server needs to take in and give out its objects.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::{CustomResource, CustomResourceDefinition};
/// use serde_json::json;
///
/// let definition: CustomResourceDefinition = serde_json::from_value(json!({"spec": {
///     "group": "example.dev", "names": {"plural": "widgets", "kind": "Widget"}, "scope": "Namespaced",
///     "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///         "type": "object",
///         "properties": {"spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}},
///     }}}],
/// }})).unwrap();
/// let widgets = CustomResource::compile(&definition, "v1")?.expect("the version is there");
/// let mut widget = json!({"apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"colour": "red"}});
/// assert_eq!(widgets.decode(&mut widget), ["spec.colour"]);
/// assert_eq!(widgets.validate_create(&widget)[0].to_string(), "spec.size: Required value");
/// # Ok::<(), lariat_apiserver::schema::SchemaError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CustomResource {
    /// The kind of its objects.
    pub kind: String,
    /// Group and version.
    pub api_version: String,
    /// The schema.
    pub schema: StructuralSchema,
    /// Whether `status` is a subresource.
    pub has_status: bool,
    /// Where the scale stands, if it is a subresource.
    pub scale: Option<ScalePaths>,
    /// The columns of tables.
    pub columns: TableColumns,
    /// The paths of selectable fields, with the labels that selectors use.
    selectable: Vec<String>,
}

impl CustomResource {
    /// Compiles a version of a definition. There is none if the definition does not have it.
    ///
    /// A version without a schema keeps every field, as definitions from before schemas were required do.
    ///
    /// # Errors
    ///
    /// If the schema cannot be compiled. A definition that is valid has no such schema.
    pub fn compile(
        definition: &CustomResourceDefinition,
        version: &str,
    ) -> Result<Option<Self>, SchemaError> {
        let Some(version) = definition.version(version) else { return Ok(None) };
        let schema = match version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref()) {
            Some(schema) => StructuralSchema::parse(schema)?,
            None => StructuralSchema { root: Schema { preserve_unknown: true, ..Schema::default() }.into() },
        };
        let subresources = version.subresources.as_ref();
        Ok(Some(Self {
            kind: definition.spec.names.kind.clone(),
            api_version: format!("{}/{}", definition.spec.group, version.name),
            schema,
            has_status: subresources.is_some_and(|subresources| subresources.status.is_some()),
            scale: subresources.and_then(|subresources| subresources.scale.clone()),
            columns: TableColumns::new(&version.additional_printer_columns),
            selectable: version
                .selectable_fields
                .iter()
                .map(SelectableField::label)
                .map(str::to_owned)
                .collect(),
        }))
    }

    /// What the server does with an object that was just decoded: drops unknown fields, then fills in defaults. The
    /// dropped fields are what strict and warning field validation speak of.
    pub fn decode(&self, object: &mut Value) -> Vec<String> {
        let dropped = self.schema.prune(object);
        self.schema.default(object);
        dropped
    }

    /// What the server does with a new object before it is validated: the status is not the client's to write, and the
    /// generation begins with 1.
    pub fn prepare_for_create(&self, object: &mut Value) {
        let Some(fields) = object.as_object_mut() else { return };
        if self.has_status {
            fields.remove("status");
        }
        set_generation(fields, 1);
    }

    /// What the server does with an object that replaces `old`: the status stays, and the generation grows if anything
    /// but the metadata changed.
    pub fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        let Some(fields) = object.as_object_mut() else { return };
        if self.has_status {
            copy(fields, old, "status");
        }
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        let without_metadata = |(key, _): &(&String, &Value)| key.as_str() != "metadata";
        let new = fields.iter().filter(without_metadata);
        let old = old.as_object().into_iter().flatten().filter(without_metadata);
        let changed = !new.eq(old);
        set_generation(fields, generation.saturating_add(changed.into()));
    }

    /// What the server does with an object whose status replaces that of `old`: everything but the status stays, of the
    /// metadata too, except `managedFields` and what preconditions need.
    pub fn prepare_for_status_update(&self, object: &mut Value, old: &Value) {
        let (Some(new), Some(fields)) = (object.as_object(), old.as_object()) else { return };
        let mut merged = fields.clone();
        copy(&mut merged, object, "status");
        if let (Some(Value::Object(metadata)), Some(Value::Object(own))) =
            (merged.get_mut("metadata"), new.get("metadata"))
        {
            metadata.remove("managedFields");
            for field in ["managedFields", "resourceVersion", "uid"] {
                metadata.extend(own.get(field).map(|value| (field.to_owned(), value.clone())));
            }
        }
        *object = Value::Object(merged);
    }

    /// Everything that is wrong with a new object, in the server's order, except with its metadata: those errors come
    /// first.
    pub fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        self.validate(object, None)
    }

    /// Everything that is wrong with an object that replaces `old`. What was wrong with the same value before is
    /// forgiven.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        self.validate(object, Some(old))
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.validate_type(object);
        if !errors.is_empty() {
            return errors;
        }
        errors.extend(self.schema.validate_values(object, old));
        errors.extend(self.scale.iter().flat_map(|paths| scale::validate_scale_fields(paths, object)));
        errors.extend(self.schema.validate_embedded(object));
        errors.extend(self.schema.validate_lists(object, old));
        errors
    }

    /// Everything that is wrong with an object whose status replaces that of `old`.
    pub fn validate_status_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_type(object);
        if !errors.is_empty() {
            return errors;
        }
        let schema = self.schema.root.properties.get("status");
        if let (Some(schema), Some(status)) = (schema, object.get("status")) {
            errors.extend(schema.validate_at(&FieldPath::new("status"), status, old.get("status")));
        }
        errors.extend(self.scale.iter().flat_map(|paths| scale::validate_scale_status(paths, object)));
        errors.extend(self.schema.validate_embedded(object));
        errors.extend(self.schema.validate_lists(object, Some(old)));
        errors
    }

    fn validate_type(&self, object: &Value) -> Vec<FieldError> {
        let fields = [("kind", &self.kind), ("apiVersion", &self.api_version)];
        let wrong = fields.into_iter().filter_map(|(field, wanted)| {
            let found = object.get(field).and_then(Value::as_str).unwrap_or_default();
            let detail = || format!("must be {wanted}");
            (found != wanted).then(|| FieldError::invalid(&FieldPath::new(field), found, detail()))
        });
        wrong.collect()
    }

    /// The cells of an object's row in a table.
    pub fn cells(&self, object: &Value, now: SystemTime) -> Vec<Value> {
        self.columns.cells(object, now)
    }

    /// The labels of the fields that field selectors may use, besides those of the metadata.
    pub fn selectable_fields(&self) -> impl Iterator<Item = &str> {
        self.selectable.iter().map(String::as_str)
    }

    /// The selectable fields of an object, with their values. A field that is absent has an empty value.
    pub fn field_values(&self, object: &Value) -> Vec<(&str, String)> {
        let value = |label: &str| {
            let found = label.split('.').try_fold(object, |value, name| value.get(name));
            match found {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Bool(_) | Value::Number(_))) => super::text::plain(value),
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => String::new(),
            }
        };
        self.selectable.iter().map(|label| (label.as_str(), value(label))).collect()
    }
}

impl SelectableField {
    /// The name that field selectors use: the path without the dot before it.
    pub fn label(&self) -> &str {
        self.json_path.strip_prefix('.').unwrap_or(&self.json_path)
    }
}

/// Makes a field the same as in another object, which may not have it.
fn copy(fields: &mut Map<String, Value>, from: &Value, field: &str) {
    match from.get(field) {
        Some(value) => drop(fields.insert(field.into(), value.clone())),
        None => drop(fields.remove(field)),
    }
}

fn set_generation(fields: &mut Map<String, Value>, generation: i64) {
    let metadata = fields.entry("metadata").or_insert_with(|| Map::new().into());
    if let Value::Object(metadata) = metadata {
        metadata.insert("generation".into(), generation.into());
    }
}
