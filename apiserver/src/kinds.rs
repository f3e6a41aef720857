//! The resources that are served, and how the objects of each behave.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::apply::{FieldManager, Schemaless};
use crate::schema::{CustomResource, CustomResourceDefinition, FieldError, FieldErrorKind};
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
    behaviour: Behaviour,
}

enum Behaviour {
    /// As a definition says.
    Custom(Arc<CustomResource>),
    /// Definitions themselves.
    Definition,
    /// Any fields, none of which means anything.
    Plain,
}

/// All resources that are served.
pub(crate) struct Kinds(Vec<Arc<Served>>);

/// Under which name definitions are stored.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Under which name namespaces are stored.
pub(crate) const NAMESPACES: &str = "namespaces";

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
            behaviour: Behaviour::Custom(Arc::new(custom)),
        })
    }

    fn built_in(
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
        short_names: &[&str],
        behaviour: Behaviour,
    ) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            list_kind: format!("{kind}List"),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            short_names: short_names.iter().map(|name| (*name).to_owned()).collect(),
            categories: Vec::new(),
            namespaced: false,
            storage: storage_name(group, plural),
            behaviour,
        }
    }

    pub(crate) fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    fn custom(&self) -> Option<&CustomResource> {
        match &self.behaviour {
            Behaviour::Custom(custom) => Some(custom),
            _ => None,
        }
    }

    /// Drops unknown fields, of which it returns a sentence each, and fills in defaults.
    pub(crate) fn decode(&self, object: &mut Value) -> Vec<String> {
        match &self.behaviour {
            // Of another kind nothing is known, so nothing may be dropped; validation refuses it.
            Behaviour::Custom(custom) if object["kind"] == *custom.kind => custom.decode(object),
            Behaviour::Custom(_) | Behaviour::Definition | Behaviour::Plain => Vec::new(),
        }
    }

    pub(crate) fn prepare_create(&self, object: &mut Value) {
        match &self.behaviour {
            Behaviour::Custom(custom) => custom.prepare_for_create(object),
            Behaviour::Definition => with_definition(object, |definition| {
                definition.prepare_for_create();
                definition.metadata.insert("generation".into(), 1.into());
            }),
            Behaviour::Plain => {}
        }
    }

    pub(crate) fn prepare_update(&self, object: &mut Value, old: &Value, subresource: &str) {
        match (&self.behaviour, subresource) {
            (Behaviour::Custom(custom), "status") => custom.prepare_for_status_update(object, old),
            (Behaviour::Custom(custom), _) => custom.prepare_for_update(object, old),
            (Behaviour::Definition, _) => {
                let Ok(before) = serde_json::from_value::<CustomResourceDefinition>(old.clone()) else {
                    return;
                };
                with_definition(object, |definition| {
                    definition.prepare_for_update(&before);
                    let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
                    let changed = definition.spec != before.spec;
                    let generation = generation.saturating_add(changed.into());
                    definition.metadata.insert("generation".into(), generation.into());
                });
            }
            (Behaviour::Plain, _) => {}
        }
    }

    pub(crate) fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        match &self.behaviour {
            Behaviour::Custom(custom) => custom.validate_create(object),
            Behaviour::Definition => {
                definition(object).map_or_else(|error| vec![error], |new| new.validate())
            }
            Behaviour::Plain => Vec::new(),
        }
    }

    pub(crate) fn validate_update(&self, object: &Value, old: &Value, subresource: &str) -> Vec<FieldError> {
        match (&self.behaviour, subresource) {
            (Behaviour::Custom(custom), "status") => custom.validate_status_update(object, old),
            (Behaviour::Custom(custom), _) => custom.validate_update(object, old),
            (Behaviour::Definition, _) => match (definition(object), definition(old)) {
                (Ok(new), Ok(old)) => new.validate_update(&old),
                (Err(error), _) | (_, Err(error)) => vec![error],
            },
            (Behaviour::Plain, _) => Vec::new(),
        }
    }

    /// Who owns which fields of an object.
    pub(crate) fn field_manager(&self, subresource: &str) -> FieldManager<'_> {
        let has_status = self.custom().is_some_and(|custom| custom.has_status);
        FieldManager::custom(&Schemaless, &self.kind, has_status, subresource)
    }

    /// Whether a subresource is served.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        self.custom().is_some_and(|custom| name == "status" && custom.has_status)
    }

    /// Whether field selectors may name a field.
    pub(crate) fn is_selectable(&self, field: &str) -> bool {
        matches!(field, "metadata.name" | "metadata.namespace")
            || self.custom().is_some_and(|custom| custom.selectable_fields().any(|known| known == field))
    }

    /// The columns of a table.
    pub(crate) fn columns(&self) -> Value {
        match self.custom() {
            Some(custom) => json!(custom.columns.definitions()),
            None => json!(crate::schema::TableColumns::new(&[]).definitions()),
        }
    }

    /// The cells of an object in a table.
    pub(crate) fn cells(&self, object: &Value, now: SystemTime) -> Vec<Value> {
        match self.custom() {
            Some(custom) => custom.cells(object, now),
            None => crate::schema::TableColumns::new(&[]).cells(object, now),
        }
    }
}

impl Kinds {
    /// What is served before anybody defines anything.
    pub(crate) fn built_in() -> Self {
        let definitions = Served::built_in(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            &["crd", "crds"],
            Behaviour::Definition,
        );
        let namespaces = Served::built_in("", "v1", "Namespace", NAMESPACES, &["ns"], Behaviour::Plain);
        Self([namespaces, definitions].into_iter().map(Arc::new).collect())
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.0
            .iter()
            .find(|served| (&*served.group, &*served.version, &*served.plural) == (group, version, plural))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.0.iter()
    }

    /// Serves these versions of a resource, and no others.
    pub(crate) fn replace(&mut self, storage: &str, versions: Vec<Served>) {
        self.0.retain(|served| &*served.storage != storage);
        self.0.extend(versions.into_iter().map(Arc::new));
    }
}

pub(crate) fn storage_name(group: &str, plural: &str) -> ResourceName {
    if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() }
}

fn definition(object: &Value) -> Result<CustomResourceDefinition, FieldError> {
    serde_json::from_value(object.clone()).map_err(|error| {
        FieldError::new(FieldErrorKind::TypeInvalid, "spec", object["spec"].clone(), error.to_string())
    })
}

/// Changes a definition, unless it is none, which validation finds.
fn with_definition(object: &mut Value, change: impl FnOnce(&mut CustomResourceDefinition)) {
    if let Ok(mut parsed) = definition(object) {
        change(&mut parsed);
        if let Ok(changed) = serde_json::to_value(&parsed) {
            *object = changed;
        }
    }
}
