use std::borrow::Cow;

use serde_json::{Map, Value};

use super::collect::problems;
use super::conflict::{ApplyError, Conflicts};
use super::field_set::FieldSet;
use super::last_applied;
use super::managed::{ManagedEntry, ManagedFields, Operation};
use super::types::TypeInfo;
use super::updater::Updater;
use super::value::{MAX_DEPTH, is_same, is_within};

/// How many managers may have an entry for updates; the oldest are merged into one named `ancient-changes`.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager of what was there before an object was first applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// How many characters of a client's name make a manager.
const MAX_MANAGER_NAME: usize = 128;

/// Who asks for a change, and how.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The manager, see [`manager_name`].
    pub manager: &'a str,
    /// The version of the API that the request uses, such as `apps/v1`.
    pub api_version: &'a str,
    /// The subresource that it writes through, `""` for the object itself.
    pub subresource: &'a str,
    /// The time of the request, as the object is to hold it: `2026-11-29T12:23:26Z`.
    pub now: &'a str,
}

/// Keeps track of who owns which fields of the objects of one kind, and applies configurations to them.
///
/// All versions of a kind are taken to have the same fields.
///
/// # Example
///
/// ```
/// use lariat_apiserver::apply::{FieldManager, Request};
/// use serde_json::json;
///
/// let maps = FieldManager::builtin("", "ConfigMap", "").unwrap();
/// let by = |manager| Request { manager, api_version: "v1", subresource: "", now: "2026-11-29T11:41:01Z" };
/// let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"w": "1"}});
/// let live = maps.apply(None, &config, &by("one"), false).unwrap().object;
/// assert_eq!(live["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:data": {"f:w": {}}}));
///
/// let mut other = config.clone();
/// other["data"]["w"] = json!("2");
/// let refused = maps.apply(Some(&live), &other, &by("two"), false).unwrap_err();
/// assert_eq!(refused.to_string(), r#"Apply failed with 1 conflict: conflict with "one": .data.w"#);
/// ```
pub struct FieldManager<'t> {
    types: &'t dyn TypeInfo,
    /// The fields that the kind has, for kinds whose types do not say.
    fields: Option<&'static str>,
    kind: Option<String>,
    reset: FieldSet,
    empty: Value,
}

/// What became of an object to which a configuration was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The object with its managedFields; defaults are not filled in, and what the request may not change is not restored.
    pub object: Value,
    /// Whether the object, or who owns its fields, is other than before.
    pub is_changed: bool,
}

impl<'t> FieldManager<'t> {
    /// Keeps track of objects of this type.
    pub fn new(types: &'t dyn TypeInfo) -> Self {
        Self { types, fields: None, kind: None, reset: FieldSet::new(), empty: Value::Object(Map::new()) }
    }

