use std::sync::Arc;
use std::time::SystemTime;

use lariat_api::{Status, StatusDetails};
use serde_json::{Value, json};

use super::{answer, no_such, read};
use crate::builtin::{Deletion, Strategy};
use crate::context::Context;
use crate::failure::{self, What};
use crate::kinds::{DEFINITIONS, with_definition};
use crate::options::ListOptions;
use crate::reply::Reply;
use crate::schema::CLEANUP_FINALIZER;
use crate::schema::shared::format_rfc3339;
use crate::state::State;
use crate::storage::Stored;
use crate::{form, meta};

/// The finalizers by which a deletion waits for the garbage collector.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// What became of an object that was to be deleted.
pub(super) enum Deleted {
    /// It is gone.
    Gone,
    /// It is marked and goes when its finalizers have.
    Marked(Arc<Stored>),
}

/// Deletes an object.
pub(crate) fn delete(state: &mut State, context: &Context, options: &Value) -> Result<Reply, Status> {
    let live = state.storage.get(&context.served.storage, &context.key(&context.name));
    let live = live.cloned().ok_or_else(|| no_such(context))?;
    check_preconditions(context, options, &live.object)?;
    if let Some(why) = context.served.strategy().and_then(|strategy| strategy.forbids_delete(&context.name)) {
        return Err(failure::forbidden(context.what(&context.name), why));
    }
    match delete_live(state, context, options, &live) {
        Deleted::Marked(stored) => Ok(answer(context, 200, &stored.object, Vec::new())),
        Deleted::Gone => {
            let details = StatusDetails {
                name: context.name.clone(),
                group: context.served.group.clone(),
                kind: context.served.plural.clone(),
                uid: meta::uid(&live.object).to_owned(),
                ..StatusDetails::default()
            };
            Ok(failure::success(Some(details)).into())
        }
    }
}

/// Deletes all objects of a selection, and answers with them as they were.
pub(crate) fn delete_collection(
    state: &mut State,
    context: &Context,
    list: &ListOptions,
    options: &Value,
) -> Result<Reply, Status> {
    let selection = read::selection(context, &list.labels, &list.fields)?;
    let mut deleted = Vec::new();
    let metadata = json!({"resourceVersion": state.storage.revision().to_string()});
    for (_, live) in state.storage.list(&context.served.storage, &context.namespace) {
        if selection.matches(&live.object) {
            delete_live(state, context, options, &live);
            deleted.push(live);
        }
    }
    let objects: Vec<&Value> = deleted.iter().map(|live| &live.object).collect();
    Ok(Reply::json(200, form::list(&context.served, &objects, metadata, context.form, context.now)))
}

pub(super) fn delete_live(
    state: &mut State,
    context: &Context,
    options: &Value,
    live: &Arc<Stored>,
) -> Deleted {
    let key = context.key(meta::name(&live.object));
    let mut object = live.object.clone();
    let mut finalizers: Vec<String> = meta::finalizers(&object).map(str::to_owned).collect();
    let propagation = match options["propagationPolicy"].as_str() {
        Some(policy) => Some(policy),
        None => match context.query.text("propagationPolicy") {
            "" if options["orphanDependents"] == json!(true) => Some("Orphan"),
            "" => None,
            policy => Some(policy),
        },
    };
    if let Some(policy) = propagation {
        finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
        match policy {
            "Foreground" => finalizers.push(FOREGROUND.to_owned()),
            "Orphan" => finalizers.push(ORPHAN.to_owned()),
            _ => {}
        }
    }
    let was_marked = meta::is_being_deleted(&object);
    let is_definition = &*context.served.storage == DEFINITIONS;
    if is_definition && !was_marked {
        // Its objects go first.
        finalizers.push(CLEANUP_FINALIZER.to_owned());
    }
    if let Some(strategy) = context.served.strategy().filter(|_| !is_definition) {
        meta::set_list(&mut object, "finalizers", &finalizers);
        return delete_built_in(state, context, options, strategy, live, object);
    }
    if finalizers.is_empty() {
        if !context.is_dry_run() {
            state.delete(&context.served.storage, &key);
        }
        return Deleted::Gone;
    }
    if !was_marked {
        meta::set(&mut object, "deletionTimestamp", format_rfc3339(context.now));
    }
    if !was_marked && is_definition {
        terminating(&mut object, context.now);
    }
    if !was_marked && !is_definition {
        meta::set(&mut object, "deletionGracePeriodSeconds", 0);
        if let Some(generation) = object["metadata"]["generation"].as_i64() {
            meta::set(&mut object, "generation", generation.saturating_add(1));
        }
    }
    meta::set(&mut object, "finalizers", finalizers);
    if context.is_dry_run() || object == live.object {
        return Deleted::Marked(live.clone());
    }
    Deleted::Marked(state.put(&context.served.storage, key, object))
}

/// Says in a definition that it goes when its objects have.
fn terminating(object: &mut Value, now: SystemTime) {
    with_definition(object, |definition| {
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        definition.set_condition("Terminating", true, "InstanceDeletionPending", message, now);
    });
}

/// Deletes an object of a built-in kind, as its kind is deleted.
fn delete_built_in(
    state: &mut State,
    context: &Context,
    options: &Value,
    strategy: Strategy,
    live: &Arc<Stored>,
    mut object: Value,
) -> Deleted {
    let storage = &context.served.storage;
    let key = context.key(meta::name(&live.object));
    let grace = options["gracePeriodSeconds"]
        .as_i64()
        .or_else(|| context.query.text("gracePeriodSeconds").parse().ok());
    let deletion = strategy.delete(&mut object, grace, context.now);
    if context.is_dry_run() {
        return if deletion == Deletion::Remove { Deleted::Gone } else { Deleted::Marked(live.clone()) };
    }
    match deletion {
        Deletion::Remove => {
            state.delete(storage, &key);
            Deleted::Gone
        }
        Deletion::Mark if object == live.object => Deleted::Marked(live.clone()),
        Deletion::Mark => Deleted::Marked(state.put(storage, key, object)),
        Deletion::MarkThenRemove => {
            let marked = state.put(storage, key.clone(), object);
            Deleted::Marked(state.delete(storage, &key).unwrap_or(marked))
        }
        Deletion::Pending => Deleted::Marked(live.clone()),
    }
}

fn check_preconditions(context: &Context, options: &Value, live: &Value) -> Result<(), Status> {
    let preconditions = &options["preconditions"];
    let what = What { group: &context.served.group, kind: &context.served.kind, name: &context.name };
    if let Some(uid) = preconditions["uid"].as_str()
        && uid != meta::uid(live)
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            meta::uid(live)
        );
        return Err(failure::conflict(what, &why));
    }
    if let Some(version) = preconditions["resourceVersion"].as_str()
        && version != meta::resource_version(live)
    {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            meta::resource_version(live)
        );
        return Err(failure::conflict(what, &why));
    }
    Ok(())
}
