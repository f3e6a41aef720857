use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{KeyError, ObjectKey, Status};
use lariat_client::Undecodable;

/// Something that went wrong while an informer followed its server. It goes on all the same.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectorError {
    /// The objects could not be listed.
    #[error("list failed: {0}")]
    List(lariat_client::Error),
    /// A list asked for nothing older than a version, and the answer was older. It was not applied.
    #[error("list at version {asked} or newer was answered at version {answered}: going on at the newest")]
    WentBack {
        /// The version that was asked for at least.
        asked: String,
        /// The version of the answer.
        answered: String,
    },
    /// The server would not begin with the objects in a stream, or did not come to their end. It is asked for the newest in
    /// this way if it does not have the version, and else for a list.
    #[error("streaming list failed: {0}")]
    Streaming(Box<ReflectorError>),
    /// A streaming list ended before it was complete.
    #[error("streaming list ended after {events} events without the bookmark that completes it")]
    Incomplete {
        /// How many events there were.
        events: u64,
    },
    /// A watch could not be opened.
    #[error("watch could not be opened: {0}")]
    WatchOpen(lariat_client::Error),
    /// A watch sent something that cannot be used.
    #[error("watch broke off: {0}")]
    Watch(lariat_client::Error),
    /// The server ended a watch with an error.
    #[error("watch was ended by the server: {0}")]
    Ended(Box<Status>),
    /// A watch ended in under a second without an event.
    #[error("watch ended in under a second without any event; the server may not be able to watch")]
    VeryShortWatch,
    /// The server said nothing for so long.
    #[error("server was silent for {0:?}")]
    Silent(Duration),
    /// An object in a list or an event cannot be decoded. It is left out; what the cache holds under its key stays.
    #[error("{0}")]
    Undecodable(Undecodable),
    /// An object is of another kind. It is left out.
    #[error("object {name:?} is of kind {found:?}, not {wanted:?}")]
    WrongKind {
        /// What was wanted.
        wanted: String,
        /// What came.
        found: String,
        /// The name of the object.
        name: String,
    },
    /// An object has no name. It is left out.
    #[error("{0}")]
    NoKey(KeyError),
    /// The transform failed. The object is left out; what the cache holds under its key stays.
    #[error("transform of {key} failed: {cause}")]
    Transform {
        /// The key of the object.
        key: ObjectKey,
        /// What the transform said.
        cause: TransformError,
    },
}

/// What a transform may fail with.
pub type TransformError = Box<dyn StdError + Send + Sync>;

/// Is told what goes wrong in an informer: its name and the error.
pub type ErrorHandler = Arc<dyn Fn(&str, &ReflectorError) + Send + Sync>;

impl ReflectorError {
    /// What the server said, if that is what went wrong.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::List(error) | Self::WatchOpen(error) | Self::Watch(error) => error.status(),
            Self::Ended(status) => Some(status),
            Self::Streaming(error) => error.status(),
            _ => None,
        }
    }

    /// Whether the objects are listed again because of it, after a wait. If not, the informer goes on from where it was.
    pub fn causes_relist(&self) -> bool {
        match self {
            Self::List(_) | Self::WentBack { .. } | Self::Watch(_) | Self::VeryShortWatch => true,
            Self::WatchOpen(error) => !may_be_retried(error),
            Self::Ended(status) => !status.is_too_many_requests(),
            Self::Transform { .. } | Self::Streaming(_) | Self::Incomplete { .. } | Self::Silent(_) => false,
            Self::Undecodable(_) | Self::WrongKind { .. } | Self::NoKey(_) => false,
        }
    }
}

/// Whether a watch that could not be opened may be opened again without a new list.
pub(crate) fn may_be_retried(error: &lariat_client::Error) -> bool {
    error.is_connection_refused() || error.status().is_some_and(Status::is_too_many_requests)
}