    /// For a custom resource: a request for the object itself cannot change its status if that is a subresource, and a
    /// request for the status cannot change anything else.
    pub fn custom(types: &'t dyn TypeInfo, kind: &str, has_status: bool, subresource: &str) -> Self {
        let reset: &[&[&str]] = match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ if has_status => &[&["status"]],
            _ => &[],
        };
        Self::new(types).with_kind(kind).with_reset(FieldSet::of_fields(reset))
    }

    /// Refuses to apply configurations of another kind.
    #[must_use]
    pub fn with_kind(self, kind: &str) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Refuses configurations with fields that a built-in type does not have.
    #[must_use]
    pub(crate) fn with_fields(self, fields: Option<&'static str>) -> Self {
        Self { fields, ..self }
    }

    /// Does not track these fields and what is below them, because the server does not let the request change them.
    #[must_use]
    pub fn with_reset(self, reset: FieldSet) -> Self {
        Self { reset, ..self }
    }

    /// What a new object has before anybody sets a field: the fields that the server always writes, with their zero values.
    /// Nobody owns them until they change.
    #[must_use]
    pub fn with_empty(self, empty: Value) -> Self {
        Self { empty, ..self }
    }

    /// The object that is to be stored after a create, an update or a patch: `new` with its managedFields.
    ///
    /// `live` is the stored object, none for a create. `new` is the object as the client sent it or its patch made it, after
    /// defaults and before admission and before the server restores what the client may not change. The client may send
    /// `managedFields` of its own; a list of one empty object clears them, and an empty list means those of `live`.
    pub fn track_update(&self, live: Option<&Value>, mut new: Value, request: &Request<'_>) -> Value {
        let is_new = live.is_none_or(|live| text(live, "uid").is_empty());
        let live = live.unwrap_or(&self.empty);
        let managed = decode_live_or_new(live, &new, !request.subresource.is_empty());
        ManagedFields::default().write_to(&mut new);
        if !is_within(live, MAX_DEPTH) || !is_within(&new, MAX_DEPTH) || managed.is_empty() && !is_new {
            managed.write_to(&mut new);
            return new;
        }
        let managed = self.update(live, &new, managed, request, request.manager);
        managed.write_to(&mut new);
        keep_times(live, &mut new);
        new
    }

    /// Applies a configuration: server-side apply.
    ///
    /// `live` is the stored object, none if there is none yet. With `force` the manager takes what others own.
    ///
    /// # Errors
    ///
    /// If it would take what others own without `force`, and if it is no configuration for the object.
    pub fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        request: &Request<'_>,
        force: bool,
    ) -> Result<Applied, ApplyError> {
        self.check(config, request)?;
        let live = live.unwrap_or(&self.empty);
        if !is_within(live, MAX_DEPTH) {
            return Err(ApplyError::BadRequest("the object is nested too deeply".into()));
        }
        let mut managed = ManagedFields::of(live)?;
        if managed.is_empty() {
            managed = self.update(&self.empty, live, managed, request, BEFORE_FIRST_APPLY);
        }
        let updater = self.updater();
        let entry = entry(request, Operation::Apply, request.manager);
        let mut result = updater.apply(live, config, managed.clone(), &entry, force);
        if let Err(conflicts) = &result
            && request.manager == last_applied::MANAGER
            && let Some(allowed) = last_applied::allowed(self.types, live, request.api_version)
        {
            let rest = conflicts.0.iter().filter(|conflict| !allowed.has(&conflict.path)).cloned();
            let rest = Conflicts(rest.collect());
            result = if rest.0.is_empty() {
                updater.apply(live, config, managed, &entry, true)
            } else {
                Err(rest)
            };
        }
        let (object, managed) = result.map_err(ApplyError::Conflicts)?;
        Ok(self.finish(live, object, managed, config, request))
    }

    fn finish(
        &self,
        live: &Value,
        merged: Value,
        mut managed: ManagedFields,
        config: &Value,
        request: &Request<'_>,
    ) -> Applied {
        let mut object = merged;
        // A configuration that changes nothing does not change when its manager last did.
        if !is_same(live, &object)
            && let Some(own) = managed.find_mut(&entry(request, Operation::Apply, request.manager))
        {
            own.time = Some(request.now.into());
        }
        managed.write_to(&mut object);
        if request.manager == last_applied::MANAGER {
            last_applied::renew(&mut object, config);
        }
        keep_times(live, &mut object);
        let is_changed = !is_same(live, &object);
        Applied { object, is_changed }
    }

    fn update(
        &self,
        live: &Value,
        new: &Value,
        managed: ManagedFields,
        request: &Request<'_>,
        manager: &str,
    ) -> ManagedFields {
        let (mut managed, taken) = self.updater().update(live, new, managed);
        if !taken.is_empty() {
            let mut own = entry(request, Operation::Update, manager);
            own.time = Some(request.now.into());
            own.fields = taken;
            if let Some(previous) = managed.find_mut(&own) {
                own.fields = own.fields.union(&previous.fields);
            }
            managed.set(own);
        }
        cap_update_managers(&mut managed);
        managed
    }

    fn updater(&self) -> Updater<'_> {
        Updater { types: self.types, reset: &self.reset }
    }

    fn check(&self, config: &Value, request: &Request<'_>) -> Result<(), ApplyError> {
        let refuse = |message: &str| Err(ApplyError::BadRequest(message.into()));
        if !config.is_object() || !is_within(config, MAX_DEPTH) {
            return refuse("the configuration is no object, or is nested too deeply");
        }
        let field = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (field("apiVersion"), field("kind"));
        if api_version != request.api_version || self.kind.as_deref().is_some_and(|expected| kind != expected)
        {
            return refuse(&format!("invalid object type: {}", group_version_kind(api_version, kind)));
        }
        let metadata = config.get("metadata");
        if metadata.and_then(|metadata| metadata.get("managedFields")).is_some_and(Value::is_array) {
            return refuse("metadata.managedFields must be nil");
        }
        let problems = problems(self.types, self.fields, config);
        if !problems.is_empty() {
            let (namespace, name) = (text(config, "namespace"), text(config, "name"));
            let object = format!("{namespace}/{name}; {}", group_version_kind(api_version, kind));
            return Err(ApplyError::Schema { object, problems });
        }
        Ok(())
    }
}

