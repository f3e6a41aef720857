//! Whether a definition is valid.
//!
//! What is the same in all versions is named as if it stood at the top of the spec (`spec.validation`,
//! `spec.subresources` …): the server converts it to there before it validates.

use serde_json::{Value, json};

use super::definition::{
    Conversion, CustomResourceDefinition, DefinitionNames, DefinitionSchema, DefinitionSpec,
    DefinitionVersion, Subresources,
};
use super::error::FieldError;
use super::names;
use super::path::FieldPath;
use super::schema_check;
use super::version_check::{
    validate_columns, validate_deprecation, validate_selectable, validate_subresources,
};

const SCOPES: [&str; 2] = ["Cluster", "Namespaced"];
const STRATEGIES: [&str; 2] = ["None", "Webhook"];
const APPROVED: &str = "api-approved.kubernetes.io";
const APPROVAL_RULES: &str = "https://github.com/kubernetes/enhancements/pull/1111";

impl CustomResourceDefinition {
    /// Everything that is wrong with a new definition, once [`CustomResourceDefinition::prepare_for_create`] ran.
    ///
    /// Of the metadata, only the name is checked: the rest is the same for every kind of object.
    pub fn validate(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = FieldPath::new("metadata").child("name");
        let wanted = format!("{}.{}", self.spec.names.plural, self.spec.group);
        if self.name().is_empty() {
            errors.push(FieldError::required(&path, "name or generateName is required"));
        } else {
            let mut problems = names::dns1123_subdomain(self.name());
            if self.name() != wanted {
                problems.push("must be spec.names.plural+\".\"+spec.group".into());
            }
            errors
                .extend(problems.into_iter().map(|problem| FieldError::invalid(&path, self.name(), problem)));
        }
        self.validate_rest(None, &mut errors);
        errors
    }

    /// Everything that is wrong with a definition that replaces `old`, once
    /// [`CustomResourceDefinition::prepare_for_update`] ran.
    pub fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.validate_rest(Some(old), &mut errors);
        errors
    }

    fn validate_rest(&self, old: Option<&Self>, errors: &mut Vec<FieldError>) {
        let path = FieldPath::new("spec");
        validate_spec(&self.spec, &path, errors);
        if let Some(old) = old {
            let mut immutable = |path: FieldPath, new: &str, old: &str| {
                if new != old {
                    errors.push(FieldError::invalid(&path, new, "field is immutable"));
                }
            };
            let names = path.child("names");
            if old.is_established() {
                immutable(path.child("scope"), &self.spec.scope, &old.spec.scope);
                immutable(names.child("kind"), &self.spec.names.kind, &old.spec.names.kind);
            }
            immutable(path.child("group"), &self.spec.group, &old.spec.group);
            immutable(names.child("plural"), &self.spec.names.plural, &old.spec.names.plural);
        }
        let status = FieldPath::new("status");
        validate_names(&self.status.accepted_names, &status.child("acceptedNames"), errors);
        validate_stored_versions(self, &status.child("storedVersions"), errors);
        validate_approval(self, old, errors);
        if self.spec.preserve_unknown_fields && !old.is_some_and(|old| old.spec.preserve_unknown_fields) {
            let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                          spec.versions[*].schema instead";
            errors.push(FieldError::invalid(&path.child("preserveUnknownFields"), true, detail));
        }
    }
}

