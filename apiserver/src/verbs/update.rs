use std::sync::Arc;

use lariat_api::Status;
use serde_json::Value;

use super::create::{allocate, create_decoded, request};
use super::{Sent, answer, check, decode, no_such, other_version};
use crate::apply;
use crate::context::Context;
use crate::failure;
use crate::meta;
use crate::patch::{self, PatchKind};
use crate::reply::Reply;
use crate::schema::shared::format_rfc3339;
use crate::state::State;
use crate::storage::Stored;

/// Replaces an object, or a subresource of it.
pub(crate) fn update(state: &mut State, context: &Context, sent: Sent) -> Result<Reply, Status> {
    if let Some(refused) = other_version(context, &sent.object)? {
        return Ok(refused);
    }
    let (object, warnings) = decode(context, sent)?;
    let live = match live(state, context) {
        Err(_) if context.subresource.is_empty() && context.served.allows_create_on_update() => {
            let object = create_decoded(state, context, object)?;
            return Ok(answer(context, 201, &object, warnings));
        }
        live => live?,
    };
    let object = context.served.field_manager(&context.subresource).track_update(
        Some(&live.object),
        object,
        &request(context, &context.served.api_version(), &format_rfc3339(context.now)),
    );
    let object = replace(state, context, &live, object, false)?;
    Ok(answer(context, 200, &object, warnings))
}

/// Changes an object by a patch.
pub(crate) fn patch(
    state: &mut State,
    context: &Context,
    kind: PatchKind,
    body: &Value,
) -> Result<Reply, Status> {
    if kind == PatchKind::Apply {
        return apply(state, context, body);
    }
    let live = live(state, context)?;
    let before = context.served.to_served(&live.object);
    let patched = match kind {
        PatchKind::Json => patch::json_patch(&before, body),
        PatchKind::Merge => patch::merge_patch(&before, body),
        PatchKind::Strategic | PatchKind::Apply => {
            patch::strategic_patch(&before, body, &context.served.group, &context.served.kind)
        }
    };
    let object = patched.map_err(|error| error.status())?;
    if let Some(strategy) = context.served.strategy() {
        let (written, checked) = match kind {
            PatchKind::Strategic => (patch::go_text(body), strategy.check_patched(&object)),
            _ => (object.to_string(), strategy.type_problem(&object)),
        };
        checked.map_err(|why| patch::invalid_result(&written, &why))?;
    }
    let (object, warnings) = decode(context, Sent { object, duplicates: Vec::new() })?;
    let object = context.served.field_manager(&context.subresource).track_update(
        Some(&live.object),
        object,
        &request(context, &context.served.api_version(), &format_rfc3339(context.now)),
    );
    let object = replace(state, context, &live, object, true)?;
    Ok(answer(context, 200, &object, warnings))
}

fn apply(state: &mut State, context: &Context, config: &Value) -> Result<Reply, Status> {
    let mut config = config.clone();
    context.check_identity(&mut config)?;
    let live = state.storage.get(&context.served.storage, &context.key(&context.name)).cloned();
    if live.is_none() && !context.subresource.is_empty() {
        return Err(no_such(context));
    }
    let now = format_rfc3339(context.now);
    let before = live.as_ref().map(|live| context.served.to_served(&live.object));
    let applied = context
        .served
        .field_manager(&context.subresource)
        .apply(
            before.as_ref(),
            &config,
            &request(context, &context.served.api_version(), &now),
            context.query.flag("force"),
        )
        .map_err(|error| error.status())?;
    let (mut object, warnings) = decode(context, Sent { object: applied.object, duplicates: Vec::new() })?;
    let Some(live) = live else {
        let object = create_decoded(state, context, object)?;
        return Ok(answer(context, 201, &object, warnings));
    };
    apply::keep_times(&live.object, &mut object);
    let object = replace(state, context, &live, object, true)?;
    Ok(answer(context, 200, &object, warnings))
}

pub(super) fn live(state: &State, context: &Context) -> Result<Arc<Stored>, Status> {
    let live = state.storage.get(&context.served.storage, &context.key(&context.name));
    live.cloned().ok_or_else(|| no_such(context))
}

/// Puts an object into the place of the live one, if nothing stands against it.
pub(super) fn replace(
    state: &mut State,
    context: &Context,
    live: &Arc<Stored>,
    mut object: Value,
    is_patch: bool,
) -> Result<Value, Status> {
    let version = meta::resource_version(&object).to_owned();
    let (uid, live_uid) = (meta::uid(&object), meta::uid(&live.object));
    if !uid.is_empty() && uid != live_uid {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {live_uid}");
        return Err(failure::conflict(context.what(&context.name), &why));
    }
    if version.is_empty() && !is_patch && !context.served.allows_unconditional_update() {
        let message = "Invalid value: 0: must be specified for an update";
        let what = context.what(&context.name);
        return Err(failure::invalid(what, "metadata.resourceVersion", "FieldValueInvalid", message));
    }
    if !version.is_empty() && version != meta::resource_version(&live.object) {
        return Err(failure::modified(context.what(&context.name)));
    }
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
        "generation",
    ] {
        match &live.object["metadata"][field] {
            Value::Null => drop(meta::remove(&mut object, field)),
            value => meta::set(&mut object, field, value.clone()),
        }
    }
    let before = context.served.to_served(&live.object);
    context.served.prepare_update(&mut object, &before, &context.subresource);
    if context.subresource.is_empty() {
        allocate(state, context, &mut object, Some(&before))?;
    }
    check(context, &object, &context.served.validate_update(&object, &before, &context.subresource))?;
    context.served.normalise(&mut object);
    if object == before || context.is_dry_run() {
        return Ok(context.served.to_stored(object));
    }
    let key = context.key(&context.name);
    let is_finished = match context.served.strategy() {
        Some(strategy) => strategy.is_finished(&object, &before),
        None => meta::is_being_deleted(&object) && meta::finalizers(&object).next().is_none(),
    };
    let object = context.served.to_stored(object);
    if is_finished {
        // The last finalizer is gone. The answer is what was written, in the version of before.
        state.delete(&context.served.storage, &key);
        return Ok(object);
    }
    Ok(state.put(&context.served.storage, key, object).object.clone())
}
