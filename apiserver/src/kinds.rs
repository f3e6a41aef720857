//! The resources that are served, and how the objects of each behave.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use lariat_api::Status;
use serde_json::{Value, json};

use crate::aggregation::{AggregateError, Aggregated};
use crate::apply::{FieldManager, Schemaless};
use crate::builtin::{self, Strategy, from_core, to_core};
use crate::failure;
use crate::form;
use crate::schema::{CustomResource, CustomResourceDefinition, FieldError, FieldErrorKind, unknown_field};
use crate::storage::ResourceName;

/// A version of a resource, as it is served.
pub(crate) struct Served {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    /// Under which name all versions are stored.
    pub(crate) storage: ResourceName,
    pub(crate) behaviour: Behaviour,
}

pub(crate) enum Behaviour {
    BuiltIn(&'static builtin::Resource),
    Custom(Box<Custom>),
}

/// A version of a custom resource.
pub(crate) struct Custom {
    pub(crate) resource: CustomResource,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// The schema as its author wrote it.
    pub(crate) open_api: Value,
}

/// All resources that are served.
pub(crate) struct Kinds {
    served: Vec<Arc<Served>>,
    /// Further APIs, each of which has its group and version to itself.
    aggregated: Vec<Arc<Aggregated>>,
    /// Custom resources whose caches nobody has set up by asking for them.
    cold: BTreeSet<ResourceName>,
}

/// Under which name definitions are stored.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Under which name namespaces are stored.
pub(crate) const NAMESPACES: &str = "namespaces";

impl Served {
    /// A version of a custom resource; none if the definition does not serve it.
    pub(crate) fn of_definition(definition: &CustomResourceDefinition, version: &str) -> Option<Self> {
        let spec = &definition.spec;
        let served = definition.version(version).filter(|version| version.served)?;
        let open_api = served.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.clone());
        let resource = CustomResource::compile(definition, version).ok()??;
        Some(Self {
            group: spec.group.clone(),
            version: version.to_owned(),
            kind: spec.names.kind.clone(),
            list_kind: spec.names.list_kind.clone(),
            plural: spec.names.plural.clone(),
            namespaced: definition.is_namespaced(),
            storage: storage_name(&spec.group, &spec.names.plural),
            behaviour: Behaviour::Custom(Box::new(Custom {
                resource,
                singular: spec.names.singular.clone(),
                short_names: spec.names.short_names.clone(),
                categories: spec.names.categories.clone(),
                open_api: open_api.unwrap_or_default(),
            })),
        })
    }

    fn built_in(resource: &'static builtin::Resource) -> Self {
        // Both forms of an event are one resource.
        let group = if resource.strategy == Strategy::EventsEvent { "" } else { resource.group };
        Self {
            group: resource.group.to_owned(),
            version: resource.version.to_owned(),
            kind: resource.kind.to_owned(),
            list_kind: resource.list_kind.to_owned(),
            plural: resource.plural.to_owned(),
            namespaced: resource.namespaced,
            storage: storage_name(group, resource.plural),
            behaviour: Behaviour::BuiltIn(resource),
        }
    }

    pub(crate) fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    pub(crate) fn strategy(&self) -> Option<Strategy> {
        match &self.behaviour {
            Behaviour::BuiltIn(resource) => Some(resource.strategy),
            Behaviour::Custom(_) => None,
        }
    }

