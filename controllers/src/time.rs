//! Times as Kubernetes writes them.

use std::time::SystemTime;

use jiff::Timestamp;

/// Whole seconds in UTC.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::MAX)
}
