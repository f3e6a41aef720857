//! The statuses with which requests fail, in the form that the real server gives them.

use lariat_api::{Status, StatusCause, StatusDetails};

/// A resource as failures name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct What<'a> {
    pub(crate) group: &'a str,
    /// The plural, or the kind where the real server says that.
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
}

impl What<'_> {
    /// `plural.group "name"`.
    fn quoted(&self) -> String {
        let Self { group, kind, name } = self;
        if group.is_empty() { format!("{kind} \"{name}\"") } else { format!("{kind}.{group} \"{name}\"") }
    }

    fn details(&self, causes: Vec<StatusCause>) -> Option<Box<StatusDetails>> {
        Some(Box::new(StatusDetails {
            name: self.name.into(),
            group: self.group.into(),
            kind: self.kind.into(),
            causes,
            ..StatusDetails::default()
        }))
    }
}

fn failure(code: u16, reason: &str, message: String, details: Option<Box<StatusDetails>>) -> Status {
    Status { status: "Failure".into(), message, reason_text: reason.into(), details, code }
}

fn cause(reason: &str, message: String, field: &str) -> StatusCause {
    StatusCause { reason: reason.into(), message, field: field.into() }
}

pub(crate) fn bad_request(message: impl Into<String>) -> Status {
    failure(400, "BadRequest", message.into(), None)
}

pub(crate) fn unauthorized() -> Status {
    failure(401, "Unauthorized", "Unauthorized".into(), None)
}

pub(crate) fn not_found(what: What<'_>) -> Status {
    failure(404, "NotFound", format!("{} not found", what.quoted()), what.details(Vec::new()))
}

/// A path of a built-in group that nothing is served at.
pub(crate) fn no_such_path() -> Status {
    let message = "the server could not find the requested resource";
    failure(404, "NotFound", message.into(), Some(Box::default()))
}

pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    failure(405, "MethodNotAllowed", message.into(), Some(Box::default()))
}

pub(crate) fn not_acceptable() -> Status {
    let message = "only the following media types are accepted: application/json, application/yaml, \
        application/vnd.kubernetes.protobuf";
    failure(406, "NotAcceptable", message.into(), None)
}

pub(crate) fn already_exists(what: What<'_>) -> Status {
    failure(409, "AlreadyExists", format!("{} already exists", what.quoted()), what.details(Vec::new()))
}

pub(crate) fn conflict(what: What<'_>, why: &str) -> Status {
    let message = format!("Operation cannot be fulfilled on {}: {why}", what.quoted());
    failure(409, "Conflict", message, what.details(Vec::new()))
}

pub(crate) fn modified(what: What<'_>) -> Status {
    conflict(
        what,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// The resourceVersion lies before what is known.
pub(crate) fn expired(message: impl Into<String>) -> Status {
    failure(410, "Expired", message.into(), None)
}

pub(crate) fn too_large() -> Status {
    failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728".into(), None)
}

pub(crate) fn unsupported_media_type(accepted: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    failure(415, "UnsupportedMediaType", message, None)
}

/// One field is wrong.
pub(crate) fn invalid(what: What<'_>, field: &str, reason: &str, message: &str) -> Status {
    let text = format!("{} is invalid: {field}: {message}", what.quoted());
    let causes = vec![cause(reason, message.to_owned(), field)];
    failure(422, "Invalid", text, what.details(causes))
}

/// Something that is stored is not what it should be.
pub(crate) fn internal(message: impl Into<String>) -> Status {
    failure(500, "InternalError", message.into(), None)
}

/// Something is wrong that the real server has no reason for.
pub(crate) fn without_reason(code: u16, message: impl Into<String>) -> Status {
    failure(code, "", message.into(), None)
}

/// The resourceVersion is one that this server has not reached.
pub(crate) fn too_large_version(asked: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let causes = vec![cause("ResourceVersionTooLarge", "Too large resource version".into(), "")];
    let details = StatusDetails { causes, retry_after_seconds: 1, ..StatusDetails::default() };
    failure(504, "Timeout", message, Some(Box::new(details)))
}

/// The cache of a resource is not there yet.
pub(crate) fn initializing() -> Status {
    let details = StatusDetails { retry_after_seconds: 1, ..StatusDetails::default() };
    failure(429, "TooManyRequests", "storage is (re)initializing".into(), Some(Box::new(details)))
}

/// The request is understood and refused, whoever asks.
pub(crate) fn forbidden(what: What<'_>, why: &str) -> Status {
    failure(403, "Forbidden", format!("{} is forbidden: {why}", what.quoted()), what.details(Vec::new()))
}

/// New objects are refused while their namespace goes away.
pub(crate) fn namespace_terminating(what: What<'_>, namespace: &str) -> Status {
    let message = format!(
        "{} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
        what.quoted()
    );
    let text = format!("namespace {namespace} is being terminated");
    let causes = vec![cause("NamespaceTerminating", text, "metadata.namespace")];
    failure(403, "Forbidden", message, what.details(causes))
}

pub(crate) fn success(details: Option<StatusDetails>) -> Status {
    Status { status: "Success".into(), details: details.map(Box::new), ..Status::default() }
}

/// A status as an answer's body.
pub(crate) fn body(status: &Status) -> serde_json::Value {
    let mut body = serde_json::to_value(status).unwrap_or_default();
    body["kind"] = "Status".into();
    body["apiVersion"] = "v1".into();
    body["metadata"] = serde_json::json!({});
    body
}
