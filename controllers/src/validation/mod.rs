//! What is wrong with an object, field by field, as admission would say it (reference 1).

mod allocation;
mod fleet;
mod fleet_autoscaler;
mod game_server;
mod meta;
mod resources;

use std::fmt::{self, Display, Formatter};

pub use allocation::allocation;
pub use fleet::{fleet, game_server_set, game_server_set_update};
pub(crate) use fleet_autoscaler::certificates;
pub use fleet_autoscaler::fleet_autoscaler;
pub use game_server::game_server;
pub(crate) use resources::quantity;

/// Something that is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, such as `spec.ports[0].hostPort`.
    pub field: String,
    /// What sort of wrong.
    pub kind: FieldErrorKind,
    /// What is wrong, and what to do.
    pub detail: String,
}

/// What sort of wrong a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// Its value cannot be.
    Invalid,
    /// It has to be there.
    Required,
    /// It must not be there.
    Forbidden,
    /// Its value is not one of those that there are.
    NotSupported,
    /// Its value is too long.
    TooLong,
    /// Its value is there twice.
    Duplicate,
}

impl FieldErrorKind {
    /// The name in a status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotSupported => "FieldValueNotSupported",
            Self::TooLong => "FieldValueTooLong",
            Self::Duplicate => "FieldValueDuplicate",
        }
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.detail)
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn add(&mut self, kind: FieldErrorKind, field: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError { field: field.into(), kind, detail: detail.into() });
    }

    fn invalid(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Invalid, field, detail);
    }

    fn required(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Required, field, detail);
    }

    fn forbidden(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Forbidden, field, detail);
    }
}
