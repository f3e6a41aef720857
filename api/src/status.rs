use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::meta::{is_zero, null_is_default};

/// What a server answers when it does not answer with an object: mostly an error, sometimes "Success".
///
/// The predicates go by the reason where it is a known one and by the HTTP code otherwise.
///
/// # Example
///
/// ```
/// use lariat_api::Status;
///
/// let body = br#"{"kind":"Status","status":"Failure","reason":"Conflict","message":"try again","code":409}"#;
/// let status = Status::from_response(409, body);
/// assert!(status.is_conflict() && !status.is_already_exists());
/// assert!(Status::from_response(404, b"404 page not found\n").is_not_found());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", default)]
#[error("{}", self.describe())]
pub struct Status {
    /// `Failure` or `Success`.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub status: String,
    /// What happened, for people.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub message: String,
    /// What happened, for programs; see [`Status::reason`].
    #[serde(
        rename = "reason",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub reason_text: String,
    /// More about what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP status code, 0 if the server left it out.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "null_is_default")]
    pub code: u16,
}

/// The object a [`Status`] speaks of, and the causes it names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub name: String,
    /// The object's group.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub group: String,
    /// The object's kind or resource.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub kind: String,
    /// The object's uid.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub uid: String,
    /// One entry for each thing that was wrong.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub causes: Vec<StatusCause>,
    /// How long to wait before another try, in seconds; 0 if the server does not say.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "null_is_default")]
    pub retry_after_seconds: u32,
}

/// One thing that was wrong with a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCause {
    /// What was wrong, for programs.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub reason: String,
    /// What was wrong, for people.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub message: String,
    /// The field that was wrong, as a path such as `spec.replicas`.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub field: String,
}

/// The reasons that the Kubernetes API gives in a [`Status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The object exists already (409).
    AlreadyExists,
    /// The request makes no sense (400).
    BadRequest,
    /// The object changed meanwhile (409).
    Conflict,
    /// The resourceVersion or continue token is too old (410).
    Expired,
    /// The caller may not do this (403).
    Forbidden,
    /// What was asked for is not to be had any more (410).
    Gone,
    /// The server broke (500).
    InternalError,
    /// The object is not valid (422).
    Invalid,
    /// The resource does not support the verb (405).
    MethodNotAllowed,
    /// None of the accepted media types can be served (406).
    NotAcceptable,
    /// No such object or resource (404).
    NotFound,
    /// The request is too large (413).
    RequestEntityTooLarge,
    /// The server took too long and does not know the outcome (500).
    ServerTimeout,
    /// The server is not able to serve now (503).
    ServiceUnavailable,
    /// The server could not answer in time (504).
    Timeout,
    /// The caller must slow down (429).
    TooManyRequests,
    /// The caller is not known (401).
    Unauthorized,
    /// The media type of the request is not known (415).
    UnsupportedMediaType,
}

/// How much of a body that is no Status is kept in the message, in bytes: enough to recognise a proxy's page.
const KEPT_BODY: usize = 512;

impl Status {
    /// The status of an HTTP response: the body if it is a Status, otherwise one made from code and body.
    pub fn from_response(code: u16, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Typed {
            kind: String,
        }

        let text = str::from_utf8(body).unwrap_or_default();
        let is_status = serde_json::from_str::<Typed>(text).is_ok_and(|typed| typed.kind == "Status");
        match is_status.then(|| serde_json::from_str::<Self>(text)) {
            Some(Ok(mut status)) => {
                if status.code == 0 {
                    status.code = code;
                }
                status
            }
            _ => Self::from_code(code, &String::from_utf8_lossy(&body[..body.len().min(KEPT_BODY)])),
        }
    }

    /// A failure that is known only by its HTTP code.
    pub fn from_code(code: u16, message: &str) -> Self {
        let reason = Reason::from_code(code);
        Self {
            status: "Failure".into(),
            message: message.trim().into(),
            reason_text: reason.map_or("", Reason::as_str).into(),
            details: None,
            code,
        }
    }

    /// The reason, if it is a known one.
    pub fn reason(&self) -> Option<Reason> {
        Reason::from_text(&self.reason_text)
    }

    /// The object changed meanwhile: read it again and retry.
    pub fn is_conflict(&self) -> bool {
        self.is(Reason::Conflict)
    }

