//! Every bound of this crate, with its reason.

use std::time::Duration;

/// How long a key waits after its first failure, and at most, as in controller-runtime.
pub(crate) const BACKOFF_BASE: Duration = Duration::from_millis(5);
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(1000);

/// How long the first lists may take, as in controller-runtime.
pub(crate) const CACHE_SYNC_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a key waits for its own writes to be in the caches. A watch is milliseconds behind, or it is broken and is opened
/// again; beyond this it is better to look at the past than not to work.
pub(crate) const OWN_WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long what runs may go on after a program was told to stop, as in controller-runtime, and what a pod is given by default.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

/// The least period of a resync, as of an informer.
pub(crate) const MIN_RESYNC: Duration = Duration::from_secs(1);

/// How many keys of one kind of trouble a page of `/debug/state` shows.
pub(crate) const SHOWN_KEYS: usize = 100;

/// How many priorities a queue's depth is told apart by; all others are one. As in controller-runtime.
pub(crate) const PRIORITIES: usize = 25;

/// How many events for people may wait to be sent, as in client-go. Beyond that they are dropped.
pub(crate) const EVENT_QUEUE: usize = 1000;

/// How often an event is sent again, and how long after, as in client-go.
pub(crate) const EVENT_ATTEMPTS: u32 = 12;
pub(crate) const EVENT_RETRY: Duration = Duration::from_secs(10);

/// How long events may still be sent after everything else has ended.
pub(crate) const EVENT_FLUSH: Duration = Duration::from_secs(2);

/// How long it may take to give the leadership back: two requests.
pub(crate) const RELEASE: Duration = Duration::from_secs(5);

/// How many different events are remembered, to be counted when they come again, as in client-go.
pub(crate) const EVENT_MEMORY: usize = 4096;

/// How many connections to the port for health and metrics are served at once, so that nobody can exhaust the program by it.
pub(crate) const PORT_CONNECTIONS: usize = 64;

/// How long a client of that port may take to send its request.
pub(crate) const PORT_REQUEST: Duration = Duration::from_secs(10);

/// How many keys of a kind shared controllers handle at once, and how often their caches tell of everything again, as in Lasso.
pub(crate) const SHARED_WORKERS: usize = 5;
pub(crate) const SHARED_RESYNC: Duration = Duration::from_secs(600 * 60);
