use lariat_api::Status;
use serde_json::{Value, json};

use super::{Sent, answer, check, decode, other_version};
use crate::apply;
use crate::builtin::{self, Strategy};
use crate::context::Context;
use crate::failure::{self, What};
use crate::meta;
use crate::reply::Reply;
use crate::schema::shared::format_rfc3339;
use crate::state::State;

/// Creates an object.
pub(crate) fn create(state: &mut State, context: &Context, sent: Sent) -> Result<Reply, Status> {
    if let Some(refused) = other_version(context, &sent.object)? {
        return Ok(refused);
    }
    let (object, warnings) = decode(context, sent)?;
    let object = create_decoded(state, context, object)?;
    Ok(answer(context, 201, &object, warnings))
}

/// Creates an object that has its defaults.
pub(super) fn create_decoded(
    state: &mut State,
    context: &Context,
    mut object: Value,
) -> Result<Value, Status> {
    let now = format_rfc3339(context.now);
    if meta::name(&object).is_empty() {
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
        if !prefix.is_empty() {
            let name = format!("{prefix}{}", state.name_suffix());
            meta::set(&mut object, "name", name);
        }
    }
    for field in ["resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        meta::remove(&mut object, field);
    }
    meta::set(&mut object, "creationTimestamp", now.as_str());
    // An apply has said already who owns what.
    if object["metadata"]["managedFields"].is_null() {
        object = context.served.field_manager(&context.subresource).track_update(
            None,
            object,
            &request(context, &context.served.api_version(), &now),
        );
    }
    // What admission adds is nobody's.
    let managed = meta::remove(&mut object, "managedFields");
    if context.served.strategy() == Some(Strategy::Pod) {
        let classes = state.storage.list("priorityclasses.scheduling.k8s.io", "");
        builtin::resolve_priority(&mut object, classes.iter().map(|(_, stored)| &stored.object))?;
    }
    context.served.prepare_create(&mut object, context.now);
    allocate(state, context, &mut object, None)?;
    meta::set(&mut object, "uid", state.new_uid());
    if let Some(managed) = managed {
        meta::set(&mut object, "managedFields", managed);
    }
    check_namespace(state, context, meta::name(&object))?;
    check(context, &object, &context.served.validate_create(&object))?;
    if meta::name(&object).is_empty() {
        let what = What { group: &context.served.group, kind: &context.served.kind, name: "" };
        let message = "Required value: name or generateName is required";
        return Err(failure::invalid(what, "metadata.name", "FieldValueRequired", message));
    }
    let key = context.key(meta::name(&object));
    if state.storage.get(&context.served.storage, &key).is_some() {
        return Err(failure::already_exists(context.what(meta::name(&object))));
    }
    context.served.normalise(&mut object);
    let object = context.served.to_stored(object);
    if context.is_dry_run() {
        return Ok(object);
    }
    Ok(state.put(&context.served.storage, key, object).object.clone())
}

pub(super) fn request<'a>(context: &'a Context, api_version: &'a str, now: &'a str) -> apply::Request<'a> {
    apply::Request { manager: &context.manager, api_version, subresource: &context.subresource, now }
}

/// Gives a service its addresses and ports.
pub(super) fn allocate(
    state: &mut State,
    context: &Context,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if context.served.strategy() != Some(Strategy::Service) {
        return Ok(());
    }
    let services = state.storage.list(&context.served.storage, "");
    let taken = |address: &str| {
        services.iter().any(|(_, stored)| {
            let spec = &stored.object["spec"];
            let ports = spec["ports"].as_array().into_iter().flatten();
            let mut ports = ports.filter_map(|port| port["nodePort"].as_u64());
            spec["clusterIP"] == *address || ports.any(|port| port.to_string() == address)
        })
    };
    let allocated = builtin::allocate(object, old, &mut state.allocated, taken);
    allocated.or_else(|error| check(context, object, &[error]))
}

/// New objects need a namespace that is there to stay.
fn check_namespace(state: &State, context: &Context, name: &str) -> Result<(), Status> {
    if !context.served.namespaced {
        return Ok(());
    }
    let missing = || failure::not_found(What { group: "", kind: "namespaces", name: &context.namespace });
    let namespace = state.storage.get("namespaces", &context.namespace).ok_or_else(missing)?;
    if meta::is_being_deleted(&namespace.object)
        || namespace.object["status"]["phase"] == json!("Terminating")
    {
        return Err(failure::namespace_terminating(context.what(name), &context.namespace));
    }
    Ok(())
}
