//! What the controllers beside a real API server do: names of definitions are accepted, what has lost its owners is
//! collected, namespaces are emptied.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::apply::Request;
use crate::kinds::{DEFINITIONS, NAMESPACES, Served, storage_name};
use crate::meta;
use crate::schema::shared::format_rfc3339;
use crate::schema::{CLEANUP_FINALIZER, CustomResourceDefinition};
use crate::server::Shared;
use crate::state::State;
use crate::storage::{Key, ResourceName, Stored};
use crate::verbs::{FOREGROUND, ORPHAN};

/// How long after a write definitions are served: soon, but seldom before the answer has been read.
const DEFINITIONS_DELAY: Duration = Duration::from_millis(10);

/// How much later garbage is collected, and how much later again orphans are freed and namespaces emptied. Beside a real
/// server this is another program's work, so clients see what is marked for deletion before it goes.
const COLLECTION_DELAY: Duration = Duration::from_millis(10);
const NAMESPACES_DELAY: Duration = Duration::from_millis(80);

/// Who the changes are by.
const CONTROLLERS: &str = "kube-controller-manager";
const SERVER: &str = "kube-apiserver";

/// Works whenever something was written, until the server is dropped.
pub(crate) async fn run(shared: std::sync::Weak<Shared>, written: Arc<tokio::sync::Notify>) {
    loop {
        written.notified().await;
        sleep(DEFINITIONS_DELAY).await;
        {
            let Some(shared) = shared.upgrade() else { return };
            while accept_definitions(&mut shared.state()) {}
        }
        // Each step may make the next one possible: a child that goes lets its owner go.
        sleep(COLLECTION_DELAY).await;
        {
            let Some(shared) = shared.upgrade() else { return };
            while collect_all(&mut shared.state()) {}
        }
        sleep(NAMESPACES_DELAY).await;
        let Some(shared) = shared.upgrade() else { return };
        while step(&mut shared.state()) {}
    }
}

/// Collects what can be collected now; whether anything was.
fn collect_all(state: &mut State) -> bool {
    finish_definitions(state) | collect(state)
}

/// Does what can be done now; whether anything was.
fn step(state: &mut State) -> bool {
    accept_definitions(state) | collect_all(state) | free_orphans(state) | empty_namespaces(state)
}

// === definitions ===

fn parsed(stored: Vec<(Key, Arc<Stored>)>) -> Vec<(Key, CustomResourceDefinition)> {
    stored
        .into_iter()
        .filter_map(|(key, stored)| Some((key, serde_json::from_value(stored.object.clone()).ok()?)))
        .collect()
}

/// Accepts the names of new definitions and serves what is established, if any definition was written since the last time.
pub(crate) fn accept_definitions(state: &mut State) -> bool {
    let stored = state.storage.list(DEFINITIONS, "");
    let versions: Vec<_> =
        stored.iter().map(|(_, stored)| meta::resource_version(&stored.object).to_owned()).collect();
    if versions == state.definitions {
        return false;
    }
    state.definitions = versions;
    let (all, now) = (parsed(stored), state.now());
    let mut worked = false;
    for (key, mut definition) in all.clone() {
        let others = all.iter().map(|(_, other)| other);
        if definition.accept_names(others, now)
            && let Ok(object) = serde_json::to_value(&definition)
        {
            put_as(state, SERVER, "status", &DEFINITIONS.into(), key, object);
            worked = true;
        }
        if definition.is_established() && definition.metadata.get("deletionTimestamp").is_none() {
            serve(state, &definition);
        }
    }
    worked
}

/// Serves all versions of a definition as it is now.
fn serve(state: &mut State, definition: &CustomResourceDefinition) {
    let storage = storage_name(&definition.spec.group, &definition.spec.names.plural);
    let versions = definition.spec.versions.iter();
    let served = versions.filter_map(|version| Served::of_definition(definition, &version.name)).collect();
    state.kinds.replace(&storage, served);
}

