//! What each verb does to the state. Nothing here waits: a list that has to wait for a version says so.

mod create;
mod delete;
mod pod;
mod read;
mod review;
mod scale;
mod update;

pub(crate) use create::create;
pub(crate) use delete::{FOREGROUND, ORPHAN, delete, delete_collection};
pub(crate) use pod::{act_on_pod, bind_pod};
pub(crate) use read::{Listed, get, list, watch};
pub(crate) use review::review;
pub(crate) use scale::{get_scale, patch_scale, put_scale};
pub(crate) use update::{patch, update};

use lariat_api::Status;
use serde_json::Value;

use crate::context::{Context, Validation};
use crate::failure;
use crate::reply::Reply;
use crate::schema::{FieldError, invalid_status, strict_status, unknown_field};
use crate::{form, meta};

/// An object of a request's body, as it was sent.
pub(crate) struct Sent {
    pub(crate) object: Value,
    /// Fields that stand twice in the same object, a sentence each.
    pub(crate) duplicates: Vec<String>,
}

/// The answer to a custom resource in a version that is not the one that is asked for; none if it is. No schema is known for
/// what it holds, so all of that is unknown.
fn other_version(context: &Context, object: &Value) -> Result<Option<Reply>, Status> {
    let Some(status) = context.check_version(object).err().filter(|_| context.served.strategy().is_none())
    else {
        return Ok(None);
    };
    let known = ["apiVersion", "kind", "metadata"];
    let fields = object.as_object().into_iter().flat_map(|fields| fields.keys());
    let unknown: Vec<String> =
        fields.filter(|field| !known.contains(&field.as_str())).map(|field| unknown_field(field)).collect();
    match context.validation()? {
        Validation::Strict if !unknown.is_empty() => {
            Err(strict_status(&context.served.kind, &context.served.version, &unknown))
        }
        Validation::Ignore => Err(status),
        Validation::Strict | Validation::Warn => Ok(Some(Reply::from(status).with_warnings(unknown))),
    }
}

/// Drops what the kind does not have and fills in defaults. Returns warnings, unless the client asked for an error.
fn decode(context: &Context, sent: Sent) -> Result<(Value, Vec<String>), Status> {
    let Sent { mut object, duplicates } = sent;
    context.check_identity(&mut object)?;
    let mut problems = duplicates;
    problems.extend(context.served.decode(&mut object)?);
    match context.validation()? {
        Validation::Strict if !problems.is_empty() => {
            Err(strict_status(&context.served.kind, &context.served.version, &problems))
        }
        Validation::Ignore => Ok((object, Vec::new())),
        Validation::Strict | Validation::Warn => Ok((object, problems)),
    }
}

fn check(context: &Context, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    let kind = object["kind"].as_str().filter(|kind| !kind.is_empty()).unwrap_or(&context.served.kind);
    Err(invalid_status(&context.served.group, kind, meta::name(object), errors))
}

fn answer(context: &Context, code: u16, object: &Value, warnings: Vec<String>) -> Reply {
    let body = form::object(&context.served, object, context.form, context.now);
    Reply::json(code, body).with_warnings(warnings)
}

fn no_such(context: &Context) -> Status {
    failure::not_found(context.what(&context.name))
}
