//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Objects in one page of a list that the server answers from its database, as in client-go.
pub(crate) const PAGE_SIZE: u32 = 500;

/// The least time after which a watch is asked to end; the most is twice that. Connections move to other servers and
/// forgotten ones end, as in client-go.
pub(crate) const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A watch that ends sooner than this without an event is taken for a failure of the server.
pub(crate) const SHORT_WATCH: Duration = Duration::from_secs(1);

/// How many short watches in a row are reopened at once. Beyond that a server that accepts, sends something and hangs
/// up is asked once in [`SHORT_WATCH`].
pub(crate) const SHORT_WATCHES_AT_ONCE: u32 = 5;