/// Removes the objects of definitions that are to go, then the definitions.
fn finish_definitions(state: &mut State) -> bool {
    let mut worked = false;
    let mut stored = state.storage.list(DEFINITIONS, "");
    stored.retain(|(_, stored)| meta::is_being_deleted(&stored.object));
    for (key, definition) in parsed(stored) {
        let storage = storage_name(&definition.spec.group, &definition.spec.names.plural);
        for (key, _) in state.storage.list(&storage, "") {
            state.delete(&storage, &key);
        }
        state.kinds.replace(&storage, Vec::new());
        state.watchers.end(&storage);
        worked |= drop_finalizer(state, &DEFINITIONS.into(), &key, CLEANUP_FINALIZER);
    }
    worked
}

// === garbage ===

/// Collects what has lost all its owners, and finishes deletions that wait for their dependents.
fn collect(state: &mut State) -> bool {
    let all = everything(state);
    let uids: BTreeSet<&str> = all.iter().map(|(_, _, stored)| meta::uid(&stored.object)).collect();
    let mut worked = false;
    for (resource, key, stored) in &all {
        let object = &stored.object;
        let mut owners = meta::owners(object).peekable();
        let is_lost = owners.peek().is_some()
            && owners.all(|owner| owner["uid"].as_str().is_none_or(|uid| !uids.contains(uid)));
        if is_lost && !meta::is_being_deleted(object) {
            worked |= remove(state, resource, key, object, None);
        }
        if !meta::is_being_deleted(object) {
            continue;
        }
        let dependents = || {
            let uid = meta::uid(object);
            all.iter()
                .filter(move |(_, _, other)| meta::owners(&other.object).any(|owner| owner["uid"] == *uid))
        };
        if meta::finalizers(object).any(|finalizer| finalizer == FOREGROUND) {
            let blocking = |owner: &Value| {
                owner["uid"] == *meta::uid(object) && owner["blockOwnerDeletion"] == json!(true)
            };
            for (resource, key, dependent) in dependents() {
                if meta::is_being_deleted(&dependent.object) {
                    continue;
                }
                // What has dependents itself waits for them in turn.
                let uid = meta::uid(&dependent.object);
                let has_dependents = all
                    .iter()
                    .any(|(_, _, other)| meta::owners(&other.object).any(|owner| owner["uid"] == *uid));
                let finalizer = has_dependents.then_some(FOREGROUND);
                worked |= remove(state, resource, key, &dependent.object, finalizer);
            }
            let mut dependents = dependents();
            if !dependents.any(|(_, _, dependent)| meta::owners(&dependent.object).any(blocking)) {
                worked |= drop_finalizer(state, resource, key, FOREGROUND);
            }
        }
        if worked {
            // What was listed is not so any more.
            return true;
        }
    }
    worked
}

/// Takes owners that are to go without their dependents out of these, and lets the owners go.
fn free_orphans(state: &mut State) -> bool {
    let all = everything(state);
    let mut worked = false;
    for (resource, key, stored) in &all {
        let owner = &stored.object;
        if !meta::is_being_deleted(owner) || !meta::finalizers(owner).any(|finalizer| finalizer == ORPHAN) {
            continue;
        }
        let is_owner = |reference: &Value| reference["uid"] == *meta::uid(owner);
        for (resource, key, dependent) in &all {
            if !meta::owners(&dependent.object).any(is_owner) {
                continue;
            }
            let mut orphan = dependent.object.clone();
            let kept: Vec<Value> =
                meta::owners(&orphan).filter(|reference| !is_owner(reference)).cloned().collect();
            if kept.is_empty() {
                meta::remove(&mut orphan, "ownerReferences");
            } else {
                meta::set(&mut orphan, "ownerReferences", kept);
            }
            put_as(state, CONTROLLERS, "", resource, key.clone(), orphan);
        }
        worked |= drop_finalizer(state, resource, key, ORPHAN);
    }
    worked
}

// === namespaces ===