fn validate_spec(spec: &DefinitionSpec, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let group = path.child("group");
    let problems = names::dns1123_subdomain(&spec.group);
    if spec.group.is_empty() {
        errors.push(FieldError::required(&group, ""));
    } else if !problems.is_empty() {
        errors.push(FieldError::invalid(&group, spec.group.as_str(), problems.join(",")));
    } else if !spec.group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(&group, spec.group.as_str(), detail));
    }
    validate_choice(&path.child("scope"), &spec.scope, &SCOPES, errors);

    let versions = path.child("versions");
    for (index, version) in spec.versions.iter().enumerate() {
        if version.schema.as_ref().is_none_or(|schema| schema.open_api_v3_schema.is_none()) {
            let path = versions.index(index).child("schema").child("openAPIV3Schema");
            errors.push(FieldError::required(&path, "schemas are required"));
        }
    }
    // What the server finds at the top.
    let schema = same(spec, |version| &version.schema);
    let subresources = same(spec, |version| &version.subresources);
    let columns = same(spec, |version| &version.additional_printer_columns);
    let selectable = same(spec, |version| &version.selectable_fields);
    let has_defaults = spec.versions.iter().filter_map(schema_of).any(schema_check::has_defaults);
    if has_defaults && spec.preserve_unknown_fields {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(&path.child("preserveUnknownFields"), true, detail));
    }

    let has_status = |subresources: &Option<Subresources>| {
        subresources.as_ref().is_some_and(|subresources| subresources.status.is_some())
    };
    for (index, version) in spec.versions.iter().enumerate() {
        let path = versions.index(index);
        let problems = names::dns1035_label(&version.name);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(&path.child("name"), version.name.as_str(), problems.join(",")));
        }
        validate_deprecation(version, &path, errors);
        if schema.is_none() {
            validate_schema(
                &version.schema,
                has_status(&version.subresources),
                &path.child("schema"),
                errors,
            );
        }
        if subresources.is_none() {
            validate_subresources(&version.subresources, &path.child("subresources"), errors);
        }
        if columns.is_none() {
            validate_columns(&version.additional_printer_columns, &path, errors);
        }
        if selectable.is_none() {
            validate_selectable(&version.selectable_fields, schema_of(version), &path, errors);
        }
    }

    let names_of_versions: Vec<_> = spec.versions.iter().map(|version| version.name.as_str()).collect();
    let as_value = || serde_json::to_value(&spec.versions).unwrap_or_default();
    if (1..names_of_versions.len())
        .any(|index| names_of_versions[..index].contains(&names_of_versions[index]))
    {
        errors.push(FieldError::invalid(&versions, as_value(), "must contain unique version names"));
    }
    if spec.versions.iter().filter(|version| version.storage).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid(&versions, as_value(), detail));
    }
    if let Some(first) = names_of_versions.first().filter(|name| !name.is_empty()) {
        let problems = names::dns1035_label(first);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(&path.child("version"), *first, problems.join(",")));
        }
    }

    let names = path.child("names");
    let required = [
        ("plural", &spec.names.plural),
        ("singular", &spec.names.singular),
        ("kind", &spec.names.kind),
        ("listKind", &spec.names.list_kind),
    ];
    let missing = required.into_iter().filter(|(_, name)| name.is_empty());
    errors.extend(missing.map(|(field, _)| FieldError::required(&names.child(field), "")));
    validate_names(&spec.names, &names, errors);

    if let Some(schema) = schema {
        let any_status = spec.versions.iter().any(|version| has_status(&version.subresources));
        validate_schema(schema, any_status, &path.child("validation"), errors);
    }
    if let Some(subresources) = subresources {
        validate_subresources(subresources, &path.child("subresources"), errors);
    }
    if let Some(columns) = columns {
        validate_columns(columns, path, errors);
    }
    if let Some(selectable) = selectable {
        validate_selectable(selectable, spec.versions.first().and_then(schema_of), path, errors);
    }
    validate_conversion(spec.conversion.as_ref(), &path.child("conversion"), errors);
}

/// What all versions have, if it is the same in all.
fn same<T: PartialEq>(spec: &DefinitionSpec, part: impl Fn(&DefinitionVersion) -> &T) -> Option<&T> {
    let first = part(spec.versions.first()?);
    spec.versions.iter().all(|version| part(version) == first).then_some(first)
}

fn schema_of(version: &DefinitionVersion) -> Option<&Value> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

