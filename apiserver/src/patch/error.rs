use lariat_api::{Reason, Status, StatusCause, StatusDetails};

use crate::apply::failure;

/// Why a patch is not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It is no patch of its kind (400).
    #[error("{0}")]
    Malformed(String),
    /// It has too many operations (413).
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {count}")]
    TooManyOperations {
        /// How many it may have.
        limit: usize,
        /// How many it has.
        count: usize,
    },
    /// It is a patch, but not for this object (422). The API server does not tell the client why.
    #[error("{0}")]
    Rejected(String),
    /// It is a patch that makes no sense for the object's type. The API server answers 500 without a reason.
    #[error("{0}")]
    Failed(String),
}

impl PatchError {
    /// The error as the API server answers it.
    pub fn status(&self) -> Status {
        let message = self.to_string();
        match self {
            Self::Malformed(_) => failure(400, Some(Reason::BadRequest), message, None),
            Self::TooManyOperations { .. } => {
                let message = format!("Request entity is too large: {message}");
                failure(413, Some(Reason::RequestEntityTooLarge), message, None)
            }
            Self::Rejected(_) => {
                let message = "the server rejected our request due to an error in our request";
                failure(422, Some(Reason::Invalid), message.into(), Some(StatusDetails::default()))
            }
            Self::Failed(_) => failure(500, None, message, None),
        }
    }
}

/// What the API server answers if the result of a patch, given as it would write it, cannot be read as an object of its
/// kind any more.
pub fn invalid_result(result: &str, why: &str) -> Status {
    let message = format!("Invalid value: {result:?}: {why}");
    let cause =
        StatusCause { reason: "FieldValueInvalid".into(), message: message.clone(), field: "patch".into() };
    let details = StatusDetails { causes: vec![cause], ..StatusDetails::default() };
    failure(422, Some(Reason::Invalid), format!(" \"\" is invalid: patch: {message}"), Some(details))
}