/// Removes what is in namespaces that are to go, then the namespaces.
fn empty_namespaces(state: &mut State) -> bool {
    let mut worked = false;
    for (namespace, stored) in state.storage.list(NAMESPACES, "") {
        if !meta::is_being_deleted(&stored.object) {
            continue;
        }
        let within: Vec<_> = everything(state)
            .into_iter()
            .filter(|(_, key, _)| key.starts_with(&format!("{namespace}/")))
            .collect();
        for (resource, key, stored) in &within {
            if !meta::is_being_deleted(&stored.object) {
                worked |= remove(state, resource, key, &stored.object, None);
            }
        }
        if !within.is_empty() {
            continue;
        }
        if stored.object["status"]["conditions"].is_null() {
            let mut emptied = stored.object.clone();
            emptied["status"]["conditions"] = emptied_conditions(state);
            put_as(state, CONTROLLERS, "status", &NAMESPACES.into(), namespace, emptied);
            worked = true;
        } else if meta::finalizers(&stored.object).next().is_none() {
            worked |= state.delete(&NAMESPACES.into(), &namespace).is_some();
        }
    }
    worked
}

/// What a namespace says of itself when nothing is left in it.
fn emptied_conditions(state: &State) -> Value {
    let now = format_rfc3339(state.now());
    let conditions = [
        ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
        (
            "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ];
    let condition = |(kind, reason, message)| json!({"type": kind, "status": "False", "lastTransitionTime": now, "reason": reason, "message": message});
    conditions.map(condition).into_iter().collect()
}

/// Writes a changed object, whose changed fields then are this manager's.
fn put_as(
    state: &mut State,
    manager: &str,
    subresource: &str,
    resource: &ResourceName,
    key: Key,
    object: Value,
) {
    let now = format_rfc3339(state.now());
    let served = state.kinds.iter().find(|served| served.storage == *resource).cloned();
    let object = match (served, state.storage.get(resource, &key)) {
        (Some(served), Some(live)) => {
            let api_version = served.api_version();
            let request = Request { manager, api_version: &api_version, subresource, now: &now };
            served.field_manager(subresource).track_update(Some(&live.object), object, &request)
        }
        _ => object,
    };
    state.put(resource, key, object);
}

fn everything(state: &State) -> Vec<(ResourceName, Key, Arc<Stored>)> {
    // Versions and groups may share what they store.
    let resources: BTreeSet<ResourceName> = state.kinds.iter().map(|served| served.storage.clone()).collect();
    resources
        .into_iter()
        .flat_map(|resource| {
            let listed = state.storage.list(&resource, "");
            listed.into_iter().map(move |(key, stored)| (resource.clone(), key, stored))
        })
        .collect()
}

/// Deletes an object, or marks it if finalizers hold it; with a finalizer more if that is given.
fn remove(
    state: &mut State,
    resource: &ResourceName,
    key: &str,
    object: &Value,
    finalizer: Option<&str>,
) -> bool {
    let mut finalizers: Vec<&str> = meta::finalizers(object).collect();
    finalizers.extend(finalizer);
    if finalizers.is_empty() {
        return state.delete(resource, key).is_some();
    }
    let mut marked = object.clone();
    meta::set(&mut marked, "finalizers", finalizers.iter().map(|name| json!(name)).collect::<Vec<_>>());
    meta::set(&mut marked, "deletionTimestamp", format_rfc3339(state.now()));
    meta::set(&mut marked, "deletionGracePeriodSeconds", 0);
    state.put(resource, key.to_owned(), marked);
    true
}

/// Removes a finalizer, and the object with the last one.
fn drop_finalizer(state: &mut State, resource: &ResourceName, key: &str, finalizer: &str) -> bool {
    let Some(stored) = state.storage.get(resource, key) else { return false };
    let mut object = stored.object.clone();
    let before: Vec<&str> = meta::finalizers(&stored.object).collect();
    let left: Vec<Value> = before.iter().filter(|name| **name != finalizer).map(|name| json!(name)).collect();
    if left.len() == before.len() {
        return false;
    }
    if left.is_empty() {
        return state.delete(resource, key).is_some();
    }
    meta::set(&mut object, "finalizers", left);
    state.put(resource, key.to_owned(), object);
    true
}