    /// The built-in resource whose rules for metadata hold.
    fn rules(&self) -> Option<&'static builtin::Resource> {
        match &self.behaviour {
            Behaviour::BuiltIn(resource) => Some(resource),
            Behaviour::Custom(_) => builtin::find("", if self.namespaced { "configmaps" } else { "nodes" }),
        }
    }

    /// Refuses wrong types, drops unknown fields, of which it returns a sentence each, and fills in defaults.
    pub(crate) fn decode(&self, object: &mut Value) -> Result<Vec<String>, Status> {
        match &self.behaviour {
            Behaviour::BuiltIn(resource) => {
                let kind = object["kind"].as_str().unwrap_or_default();
                if !kind.is_empty() && kind != self.kind {
                    let (version, wanted) = (self.api_version(), &self.kind);
                    return Err(failure::bad_request(format!(
                        "the object provided is unrecognized (must be of type {wanted}): {kind} in version {version:?}"
                    )));
                }
                object["kind"] = self.kind.as_str().into();
                object["apiVersion"] = self.api_version().into_owned().into();
                if resource.strategy == Strategy::CustomResourceDefinition {
                    with_definition(object, CustomResourceDefinition::set_defaults);
                }
                resource.strategy.decode(object).map_err(failure::bad_request)
            }
            // Of another kind nothing is known, so nothing may be dropped; validation refuses it.
            Behaviour::Custom(custom) if object["kind"] == *custom.resource.kind => {
                let dropped = custom.resource.decode(object);
                Ok(dropped.iter().map(|path| unknown_field(path)).collect())
            }
            Behaviour::Custom(_) => Ok(Vec::new()),
        }
    }

    pub(crate) fn prepare_create(&self, object: &mut Value, now: SystemTime) {
        match &self.behaviour {
            Behaviour::Custom(custom) => custom.resource.prepare_for_create(object),
            Behaviour::BuiltIn(resource) if resource.strategy == Strategy::CustomResourceDefinition => {
                with_definition(object, |definition| {
                    definition.prepare_for_create();
                    definition.metadata.insert("generation".into(), 1.into());
                });
            }
            Behaviour::BuiltIn(resource) => resource.strategy.prepare_create(object, now),
        }
    }

    pub(crate) fn prepare_update(&self, object: &mut Value, old: &Value, subresource: &str) {
        match (&self.behaviour, subresource) {
            (Behaviour::Custom(custom), "status") => custom.resource.prepare_for_status_update(object, old),
            (Behaviour::Custom(custom), _) => custom.resource.prepare_for_update(object, old),
            (Behaviour::BuiltIn(resource), _) if resource.strategy == Strategy::CustomResourceDefinition => {
                let Ok(before) = definition(old) else { return };
                with_definition(object, |definition| {
                    definition.prepare_for_update(&before);
                    let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
                    let generation = generation.saturating_add((definition.spec != before.spec).into());
                    definition.metadata.insert("generation".into(), generation.into());
                });
            }
            (Behaviour::BuiltIn(_), "finalize") => builtin::finalize(object, old),
            (Behaviour::BuiltIn(resource), "status") => resource.strategy.prepare_status_update(object, old),
            (Behaviour::BuiltIn(resource), _) => resource.strategy.prepare_update(object, old),
        }
    }

    pub(crate) fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let metadata = || {
            let rules = self.rules().into_iter();
            rules.flat_map(|rules| builtin::validate_metadata(rules, object)).collect::<Vec<_>>()
        };
        match &self.behaviour {
            Behaviour::Custom(custom) => [metadata(), custom.resource.validate_create(object)].concat(),
            Behaviour::BuiltIn(resource) if resource.strategy == Strategy::CustomResourceDefinition => {
                definition(object).map_or_else(|error| vec![error], |new| new.validate())
            }
            Behaviour::BuiltIn(resource) => resource.strategy.validate_create(object),
        }
    }

    pub(crate) fn validate_update(&self, object: &Value, old: &Value, subresource: &str) -> Vec<FieldError> {
        match (&self.behaviour, subresource) {
            (Behaviour::Custom(custom), "status") => custom.resource.validate_status_update(object, old),
            (Behaviour::Custom(custom), _) => custom.resource.validate_update(object, old),
            (Behaviour::BuiltIn(resource), _) if resource.strategy == Strategy::CustomResourceDefinition => {
                match (definition(object), definition(old)) {
                    (Ok(new), Ok(old)) => new.validate_update(&old),
                    (Err(error), _) | (_, Err(error)) => vec![error],
                }
            }
            (Behaviour::BuiltIn(resource), "status") => resource.strategy.validate_status_update(object, old),
            (Behaviour::BuiltIn(resource), _) => resource.strategy.validate_update(object, old),
        }
    }

    /// Writes an object in the one form in which it is stored.
    pub(crate) fn normalise(&self, object: &mut Value) {
        if let Some(strategy) =
            self.strategy().filter(|strategy| *strategy != Strategy::CustomResourceDefinition)
        {
            strategy.normalise(object);
        }
    }

    /// The object as it is stored, of one in the form that is served.
    pub(crate) fn to_stored(&self, object: Value) -> Value {
        if self.strategy() == Some(Strategy::EventsEvent) { to_core(&object) } else { object }
    }

    /// The object in the form that is served, of a stored one.
    pub(crate) fn to_served(&self, object: &Value) -> Value {
        let mut served =
            if self.strategy() == Some(Strategy::EventsEvent) { from_core(object) } else { object.clone() };
        served["apiVersion"] = self.api_version().into_owned().into();
        served["kind"] = self.kind.as_str().into();
        served
    }

    /// Whether an update may leave the resourceVersion out.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        self.strategy().is_some_and(Strategy::allows_unconditional_update)
    }

    /// Whether an update creates an object that is not there.
    pub(crate) fn allows_create_on_update(&self) -> bool {
        self.strategy().is_some_and(Strategy::allows_create_on_update)
    }

    /// Who owns which fields of an object.
    pub(crate) fn field_manager(&self, subresource: &str) -> FieldManager<'_> {
        match &self.behaviour {
            Behaviour::Custom(custom) => FieldManager::custom(
                &custom.resource.schema,
                &self.kind,
                custom.resource.has_status,
                subresource,
            ),
            Behaviour::BuiltIn(resource) => FieldManager::builtin(&self.group, &self.kind, subresource)
                .unwrap_or_else(|| FieldManager::custom(&Schemaless, &self.kind, true, subresource))
                .with_fields(resource.strategy.typed_as()),
        }
    }

    /// Whether a subresource is served.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        match &self.behaviour {
            Behaviour::Custom(custom) => match name {
                "status" => custom.resource.has_status,
                "scale" => custom.resource.scale.is_some(),
                _ => false,
            },
            Behaviour::BuiltIn(resource) => resource.subresource(name).is_some(),
        }
    }

    /// Whether there can be objects, not only the creation of some.
    pub(crate) fn has_objects(&self) -> bool {
        match &self.behaviour {
            Behaviour::Custom(_) => true,
            Behaviour::BuiltIn(resource) => resource.verbs != ["create"],
        }
    }

    /// Whether something can be done with the resource itself.
    pub(crate) fn has_verb(&self, verb: &str) -> bool {
        match &self.behaviour {
            Behaviour::Custom(_) => true,
            Behaviour::BuiltIn(resource) => resource.verbs.contains(&verb),
        }
    }

    /// Refuses a field selector that names a field that is not offered.
    pub(crate) fn check_selectable(&self, field: &str) -> Result<(), Status> {
        let offered = match &self.behaviour {
            Behaviour::BuiltIn(resource) if resource.strategy.is_supported(field) => return Ok(()),
            Behaviour::BuiltIn(resource) => {
                return Err(failure::bad_request(resource.strategy.unsupported(field)));
            }
            Behaviour::Custom(custom) => {
                matches!(field, "metadata.name" | "metadata.namespace")
                    || custom.resource.selectable_fields().any(|known| known == field)
            }
        };
        if offered {
            Ok(())
        } else {
            Err(failure::bad_request(format!("field label not supported: {field}")))
        }
    }

    /// Whether the value of a field of a stored object is this.
    pub(crate) fn field_is(&self, object: &Value, field: &str, wanted: &str) -> bool {
        match &self.behaviour {
            Behaviour::BuiltIn(resource) => {
                // Fields are those of the stored form.
                let strategy = resource.strategy;
                strategy.field(object, field).unwrap_or_default() == wanted
            }
            Behaviour::Custom(custom) => match field {
                "metadata.name" => crate::meta::name(object) == wanted,
                "metadata.namespace" => crate::meta::namespace(object) == wanted,
                _ => custom
                    .resource
                    .field_values(object)
                    .iter()
                    .any(|(name, value)| *name == field && value == wanted),
            },
        }
    }

    /// The columns of a table.
    pub(crate) fn columns(&self) -> Value {
        match &self.behaviour {
            Behaviour::Custom(custom) => json!(custom.resource.columns.definitions()),
            Behaviour::BuiltIn(resource) => form::columns(resource.strategy.columns()),
        }
    }

    /// An object's row in a table.
    pub(crate) fn row(&self, object: &Value, now: SystemTime) -> Value {
        match &self.behaviour {
            Behaviour::Custom(custom) => json!({"cells": custom.resource.cells(object, now)}),
            Behaviour::BuiltIn(resource) => {
                let row = resource.strategy.row(object, now);
                let mut shown = json!({"cells": row.cells});
                if !row.conditions.is_empty() {
                    shown["conditions"] = row.conditions.into();
                }
                shown
            }
        }
    }
}

