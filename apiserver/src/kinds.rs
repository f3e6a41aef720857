//! The resources that are served, and how the objects of each behave.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use crate::schema::{ColumnDefinition, CustomResource, CustomResourceDefinition, FieldError};
use crate::storage::ResourceName;

/// A version of a resource, as it is served.
pub(crate) struct Served {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Under which name all versions are stored.
    pub(crate) storage: ResourceName,
    pub(crate) custom: Arc<CustomResource>,
}

/// All resources that are served.
#[derive(Default)]
pub(crate) struct Kinds(Vec<Arc<Served>>);

impl Served {
    /// A version of a custom resource; none if the definition does not serve it.
    pub(crate) fn of_definition(definition: &CustomResourceDefinition, version: &str) -> Option<Self> {
        let spec = &definition.spec;
        definition.version(version).filter(|version| version.served)?;
        let custom = CustomResource::compile(definition, version).ok()??;
        Some(Self {
            group: spec.group.clone(),
            version: version.to_owned(),
            kind: spec.names.kind.clone(),
            list_kind: spec.names.list_kind.clone(),
            plural: spec.names.plural.clone(),
            singular: spec.names.singular.clone(),
            short_names: spec.names.short_names.clone(),
            categories: spec.names.categories.clone(),
            namespaced: definition.is_namespaced(),
            storage: storage_name(&spec.group, &spec.names.plural),
            custom: Arc::new(custom),
        })
    }

    pub(crate) fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    /// Drops unknown fields, of which it returns a sentence each, and fills in defaults.
    pub(crate) fn decode(&self, object: &mut Value) -> Vec<String> {
        self.custom.decode(object)
    }

    pub(crate) fn prepare_create(&self, object: &mut Value) {
        self.custom.prepare_for_create(object);
    }

    pub(crate) fn prepare_update(&self, object: &mut Value, old: &Value, subresource: &str) {
        match subresource {
            "status" => self.custom.prepare_for_status_update(object, old),
            _ => self.custom.prepare_for_update(object, old),
        }
    }

    pub(crate) fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        self.custom.validate_create(object)
    }

    pub(crate) fn validate_update(&self, object: &Value, old: &Value, subresource: &str) -> Vec<FieldError> {
        match subresource {
            "status" => self.custom.validate_status_update(object, old),
            _ => self.custom.validate_update(object, old),
        }
    }

    /// Whether a subresource is served.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        match name {
            "status" => self.custom.has_status,
            "scale" => self.custom.scale.is_some(),
            _ => false,
        }
    }

    /// Whether field selectors may name a field.
    pub(crate) fn is_selectable(&self, field: &str) -> bool {
        matches!(field, "metadata.name" | "metadata.namespace")
            || self.custom.selectable_fields().any(|known| known == field)
    }

    pub(crate) fn columns(&self) -> &[ColumnDefinition] {
        self.custom.columns.definitions()
    }

    pub(crate) fn cells(&self, object: &Value, now: SystemTime) -> Vec<Value> {
        self.custom.cells(object, now)
    }
}

impl Kinds {
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.0.iter().find(|served| (&*served.group, &*served.version, &*served.plural) == (group, version, plural))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.0.iter()
    }

    /// Takes the place of all versions of a resource.
    pub(crate) fn replace(&mut self, storage: &str, versions: Vec<Served>) {
        self.0.retain(|served| &*served.storage != storage);
        self.0.extend(versions.into_iter().map(Arc::new));
    }
}

/// The value of a field for selectors: of metadata, or one that a custom resource makes selectable.
pub(crate) fn field<'a>(served: &Served, object: &'a Value, name: &str) -> Cow<'a, str> {
    let pointer = format!("/{}", name.replace('.', "/"));
    let _ = served;
    match object.pointer(&pointer) {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => Cow::Owned(value.to_string()),
        _ => Cow::Borrowed(""),
    }
}

pub(crate) fn storage_name(group: &str, plural: &str) -> ResourceName {
    if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() }
}