    /// The object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.is(Reason::AlreadyExists)
    }

    /// No such object or resource.
    pub fn is_not_found(&self) -> bool {
        self.is(Reason::NotFound)
    }

    /// The resourceVersion or continue token is too old, in either of the ways that servers say it (410).
    pub fn is_gone(&self) -> bool {
        self.is(Reason::Gone) || self.is(Reason::Expired)
    }

    /// The caller is not known.
    pub fn is_unauthorized(&self) -> bool {
        self.is(Reason::Unauthorized)
    }

    /// The caller may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.is(Reason::Forbidden)
    }

    /// The object is not valid.
    pub fn is_invalid(&self) -> bool {
        self.is(Reason::Invalid)
    }

    /// The request makes no sense.
    pub fn is_bad_request(&self) -> bool {
        self.is(Reason::BadRequest)
    }

    /// The caller must slow down.
    pub fn is_too_many_requests(&self) -> bool {
        self.is(Reason::TooManyRequests)
    }

    /// The server broke.
    pub fn is_internal_error(&self) -> bool {
        self.is(Reason::InternalError)
    }

    /// The server could not answer in time.
    pub fn is_timeout(&self) -> bool {
        self.is(Reason::Timeout)
    }

    /// The server is not able to serve now.
    pub fn is_service_unavailable(&self) -> bool {
        self.is(Reason::ServiceUnavailable)
    }

    /// The server has not seen the resourceVersion yet, in any of the three ways that servers have said it.
    pub fn is_too_large_resource_version(&self) -> bool {
        const MESSAGE: &str = "Too large resource version";
        let causes = self.details.iter().flat_map(|details| &details.causes);
        causes.clone().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || self.is_timeout() && causes.clone().any(|cause| cause.message == MESSAGE)
            || self.message.contains(MESSAGE)
    }

    /// How long the server asks to wait before another try.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    fn is(&self, reason: Reason) -> bool {
        match self.reason() {
            Some(known) => known == reason,
            None => Reason::from_code(self.code) == Some(reason),
        }
    }

    fn describe(&self) -> Cow<'_, str> {
        let reason = match self.reason_text.as_str() {
            "" => "no reason given",
            text => text,
        };
        match (self.code, self.message.as_str()) {
            (0, "") => Cow::Borrowed(reason),
            (0, message) => format!("{message} ({reason})").into(),
            (code, "") => format!("HTTP {code} ({reason})").into(),
            (code, message) => format!("{message} (HTTP {code}, {reason})").into(),
        }
    }
}

impl Reason {
    const ALL: [(Self, &str, u16); 18] = [
        (Self::AlreadyExists, "AlreadyExists", 409),
        (Self::BadRequest, "BadRequest", 400),
        (Self::Conflict, "Conflict", 409),
        (Self::Expired, "Expired", 410),
        (Self::Forbidden, "Forbidden", 403),
        (Self::Gone, "Gone", 410),
        (Self::InternalError, "InternalError", 500),
        (Self::Invalid, "Invalid", 422),
        (Self::MethodNotAllowed, "MethodNotAllowed", 405),
        (Self::NotAcceptable, "NotAcceptable", 406),
        (Self::NotFound, "NotFound", 404),
        (Self::RequestEntityTooLarge, "RequestEntityTooLarge", 413),
        (Self::ServerTimeout, "ServerTimeout", 500),
        (Self::ServiceUnavailable, "ServiceUnavailable", 503),
        (Self::Timeout, "Timeout", 504),
        (Self::TooManyRequests, "TooManyRequests", 429),
        (Self::Unauthorized, "Unauthorized", 401),
        (Self::UnsupportedMediaType, "UnsupportedMediaType", 415),
    ];

    /// The reason as the API writes it.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(reason, ..)| *reason == self).map_or("", |(_, text, _)| text)
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name, _)| *name == text).map(|(reason, ..)| *reason)
    }

    /// The reason that a bare HTTP code stands for.
    fn from_code(code: u16) -> Option<Self> {
        match code {
            409 => Some(Self::Conflict),
            410 => Some(Self::Gone),
            500 => Some(Self::InternalError),
            _ => Self::ALL.iter().find(|(_, _, known)| *known == code).map(|(reason, ..)| *reason),
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
