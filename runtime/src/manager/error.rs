use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use lariat_api::ObjectKey;
use lariat_reflector::NotSynced;

use super::BoxError;

/// Why something cannot be added to a manager.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// There is something of this name.
    #[error("there is a controller or runnable {0:?} already: give each a name of its own")]
    Duplicate(String),
    /// The manager has stopped, or is about to.
    #[error("{0:?} comes too late: the manager has stopped")]
    Stopped(String),
}

/// Why a manager has ended, other than by being told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// It has run before.
    #[error("a manager runs once")]
    RanBefore,
    /// The selection names controllers that there are not.
    #[error("no controllers {}: there are {}", .unknown.join(", "), .known.join(", "))]
    UnknownControllers {
        /// The names that are unknown.
        unknown: Vec<String>,
        /// Those that are known.
        known: Vec<String>,
    },
    /// It cannot listen where it should.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The first lists took too long.
    #[error("{0}")]
    NotSynced(NotSynced),
    /// A controller or runnable has ended with an error.
    #[error("{name}: {cause}")]
    Failed {
        /// Its name.
        name: String,
        /// The error.
        cause: BoxError,
    },
    /// A controller or runnable panicked outside of a handler.
    #[error("{name} panicked: {panic}")]
    Panicked {
        /// Its name.
        name: String,
        /// What the panic said.
        panic: String,
    },
    /// The elector has failed.
    #[error("elector {name:?}: {cause}")]
    Elector {
        /// Its name.
        name: String,
        /// The error.
        cause: BoxError,
    },
    /// This process leads no more. What needed it was ended at once; the process should end too.
    #[error("leadership of {name:?} was lost: {reason}")]
    LeadershipLost {
        /// The name of the elector.
        name: String,
        /// What the elector said.
        reason: String,
    },
}

/// How a manager stopped that was told to.
///
/// # Example
///
/// ```
/// let stopped = lariat::Stopped::default();
/// assert!(stopped.left.is_empty() && stopped.overdue.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// The keys that were queued, delayed or being handled and whose handling is not complete, by controller. Nothing is lost
    /// by that: the next start lists everything anew.
    pub left: Vec<Left>,
    /// The controllers and runnables that had not ended when the time of grace was over, and were ended then.
    pub overdue: Vec<String>,
}

/// What a controller did not handle before it stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// The controller.
    pub controller: String,
    /// The keys.
    pub keys: BTreeSet<ObjectKey>,
}

impl Left {
    pub(super) fn new(controller: &str, keys: BTreeSet<ObjectKey>) -> Self {
        Self { controller: controller.to_owned(), keys }
    }
}