impl Kinds {
    /// What is served before anybody defines anything.
    pub(crate) fn built_in() -> Self {
        let served = builtin::registry().map(Served::built_in).map(Arc::new).collect();
        Self { served, aggregated: Vec::new(), cold: BTreeSet::new() }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.served
            .iter()
            .find(|served| (&*served.group, &*served.version, &*served.plural) == (group, version, plural))
    }

    /// Whether a group is built in.
    pub(crate) fn is_built_in(&self, group: &str) -> bool {
        self.served.iter().any(|served| served.group == group && served.strategy().is_some())
    }

    /// Adds further APIs, all or none.
    pub(crate) fn aggregate(&mut self, all: Vec<Aggregated>) -> Result<(), AggregateError> {
        let is_taken =
            |new: &&Aggregated| self.group_versions().any(|known| known == (&*new.group, &*new.version));
        if let Some(taken) = all.iter().find(is_taken) {
            return Err(taken.taken());
        }
        self.aggregated.extend(all.into_iter().map(Arc::new));
        Ok(())
    }

    /// The further API that answers for a group and version.
    pub(crate) fn aggregated(&self, group: &str, version: &str) -> Option<&Arc<Aggregated>> {
        self.aggregated.iter().find(|one| one.group == group && one.version == version)
    }

