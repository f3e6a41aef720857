use lariat_api::Status;
use serde_json::Value;

use super::update::{live, replace};
use crate::apply::{ManagedFields, track_scale};
use crate::context::Context;
use crate::failure;
use crate::form;
use crate::kinds::Behaviour;
use crate::patch::{self, PatchKind};
use crate::reply::Reply;
use crate::schema::{ScalePaths, apply_scale, apply_scale_version, scale};
use crate::state::State;

/// The scale of an object.
pub(crate) fn get_scale(state: &State, context: &Context) -> Result<Reply, Status> {
    let live = live(state, context)?;
    answer(context, &shown(paths(context)?, &live.object)?)
}

/// Takes the wanted number of a scale into its object.
pub(crate) fn put_scale(state: &mut State, context: &Context, wanted: &Value) -> Result<Reply, Status> {
    let paths = paths(context)?;
    let live = live(state, context)?;
    let before = shown(paths, &live.object)?;
    let mut object = context.served.to_served(&live.object);
    crate::meta::remove(&mut object, "resourceVersion");
    apply_scale_version(&mut object, wanted);
    apply_scale(paths, &mut object, wanted).map_err(|error| failure::bad_request(error.to_string()))?;
    if before["spec"] != wanted["spec"] {
        let mut managed = ManagedFields::of(&object).unwrap_or_default();
        let path: Vec<&str> = paths.spec_replicas_path.split('.').filter(|part| !part.is_empty()).collect();
        track_scale(&mut managed, &path, &context.manager, &context.served.api_version());
        managed.write_to(&mut object);
    }
    // The scale is the object's spec: it is replaced as the object itself is.
    let object = replace(state, &context.without_subresource(), &live, object, true)?;
    answer(context, &shown(paths, &object)?)
}

/// Changes a scale by a patch.
pub(crate) fn patch_scale(
    state: &mut State,
    context: &Context,
    kind: PatchKind,
    change: &Value,
) -> Result<Reply, Status> {
    let before = shown(paths(context)?, &live(state, context)?.object)?;
    let patched = match kind {
        PatchKind::Json => patch::json_patch(&before, change),
        PatchKind::Merge => patch::merge_patch(&before, change),
        PatchKind::Strategic | PatchKind::Apply => {
            return Err(failure::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json",
            ));
        }
    };
    put_scale(state, context, &patched.map_err(|error| error.status())?)
}

fn answer(context: &Context, scale: &Value) -> Result<Reply, Status> {
    Ok(Reply::json(200, form::scale(scale, context.form, context.now)))
}

fn paths(context: &Context) -> Result<&ScalePaths, Status> {
    match &context.served.behaviour {
        Behaviour::Custom(custom) => custom.resource.scale.as_ref(),
        Behaviour::BuiltIn(_) => None,
    }
    .ok_or_else(failure::method_not_allowed)
}

fn shown(paths: &ScalePaths, object: &Value) -> Result<Value, Status> {
    scale(paths, object).map_err(|error| failure::internal(error.to_string()))
}