/// The manager of a request: the one that it names, or the first part of its user agent.
pub fn manager_name<'a>(field_manager: &'a str, user_agent: &'a str) -> Cow<'a, str> {
    if !field_manager.is_empty() {
        return field_manager.into();
    }
    let name = user_agent.split('/').next().unwrap_or_default();
    let is_short = name.chars().count() <= MAX_MANAGER_NAME;
    if is_short && !name.chars().any(char::is_control) {
        return name.into();
    }
    name.chars().filter(|character| !character.is_control()).take(MAX_MANAGER_NAME).collect::<String>().into()
}

/// Undoes changes of the times in `managedFields` if nothing else of the object changed, so that it need not be written.
///
/// Call it again after admission has changed the object.
pub fn keep_times(live: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (managed_fields(live), managed_fields(new)) else { return };
    let without_time = |entry: &Value| {
        let mut entry = entry.clone();
        if let Value::Object(entry) = &mut entry {
            entry.remove("time");
        }
        entry
    };
    let is_unchanged = before.len() == after.len()
        && before
            .iter()
            .zip(after)
            .all(|(before, after)| is_same(&without_time(before), &without_time(after)));
    if !is_unchanged {
        return;
    }
    let mut candidate = new.clone();
    if let Some(Value::Object(metadata)) = candidate.get_mut("metadata") {
        metadata.insert("managedFields".into(), Value::Array(before.clone()));
        if is_same(live, &candidate) {
            *new = candidate;
        }
    }
}

fn managed_fields(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array()
}

fn decode_live_or_new(live: &Value, new: &Value, is_subresource: bool) -> ManagedFields {
    let of_live = || ManagedFields::of(live).unwrap_or_default();
    if is_subresource {
        return of_live();
    }
    let is_reset = |list: &Vec<Value>| matches!(list.as_slice(), [entry] if is_blank(entry));
    if managed_fields(new).is_some_and(is_reset) {
        return ManagedFields::default();
    }
    match ManagedFields::of(new) {
        Ok(managed) if !managed.is_empty() => managed,
        _ => of_live(),
    }
}

/// Whether an entry says nothing.
fn is_blank(entry: &Value) -> bool {
    let is_nothing = |value: &Value| value.is_null() || value.as_str() == Some("");
    entry.is_null() || entry.as_object().is_some_and(|entry| entry.values().all(is_nothing))
}

fn entry(request: &Request<'_>, operation: Operation, manager: &str) -> ManagedEntry {
    ManagedEntry {
        manager: if manager.is_empty() { "unknown".into() } else { manager.into() },
        operation,
        api_version: request.api_version.into(),
        time: None,
        subresource: request.subresource.into(),
        fields: FieldSet::new(),
    }
}

/// Merges the oldest entries for updates, those of one version at a time, until there are not too many.
fn cap_update_managers(managed: &mut ManagedFields) {
    let mut entries = std::mem::take(managed.entries_mut());
    entries.sort_by(|left, right| left.rank().cmp(&right.rank()));
    let (applied, updates): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.operation == Operation::Apply);
    let mut count = updates.len();
    let mut kept: Vec<ManagedEntry> = Vec::new();
    for mut entry in updates {
        let previous = kept.iter_mut().find(|kept| kept.api_version == entry.api_version);
        match previous {
            Some(previous) if count > MAX_UPDATE_MANAGERS => {
                previous.manager = "ancient-changes".into();
                previous.subresource.clear();
                previous.fields = previous.fields.union(&entry.fields);
                previous.time = entry.time.take();
                count -= 1;
            }
            _ => kept.push(entry),
        }
    }
    *managed.entries_mut() = applied;
    managed.entries_mut().append(&mut kept);
}

fn group_version_kind(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        Some(_) => format!("{api_version}, Kind={kind}"),
        None => format!("/{api_version}, Kind={kind}"),
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}
