use lariat_api::Status;
use serde_json::{Value, json};

use super::delete::delete_live;
use super::update::live;
use crate::builtin;
use crate::context::Context;
use crate::failure;
use crate::meta;
use crate::reply::Reply;
use crate::state::State;

/// Binds the pod that a binding names; what is created is not stored.
pub(crate) fn bind_pod(state: &mut State, context: &Context, body: &Value) -> Result<Reply, Status> {
    let Some(pods) = state.kinds.find("", "v1", "pods").cloned() else { return Ok(Reply::no_such_page()) };
    let name = meta::name(body).to_owned();
    let context = Context { served: pods, name, subresource: "binding".into(), ..context.clone() };
    act_on_pod(state, &context, body)
}

/// Binds a pod to a node, or evicts it.
pub(crate) fn act_on_pod(state: &mut State, context: &Context, body: &Value) -> Result<Reply, Status> {
    let before = live(state, context)?;
    let mut pod = before.object.clone();
    let key = context.key(&context.name);
    if context.subresource == "binding" {
        builtin::bind(&mut pod, body, context.now)?;
        if !context.is_dry_run() {
            state.put(&context.served.storage, key, pod);
        }
    } else {
        let grace = builtin::evict(&mut pod, body, context.now)?;
        if !context.is_dry_run() {
            let marked = state.put(&context.served.storage, key, pod);
            let options = grace.map_or(Value::Null, |seconds| json!({"gracePeriodSeconds": seconds}));
            delete_live(state, context, &options, &marked);
        }
    }
    let mut done = failure::success(None);
    done.code = 201;
    Ok(done.into())
}
