use std::error::Error as StdError;
use std::io;

use lariat_api::Status;

use crate::config::ConfigError;
use crate::decode::{ListError, WatchError};
use crate::fence::Fenced;

/// Why a request failed.
///
/// The predicates tell apart what callers react to; the variants tell people what happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request cannot be made: a name or a namespace cannot stand in a path.
    #[error(
        "{what} {value:?} cannot stand in a request path: use a name without '/' and '%' that is not '.' or '..'"
    )]
    Path {
        /// What the value is: `name`, `namespace` or `subresource`.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// The configuration cannot be used.
    #[error("{0}")]
    Config(ConfigError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
    /// The object cannot be written as JSON.
    #[error("object cannot be encoded: {0}")]
    Encode(serde_json::Error),
    /// The request could not be sent, or the answer not be read to its end.
    #[error("{method} {target}: {cause}")]
    Transport {
        /// The HTTP method.
        method: http::Method,
        /// Path and query.
        target: String,
        /// What happened.
        cause: TransportError,
    },
    /// The write was not sent: the [`Fence`](crate::Fence) of the client said no.
    #[error("{method} {target} was not sent: {cause}")]
    Fenced {
        /// The HTTP method.
        method: http::Method,
        /// Path and query.
        target: String,
        /// Why not.
        cause: Fenced,
    },
    /// The server answered with something else than success.
    #[error("{method} {target}: {status}")]
    Status {
        /// The HTTP method.
        method: http::Method,
        /// Path and query.
        target: String,
        /// What the server said.
        status: Box<Status>,
    },
    /// The answer is not an object of the expected type.
    #[error("{method} {target}: answer cannot be decoded: {cause}")]
    Decode {
        /// The HTTP method.
        method: http::Method,
        /// Path and query.
        target: String,
        /// What was wrong.
        cause: serde_json::Error,
    },
    /// The answer to a list is not a list.
    #[error("GET {target}: {cause}")]
    List {
        /// Path and query.
        target: String,
        /// What was wrong.
        cause: ListError,
    },
    /// A watch sent something that is not an event.
    #[error("GET {target}: {cause}")]
    Watch {
        /// Path and query.
        target: String,
        /// What was wrong.
        cause: WatchError,
    },
}

/// A failure of the connection, from name resolution to the last byte of a body.
#[derive(Debug, thiserror::Error)]
#[error("{}", chain(&*self.0))]
pub struct TransportError(pub(crate) Box<dyn StdError + Send + Sync>);

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl Error {
    /// What the server said, if it answered.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The object changed meanwhile: read it again and retry.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// No such object or resource.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// The object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// The resourceVersion or continue token is too old.
    pub fn is_gone(&self) -> bool {
        self.status().is_some_and(Status::is_gone)
    }

    /// The write was not sent, since a [`Fence`](crate::Fence) said no.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Fenced { .. })
    }

    /// Nobody listens at the server's address.
    pub fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Transport { cause, .. } if cause.has_kind(io::ErrorKind::ConnectionRefused))
    }
}

impl TransportError {
    pub(crate) fn new(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(error.into())
    }

    fn has_kind(&self, kind: io::ErrorKind) -> bool {
        let mut next: Option<&(dyn StdError + 'static)> = Some(&*self.0);
        while let Some(error) = next {
            if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind) {
                return true;
            }
            next = error.source();
        }
        false
    }
}

/// An error and its causes in one line. The transport's errors each print only their own level.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let level = cause.to_string();
        if !text.ends_with(&level) {
            text.push_str(": ");
            text.push_str(&level);
        }
        next = cause.source();
    }
    text
}
