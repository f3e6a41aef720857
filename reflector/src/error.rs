use std::sync::Arc;

use lariat_api::{KeyError, Status};
use lariat_client::Undecodable;

/// Something that went wrong while an informer followed its server. It goes on all the same.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectorError {
    /// The objects could not be listed.
    #[error("list failed: {0}")]
    List(lariat_client::Error),
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
    /// An object in a list cannot be decoded. It is left out; what the cache holds under its key stays.
    #[error("{0}")]
    Undecodable(Undecodable),
    /// An object has no name. It is left out.
    #[error("{0}")]
    NoKey(KeyError),
}

/// Is told what goes wrong in an informer: its name and the error.
pub type ErrorHandler = Arc<dyn Fn(&str, &ReflectorError) + Send + Sync>;

impl ReflectorError {
    /// What the server said, if that is what went wrong.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::List(error) | Self::WatchOpen(error) | Self::Watch(error) => error.status(),
            Self::Ended(status) => Some(status),
            _ => None,
        }
    }
}