    /// All groups with their versions, each once, in the order of discovery.
    pub(crate) fn group_versions(&self) -> impl Iterator<Item = (&str, &str)> {
        let served = self.served.iter().map(|served| (&*served.group, &*served.version));
        let aggregated = self.aggregated.iter().map(|one| (&*one.group, &*one.version));
        let mut seen = BTreeSet::new();
        served.chain(aggregated).filter(move |group_version| seen.insert(*group_version))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.served.iter()
    }

    /// Serves these versions of a custom resource, and no others.
    pub(crate) fn replace(&mut self, storage: &ResourceName, versions: Vec<Served>) {
        let before = self.served.len();
        self.served.retain(|served| served.storage != *storage);
        if versions.is_empty() {
            self.cold.remove(storage);
        } else if self.served.len() == before {
            self.cold.insert(storage.clone());
        }
        self.served.extend(versions.into_iter().map(Arc::new));
    }

    /// Sets up the cache of a resource; whether it was not yet.
    ///
    /// A real server does so when a custom resource is asked for for the first time. That first request is too early for
    /// the cache if it is a list or a watch.
    pub(crate) fn warm_up(&mut self, storage: &ResourceName) -> bool {
        !self.cold.is_empty() && self.cold.remove(storage)
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
pub(crate) fn with_definition(object: &mut Value, change: impl FnOnce(&mut CustomResourceDefinition)) {
    if let Ok(mut parsed) = definition(object) {
        change(&mut parsed);
        if let Ok(changed) = serde_json::to_value(&parsed) {
            *object = changed;
        }
    }
}
