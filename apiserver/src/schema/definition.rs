//! `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
//!
//! Fields that are not known here are kept, in every part.

use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::time;

/// The finalizer that keeps a definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The definition of a custom resource.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::CustomResourceDefinition;
/// use serde_json::json;
///
/// let mut definition: CustomResourceDefinition = serde_json::from_value(json!({
///     "metadata": {"name": "widgets.example.dev"},
///     "spec": {
///         "group": "example.dev", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
///         "versions": [{"name": "v1", "served": true, "storage": true,
///                       "schema": {"openAPIV3Schema": {"type": "object"}}}],
///     },
/// }))?;
/// definition.prepare_for_create();
/// assert_eq!(definition.spec.names.list_kind, "WidgetList");
/// assert!(definition.validate().is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CustomResourceDefinition {
    /// `apiextensions.k8s.io/v1`.
    #[serde(deserialize_with = "null_is_default")]
    pub api_version: String,
    /// `CustomResourceDefinition`.
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    /// The metadata, as it came: a server must not lose `managedFields`.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Map<String, Value>,
    /// What is wanted.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: DefinitionSpec,
    /// What is.
    #[serde(deserialize_with = "null_is_default")]
    pub status: DefinitionStatus,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a definition defines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionSpec {
    /// The group of the resource.
    #[serde(deserialize_with = "null_is_default")]
    pub group: String,
    /// What the resource is called.
    #[serde(deserialize_with = "null_is_default")]
    pub names: DefinitionNames,
    /// `Namespaced` or `Cluster`.
    #[serde(deserialize_with = "null_is_default")]
    pub scope: String,
    /// The versions, the preferred one first.
    #[serde(deserialize_with = "null_is_default")]
    pub versions: Vec<DefinitionVersion>,
    /// How objects are converted between versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
    /// No longer allowed to be true.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub preserve_unknown_fields: bool,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The names of a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionNames {
    /// The name in URLs.
    #[serde(deserialize_with = "null_is_default")]
    pub plural: String,
    /// The name of one, for commands.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub singular: String,
    /// Abbreviations, for commands.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub short_names: Vec<String>,
    /// The kind of an object.
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    /// The kind of a list.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub list_kind: String,
    /// The groups of resources that it belongs to, for commands.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub categories: Vec<String>,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One version of a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionVersion {
    /// The name of the version.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// Whether it is served.
    #[serde(deserialize_with = "null_is_default")]
    pub served: bool,
    /// Whether objects are stored in it.
    #[serde(deserialize_with = "null_is_default")]
    pub storage: bool,
    /// Whether its users are warned.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub deprecated: bool,
    /// What the users of a deprecated version are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation_warning: Option<String>,
    /// The schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<DefinitionSchema>,
    /// The subresources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subresources: Option<Subresources>,
    /// The columns of tables, after the name.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub additional_printer_columns: Vec<PrinterColumn>,
    /// The fields that field selectors may use.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub selectable_fields: Vec<SelectableField>,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The schema of a version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DefinitionSchema {
    /// The schema in OpenAPI v3.
    #[serde(rename = "openAPIV3Schema", skip_serializing_if = "Option::is_none")]
    pub open_api_v3_schema: Option<Value>,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The subresources of a version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subresources {
    /// Present if `status` is a subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Map<String, Value>>,
    /// Present if `scale` is a subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScalePaths>,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Where the scale of an object stands in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScalePaths {
    /// The wanted number, such as `.spec.replicas`.
    #[serde(deserialize_with = "null_is_default")]
    pub spec_replicas_path: String,
    /// The observed number, such as `.status.replicas`.
    #[serde(deserialize_with = "null_is_default")]
    pub status_replicas_path: String,
    /// The selector of what is scaled, as a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector_path: Option<String>,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrinterColumn {
    /// The heading.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub column_type: String,
    /// More about the type.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub format: String,
    /// What the column shows.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub description: String,
    /// 0 if the column is shown always, more if only in a wide table.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub priority: i32,
    /// What is shown.
    #[serde(deserialize_with = "null_is_default")]
    pub json_path: String,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A field that field selectors may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectableField {
    /// The field, such as `.spec.colour`.
    #[serde(deserialize_with = "null_is_default")]
    pub json_path: String,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How objects are converted between versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Conversion {
    /// `None`, the only strategy that is served here, or `Webhook`.
    #[serde(deserialize_with = "null_is_default")]
    pub strategy: String,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The state of a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionStatus {
    /// What holds of the definition. Written as null while there is none.
    pub conditions: Option<Vec<DefinitionCondition>>,
    /// The names that the resource has.
    #[serde(deserialize_with = "null_is_default")]
    pub accepted_names: DefinitionNames,
    /// The versions in which objects may be stored.
    #[serde(deserialize_with = "null_is_default")]
    pub stored_versions: Vec<String>,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Something that holds of a definition, or not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionCondition {
    /// What it is about: `NamesAccepted`, `Established`, `Terminating` …
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_is_default")]
    pub status: String,
    /// When the status changed last.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub last_transition_time: String,
    /// Why, for programs.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub reason: String,
    /// Why, for people.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub message: String,
    /// Other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl CustomResourceDefinition {
    /// The name of the definition.
    pub fn name(&self) -> &str {
        self.metadata.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The version of this name.
    pub fn version(&self, name: &str) -> Option<&DefinitionVersion> {
        self.spec.versions.iter().find(|version| version.name == name)
    }

    /// The version in which objects are stored.
    pub fn storage_version(&self) -> Option<&DefinitionVersion> {
        self.spec.versions.iter().find(|version| version.storage)
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.spec.scope == "Namespaced"
    }

    /// Whether the definition is served.
    pub fn is_established(&self) -> bool {
        self.condition("Established").is_some_and(|condition| condition.status == "True")
    }

    /// The condition of a type.
    pub fn condition(&self, condition_type: &str) -> Option<&DefinitionCondition> {
        self.status.conditions.iter().flatten().find(|condition| condition.condition_type == condition_type)
    }

    /// Fills in the names and the conversion that the author left out.
    pub fn set_defaults(&mut self) {
        let names = &mut self.spec.names;
        if names.singular.is_empty() {
            names.singular = names.kind.to_lowercase();
        }
        if names.list_kind.is_empty() && !names.kind.is_empty() {
            names.list_kind = format!("{}List", names.kind);
        }
        let conversion = self.spec.conversion.get_or_insert_default();
        if conversion.strategy.is_empty() {
            conversion.strategy = "None".into();
        }
    }

    /// What the server makes of a new definition before it validates it: defaults, and a status that nobody else sets.
    pub fn prepare_for_create(&mut self) {
        self.set_defaults();
        self.status = DefinitionStatus::default();
        self.note_storage_version();
    }

    /// What the server makes of a definition that replaces `old`, before it validates it.
    pub fn prepare_for_update(&mut self, old: &Self) {
        self.set_defaults();
        self.status = old.status.clone();
        self.note_storage_version();
    }

    fn note_storage_version(&mut self) {
        for version in self.spec.versions.iter().filter(|version| version.storage) {
            if !self.status.stored_versions.contains(&version.name) {
                self.status.stored_versions.push(version.name.clone());
            }
        }
    }

    /// Accepts the names of the definition, except those that `others` of its group have, and establishes it if all
    /// are accepted. Says whether anything changed.
    ///
    /// The server does this shortly after the definition was written.
    pub fn accept_names<'a>(&mut self, others: impl IntoIterator<Item = &'a Self>, now: SystemTime) -> bool {
        let before = self.status.clone();
        let others: Vec<_> = others
            .into_iter()
            .filter(|other| other.spec.group == self.spec.group && other.name() != self.name())
            .map(|other| &other.status.accepted_names)
            .collect();
        let is_resource = |name: &String| {
            others.iter().any(|names| {
                names.plural == *name || names.singular == *name || names.short_names.contains(name)
            })
        };
        let is_kind =
            |name: &String| others.iter().any(|names| names.kind == *name || names.list_kind == *name);

        let (wanted, accepted) = (&self.spec.names, &mut self.status.accepted_names);
        let mut conflict = None;
        let mut note = |reason: &'static str, name: &str| {
            conflict = Some((reason, format!("{} is already in use", super::text::quote(name))));
        };
        let single: [(&str, &String, &mut String, bool); 4] = [
            ("PluralConflict", &wanted.plural, &mut accepted.plural, is_resource(&wanted.plural)),
            ("SingularConflict", &wanted.singular, &mut accepted.singular, is_resource(&wanted.singular)),
            ("KindConflict", &wanted.kind, &mut accepted.kind, is_kind(&wanted.kind)),
            ("ListKindConflict", &wanted.list_kind, &mut accepted.list_kind, is_kind(&wanted.list_kind)),
        ];
        for (reason, wanted, accepted, taken) in single {
            if taken {
                note(reason, wanted);
            } else {
                accepted.clone_from(wanted);
            }
        }
        match wanted.short_names.iter().find(|name| is_resource(name)) {
            Some(taken) => note("ShortNamesConflict", taken),
            None => accepted.short_names.clone_from(&wanted.short_names),
        }
        accepted.categories.clone_from(&wanted.categories);

        let accepted = conflict.is_none();
        match conflict {
            None => self.set_condition("NamesAccepted", true, "NoConflicts", "no conflicts found", now),
            Some((reason, message)) => self.set_condition("NamesAccepted", false, reason, &message, now),
        }
        // What is established stays so, even if later names are not accepted.
        if accepted && !self.is_established() {
            let message = "the initial names have been accepted";
            self.set_condition("Established", true, "InitialNamesAccepted", message, now);
        } else if !accepted && self.condition("Established").is_none() {
            self.set_condition("Established", false, "NotAccepted", "not all names are accepted", now);
        }
        self.status != before
    }

    /// Sets a condition. Its time of transition changes only with its status.
    pub fn set_condition(
        &mut self,
        condition_type: &str,
        holds: bool,
        reason: &str,
        message: &str,
        now: SystemTime,
    ) {
        let status = if holds { "True" } else { "False" };
        let conditions = self.status.conditions.get_or_insert_default();
        let index = conditions.iter().position(|condition| condition.condition_type == condition_type);
        let index = index.unwrap_or_else(|| {
            conditions
                .push(DefinitionCondition { condition_type: condition_type.into(), ..Default::default() });
            conditions.len() - 1
        });
        let Some(condition) = conditions.get_mut(index) else { return };
        if condition.status != status {
            condition.last_transition_time = time::format_rfc3339(now);
        }
        condition.status = status.into();
        condition.reason = reason.into();
        condition.message = message.into();
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
