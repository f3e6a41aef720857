use lariat_api::Status;

use super::{Sent, answer, decode};
use crate::builtin::Strategy;
use crate::context::Context;
use crate::failure;
use crate::reply::Reply;
use crate::schema::invalid_status;

/// Answers a review, which is not stored.
pub(crate) fn review(context: &Context, strategy: Strategy, sent: Sent) -> Result<Reply, Status> {
    let (mut object, warnings) = decode(context, sent)?;
    if strategy == Strategy::SelfSubjectRulesReview
        && object["spec"]["namespace"].as_str().unwrap_or_default().is_empty()
    {
        return Err(failure::bad_request("no namespace on request"));
    }
    let errors = strategy.validate_create(&object);
    if !errors.is_empty() {
        // The real server names neither kind nor object here.
        return Err(invalid_status(&context.served.group, "", "", &errors));
    }
    strategy.answer_review(&mut object, context.now);
    Ok(answer(context, 201, &object, warnings))
}
