use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use lariat_api::Kind;
use tokio::time::Instant;

use crate::progress::LastError;

/// Some informers do not have their first list yet. The text names each, with what went wrong last.
///
/// # Example
///
/// ```
/// use lariat_reflector::NotSynced;
///
/// fn names(error: &NotSynced) -> Vec<&str> {
///     error.informers.iter().map(|informer| informer.name.as_str()).collect()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct NotSynced {
    /// For how long it was waited.
    pub waited: Duration,
    /// The informers, in the order in which they were made.
    pub informers: Vec<Unsynced>,
}

/// An informer that does not have its first list yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsynced {
    /// Its name.
    pub name: String,
    /// The kind of its objects.
    pub kind: Kind,
    /// Whether it was stopped, so that it will never sync.
    pub is_stopped: bool,
    /// Since when it has been trying; none if it was not started.
    pub trying_since: Option<Instant>,
    /// What went wrong last; none if nothing did, and the server has just not answered in full.
    pub last_error: Option<LastError>,
}

impl Display for NotSynced {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { waited, informers } = self;
        match informers.len() {
            1 => write!(f, "1 informer has not synced after {waited:?}: ")?,
            more => write!(f, "{more} informers have not synced after {waited:?}: ")?,
        }
        for (i, informer) in informers.iter().enumerate() {
            write!(f, "{}{informer}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Display for Unsynced {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (", self.name)?;
        match self.trying_since {
            _ if self.is_stopped => f.write_str("stopped")?,
            None => f.write_str("not started")?,
            Some(since) => write!(f, "trying for {:?}", since.elapsed())?,
        }
        match &self.last_error {
            Some(error) => write!(f, ", last error {:?} ago: {})", error.at.elapsed(), error.text),
            None => f.write_str(")"),
        }
    }
}
