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

/// How many changes a handler may be behind before those of one object are folded together: what client-go's buffers begin
/// with. Shorter queues hold every change.
pub(crate) const COALESCE_FROM: usize = 1024;

/// How many events of a watch are applied in one step, if so many are here: some 300 KiB of JSON. Meanwhile the store cannot be
/// read; that takes some ten microseconds.
pub(crate) const EVENTS_AT_ONCE: usize = 128;

/// The least period of a resync, as in client-go.
pub(crate) const MIN_RESYNC: Duration = Duration::from_secs(1);

/// How long a watch may be silent before its connection is taken for dead and it is opened again from where it was. A server
/// sends a bookmark about once a minute; opening again costs one request and no list.
pub(crate) const IDLE_WATCH: Duration = Duration::from_secs(3 * 60);

/// How long a server may take to begin its answer, or to go on with a list. It ends requests itself after a minute.
pub(crate) const SILENCE: Duration = Duration::from_secs(90);

/// How often in a row a streaming list that ends before it is complete is begun again before the objects are listed.
pub(crate) const STREAMING_ATTEMPTS: u32 = 5;

/// How many of these are begun at once, as client-go begins all of them.
pub(crate) const STREAMING_AT_ONCE: u32 = 2;

/// How long a streaming list may be silent before it is given up and the objects are listed: the server may not know what it
/// was asked for, and watch only.
pub(crate) const SILENT_STREAMING: Duration = Duration::from_secs(60);

/// How often it is logged that a streaming list goes on without an end, as in client-go.
pub(crate) const STREAMING_WARNING: Duration = Duration::from_secs(10);

/// How long after one internal error in a watch another one begins a new series, as in client-go.
pub(crate) const INTERNAL_ERROR_SERIES: Duration = Duration::from_secs(60);

/// How many own writes a mutation cache keeps over an informer's, as in client-go.
pub(crate) const MUTATION_CACHE_CAPACITY: usize = 100;

/// For how long it keeps them, as in client-go.
pub(crate) const MUTATION_CACHE_TTL: Duration = Duration::from_secs(5 * 60);