fn validate_choice(path: &FieldPath, value: &str, accepted: &[&str], errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !accepted.contains(&value) {
        errors.push(FieldError::not_supported(path, value, accepted));
    }
}

fn validate_names(names: &DefinitionNames, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let label = |field: FieldPath, name: &str, errors: &mut Vec<FieldError>| {
        let problems = names::dns1035_label(name);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(&field, name, problems.join(",")));
        }
    };
    for (field, name) in [("plural", &names.plural), ("singular", &names.singular)] {
        if !name.is_empty() {
            label(path.child(field), name, errors);
        }
    }
    for (field, name) in [("kind", &names.kind), ("listKind", &names.list_kind)] {
        let problems = names::dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !problems.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
            errors.push(FieldError::invalid(&path.child(field), name.as_str(), detail));
        }
    }
    for (index, name) in names.short_names.iter().enumerate() {
        label(path.child("shortNames").index(index), name, errors);
    }
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), names.list_kind.as_str(), detail));
    }
    for (index, name) in names.categories.iter().enumerate() {
        label(path.child("categories").index(index), name, errors);
    }
}

fn validate_schema(
    schema: &Option<DefinitionSchema>,
    has_status: bool,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    if let Some(schema) = schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref()) {
        schema_check::validate(schema, has_status, path, errors);
    }
}

fn validate_conversion(conversion: Option<&Conversion>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(conversion) = conversion else { return };
    validate_choice(&path.child("strategy"), &conversion.strategy, &STRATEGIES, errors);
    let webhook = conversion.other.get("webhook").filter(|webhook| !webhook.is_null());
    if conversion.strategy == "Webhook" {
        if webhook.is_none_or(|webhook| webhook.get("clientConfig").is_none_or(Value::is_null)) {
            let detail = "required when strategy is set to Webhook";
            errors.push(FieldError::required(&path.child("webhookClientConfig"), detail));
        }
    } else if webhook.is_some() {
        let detail = "should not be set when strategy is not set to Webhook";
        errors.push(FieldError::forbidden(&path.child("webhookClientConfig"), detail));
    }
}

fn validate_stored_versions(
    definition: &CustomResourceDefinition,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let stored = &definition.status.stored_versions;
    if stored.is_empty() {
        errors.push(FieldError::invalid(path, json!([]), "must have at least one stored version"));
        return;
    }
    for version in definition.spec.versions.iter().filter(|version| version.storage) {
        if !stored.contains(&version.name) {
            let detail = format!("must have the storage version {}", version.name);
            errors.push(FieldError::invalid(path, json!(stored), detail));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if definition.version(name).is_none() {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(&path.index(index), name.as_str(), detail));
        }
    }
}

/// Groups that belong to the Kubernetes community need an approval.
fn validate_approval(
    definition: &CustomResourceDefinition,
    old: Option<&CustomResourceDefinition>,
    errors: &mut Vec<FieldError>,
) {
    let group = &definition.spec.group;
    let is_protected = ["k8s.io", "kubernetes.io"]
        .into_iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let approval = |definition: &CustomResourceDefinition| {
        let annotation =
            definition.metadata.get("annotations").and_then(|annotations| annotations.get(APPROVED));
        annotation.and_then(Value::as_str).map(str::to_owned).filter(|text| !text.is_empty())
    };
    let new = approval(definition);
    if !is_protected || old.is_some_and(|old| approval(old) == new) {
        return;
    }
    let path = FieldPath::new("metadata").child("annotations").key(APPROVED);
    let is_url = |text: &str| {
        text.split_once("://").is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty())
    };
    match new {
        None => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVED}\", see {APPROVAL_RULES}"
            );
            errors.push(FieldError::required(&path, detail));
        }
        Some(text) if text.starts_with("unapproved") || is_url(&text) => {}
        Some(text) => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVED}\" with either a URL or a reason starting \
                 with \"unapproved\", see {APPROVAL_RULES}"
            );
            errors.push(FieldError::invalid(&path, text, detail));
        }
    }
}
