use std::time::Duration;

use lariat_api::{Status, StatusDetails};

/// What goes wrong; [`FaultPlan`](crate::FaultPlan) has a table of all.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_apiserver::Fault;
///
/// let slow = Fault::delay_between(Duration::from_millis(10), Duration::from_secs(2));
/// let overloaded = Fault::answer(429, "TooManyRequests", Some(1));
/// # let _ = (slow, overloaded);
/// ```
#[derive(Debug, Clone)]
pub struct Fault(pub(super) Kind);

/// How far behind reads are; for [`Fault::stale`].
///
/// # Example
///
/// ```
/// use lariat_apiserver::{Fault, Staleness};
///
/// let behind = Fault::stale(Staleness::behind(10));
/// let even_what_asks_for_the_newest = Fault::stale(Staleness::at(7).always());
/// # let _ = (behind, even_what_asks_for_the_newest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    pub(super) since: Since,
    pub(super) always: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    Behind(u64),
    At(u64),
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Delay { from: Duration, to: Duration },
    Refuse,
    Reset,
    BlackHole,
    Answer(Box<Status>),
    Cut(usize),
    LoseResponse,
    ErrorEvent { status: Box<Status>, after: u64 },
    DropBookmarks,
    DropInitialEventsEnd,
    Duplicate(Duplicates),
    Stale(Staleness),
}

/// Which events come twice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Duplicates {
    Each,
    /// Counted from 1.
    Nth(u64),
    Randomly(f64),
}

impl Fault {
    /// The request is carried out that much later.
    pub fn delay(delay: Duration) -> Self {
        Self::delay_between(delay, delay)
    }

    /// The request is carried out later by a time from `from` to `to`, to the microsecond. If `to` is less it is taken
    /// for `from`.
    pub fn delay_between(from: Duration, to: Duration) -> Self {
        Self(Kind::Delay { from, to: to.max(from) })
    }

    /// A connection is refused: [`try_connect`](crate::ApiServer::try_connect) fails, and on a port it is accepted and
    /// reset at once, since a port that listens cannot refuse one and take the next.
    ///
    /// Nothing is known of a connection, so a rule with this fault and any condition never strikes.
    pub fn refuse() -> Self {
        Self(Kind::Refuse)
    }

    /// The connection breaks when the request was read, before any byte of an answer and without any effect. Over HTTP/2
    /// the stream is reset and the connection stays.
    pub fn reset() -> Self {
        Self(Kind::Reset)
    }

    /// The request is read and nothing ever happens: no effect, no answer, and the connection stays open until the
    /// client closes it, even if the server is healed.
    pub fn black_hole() -> Self {
        Self(Kind::BlackHole)
    }

    /// The request has no effect and is answered with an HTTP status, a reason such as `TooManyRequests` (`""` for none)
    /// and, if they are given, seconds to wait (`Retry-After`).
    ///
    /// A code outside of 200 to 599 is sent as 500.
    pub fn answer(code: u16, reason: &str, retry_after: Option<u32>) -> Self {
        let details = retry_after.map(|seconds| {
            Box::new(StatusDetails { retry_after_seconds: seconds, ..StatusDetails::default() })
        });
        let mut status = Status::from_code(code, &message(code));
        reason.clone_into(&mut status.reason_text);
        Self::answer_status(Status { details, ..status })
    }

    /// The request has no effect and is answered with this status as it is, under its code. Its `details` have the
    /// seconds to wait, if any.
    ///
    /// A code outside of 200 to 599 is sent as 500.
    pub fn answer_status(mut status: Status) -> Self {
        if !(200..600).contains(&status.code) {
            status.code = 500;
        }
        Self(Kind::Answer(Box::new(status)))
    }

    /// The connection breaks when `bytes` bytes of an answer's body were sent, of a whole answer and a watch alike; 0 is
    /// after the head. A whole answer that is not longer is not cut. The client sees a broken connection, not an end.
    ///
    /// Over HTTP/2 the stream is reset, 10 ms after the bytes were handed over so that they come before the reset.
    pub fn cut(bytes: usize) -> Self {
        Self(Kind::Cut(bytes))
    }

    /// The request changes what it is to change and watchers see it, and then the connection breaks before any byte of an
    /// answer. It is for requests that write; one that fails is answered.
    pub fn lose_response() -> Self {
        Self(Kind::LoseResponse)
    }

    /// A watch ends with an event of type `ERROR` instead of its first event.
    pub fn error_event(status: Status) -> Self {
        Self::error_event_after(0, status)
    }

    /// A watch ends with an event of type `ERROR` when it has sent so many events of objects; those that were
    /// [duplicated](Self::duplicate_each) count once.
    pub fn error_event_after(events: u64, status: Status) -> Self {
        Self(Kind::ErrorEvent { status: Box::new(status), after: events })
    }

    /// A watch sends no bookmarks, that which closes the initial events (`sendInitialEvents`) included.
    pub fn drop_bookmarks() -> Self {
        Self(Kind::DropBookmarks)
    }

    /// A watch with `sendInitialEvents` never says that its initial events are over. Other bookmarks are sent.
    pub fn drop_initial_events_end() -> Self {
        Self(Kind::DropInitialEventsEnd)
    }

    /// Each event of an object comes twice.
    pub fn duplicate_each() -> Self {
        Self(Kind::Duplicate(Duplicates::Each))
    }

    /// The nth event of an object, counted from 1 in each watch, comes twice.
    pub fn duplicate_nth(n: u64) -> Self {
        Self(Kind::Duplicate(Duplicates::Nth(n)))
    }

    /// An event of an object comes twice with this probability.
    pub fn duplicate_randomly(probability: f64) -> Self {
        Self(Kind::Duplicate(Duplicates::Randomly(probability)))
    }

    /// Reads are answered as by an API server whose watch cache stands still.
    ///
    /// - A list or a get that takes any version (`resourceVersion=0`), or one that is not older than a version which the
    ///   cache has, shows the older state with the older resourceVersion.
    /// - One that asks for a newer version waits for 3 s and fails with 504, "Too large resource version". So does a watch
    ///   with `sendInitialEvents`, as an `ERROR` event, both with a newer version and without any: then it is to begin with
    ///   what is newest.
    /// - A list or a get without resourceVersion is answered by the storage, which is never behind, unless the staleness is
    ///   [`always`](Staleness::always). Lists at an exact version, scales and writes are never behind. Further pages of a
    ///   list are of the version of the first.
    /// - A watch begins with the older state (also without a version, as a real server's does) or goes on from its version,
    ///   and gets no event past the older version until the server is healed or gets another plan. Then it goes on without
    ///   loss, but for the usual 410 if what it missed is not kept any more. Its bookmarks name the older version. Watches
    ///   that were open before the plan are as before.
    ///
    /// The older state is held in memory as long as the plan is there; objects that did not change are held once.
    pub fn stale(staleness: Staleness) -> Self {
        Self(Kind::Stale(staleness))
    }
}

impl Staleness {
    /// So many writes, to any resource, before the last one when the plan is set.
    pub fn behind(writes: u64) -> Self {
        Self { since: Since::Behind(writes), always: false }
    }

    /// At a resourceVersion. One that is newer than the last when the plan is set is taken for the last, one that is
    /// compacted for the oldest that is known.
    pub fn at(resource_version: u64) -> Self {
        Self { since: Since::At(resource_version), always: false }
    }

    /// Even what asks for the newest gets the older state. A real API server never does this.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }
}

/// What a real server says when it turns requests away.
fn message(code: u16) -> String {
    match code {
        429 => "Too many requests, please try again later.".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        _ => format!("the server was told to answer {code}"),
    }
}
