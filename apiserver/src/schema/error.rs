//! What is wrong with an object, field by field, and the answer that says so.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use lariat_api::{Reason, Status, StatusCause, StatusDetails};
use serde_json::Value;

use super::path::FieldPath;
use super::text;

/// One field that is not valid.
///
/// [`Display`] writes it as it stands in a [`Status`]'s message; [`FieldError::cause`] is its entry among the causes.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::{FieldError, FieldErrorKind};
/// use serde_json::json;
///
/// let error = FieldError::new(FieldErrorKind::Duplicate, "spec.tags[1]", json!("a"), "");
/// assert_eq!(error.to_string(), r#"spec.tags[1]: Duplicate value: "a""#);
/// assert_eq!(error.cause().reason, "FieldValueDuplicate");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// The field, such as `spec.items[1].name`; `<nil>` if it is the object as a whole.
    pub field: String,
    /// The value that was found. Some kinds do not show it.
    pub bad_value: Value,
    /// More about what is wrong; may be empty.
    pub detail: String,
}

/// What can be wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// A value is missing.
    Required,
    /// A value occurs twice where it may occur once.
    Duplicate,
    /// A value is malformed or out of range.
    Invalid,
    /// A value is none of those that are allowed.
    NotSupported,
    /// The field may not be set.
    Forbidden,
    /// A text is too long.
    TooLong,
    /// A list or map has too many entries.
    TooMany,
    /// A value is of the wrong type.
    TypeInvalid,
}

/// The message of a [`FieldError`] does not grow beyond this many causes; a request can hold a million bad items.
const MAX_MESSAGES: usize = 10_000;

impl FieldError {
    /// An error of a kind for a field.
    pub fn new(
        kind: FieldErrorKind,
        field: impl Into<String>,
        bad_value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, field: field.into(), bad_value: bad_value.into(), detail: detail.into() }
    }

    pub(crate) fn required(path: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path.to_string(), Value::Null, detail)
    }

    pub(crate) fn invalid(path: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path.to_string(), value, detail)
    }

    pub(crate) fn type_invalid(path: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, path.to_string(), value, detail)
    }

    pub(crate) fn duplicate(path: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path.to_string(), value, "")
    }

    pub(crate) fn forbidden(path: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path.to_string(), Value::Null, detail)
    }

    pub(crate) fn not_supported<S: AsRef<str>>(
        path: &FieldPath,
        value: impl Into<Value>,
        accepted: &[S],
    ) -> Self {
        let accepted: Vec<_> = accepted.iter().map(|value| text::quote(value.as_ref())).collect();
        let detail = match accepted.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", accepted.join(", ")),
        };
        Self::new(FieldErrorKind::NotSupported, path.to_string(), value, detail)
    }

    pub(crate) fn too_long(path: &FieldPath, most: u64) -> Self {
        let unit = if most == 1 { "byte" } else { "bytes" };
        Self::new(
            FieldErrorKind::TooLong,
            path.to_string(),
            "",
            format!("may not be more than {most} {unit}"),
        )
    }

    pub(crate) fn too_many(path: &FieldPath, found: usize, most: u64) -> Self {
        let unit = if most == 1 { "item" } else { "items" };
        Self::new(
            FieldErrorKind::TooMany,
            path.to_string(),
            found,
            format!("must have at most {most} {unit}"),
        )
    }

    /// What is wrong, without the field.
    pub fn message(&self) -> String {
        let mut message = match self.kind.shows_value() {
            true => format!("{}: {}", self.kind.title(), text::bad_value(&self.bad_value)),
            false => self.kind.title().to_owned(),
        };
        if !self.detail.is_empty() {
            message.push_str(": ");
            message.push_str(&self.detail);
        }
        message
    }

    /// The error as the cause of a [`Status`].
    pub fn cause(&self) -> StatusCause {
        StatusCause { reason: self.kind.reason().into(), message: self.message(), field: self.field.clone() }
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

impl std::error::Error for FieldError {}

impl FieldErrorKind {
    /// The reason that a [`StatusCause`] gives.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong)
    }
}

/// The answer to an object that is not valid (422): all errors in one message, and each as a cause.
///
/// `kind` is the object's kind, or its resource where the server names that (updates that fail before validation).
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::{FieldError, FieldErrorKind, invalid_status};
/// use serde_json::Value;
///
/// let errors = [FieldError::new(FieldErrorKind::Required, "spec.size", Value::Null, "")];
/// let status = invalid_status("example.dev", "Widget", "w", &errors);
/// assert_eq!(status.message, r#"Widget.example.dev "w" is invalid: spec.size: Required value"#);
/// assert_eq!(status.code, 422);
/// ```
pub fn invalid_status(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Status {
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let mut message = format!("{qualified} {} is invalid", text::quote(name));
    let aggregate = aggregate(errors);
    if !aggregate.is_empty() {
        message.push_str(": ");
        message.push_str(&aggregate);
    }
    Status {
        status: "Failure".into(),
        message,
        reason_text: Reason::Invalid.as_str().into(),
        details: Some(Box::new(StatusDetails {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            causes: errors.iter().map(FieldError::cause).collect(),
            ..StatusDetails::default()
        })),
        code: 422,
    }
}

/// The answer to a body with unknown or duplicate fields under `fieldValidation=Strict` (400).
///
/// `problems` are sentences such as `unknown field "spec.foo"`, duplicates first; see [`super::unknown_field`] and
/// [`super::duplicate_field`].
pub fn strict_status(kind: &str, version: &str, problems: &[String]) -> Status {
    Status {
        status: "Failure".into(),
        message: format!(
            "{kind} in version {} cannot be handled as a {kind}: strict decoding error: {}",
            text::quote(version),
            problems.join(", ")
        ),
        reason_text: Reason::BadRequest.as_str().into(),
        details: None,
        code: 400,
    }
}

/// The errors in one line. Repeated ones are named once.
pub(crate) fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = BTreeSet::new();
    let messages = errors.iter().take(MAX_MESSAGES).map(FieldError::to_string);
    let messages: Vec<_> = messages.filter(|message| seen.insert(message.clone())).collect();
    match messages.as_slice() {
        [] => String::new(),
        [message] => message.clone(),
        messages => format!("[{}]", messages.join(", ")),
    }
}
