//! What comes next in a watch: initial events, the buffer, bookmarks when they are due, and the end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Event, Told};

/// The events of a watch in the order in which they are sent.
pub(crate) struct Source {
    /// Events that are there already, last first.
    ready: Vec<Event>,
    buffer: mpsc::Receiver<Told>,
    end: Option<Pin<Box<Sleep>>>,
    bookmarks: Option<Bookmarks>,
    /// The revision that bookmarks name while the watch is held.
    held: Option<u64>,
}

/// When bookmarks are due.
struct Bookmarks {
    revision: Arc<AtomicU64>,
    next: Pin<Box<Sleep>>,
    deadline: Option<Instant>,
}

/// How often a watch is told how far it has come.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);

/// How long before its end a watch gets its last bookmarks, the second one a second later.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
const LAST_BOOKMARK_AGAIN: Duration = Duration::from_secs(1);

impl Source {
    /// Events that are there already, and then those of a buffer. Bookmarks are sent if the revision up to which all
    /// watchers were told is given.
    pub(crate) fn new(
        mut initial: Vec<Event>,
        buffer: mpsc::Receiver<Told>,
        held: Option<u64>,
        timeout: Option<Duration>,
        bookmarks: Option<Arc<AtomicU64>>,
    ) -> Self {
        initial.reverse();
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let bookmarks = bookmarks.map(|revision| {
            let next = Box::pin(sleep_until(Bookmarks::next_after(Instant::now(), deadline)));
            Bookmarks { revision, next, deadline }
        });
        let end = deadline.map(|deadline| Box::pin(sleep_until(deadline)));
        Self { ready: initial, buffer, end, bookmarks, held }
    }

    /// The next event, none at the end of the watch.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        // Read before the buffer: a write is in all buffers before it is counted, so if the buffer is empty then all events
        // up to this revision were sent.
        let revision =
            self.bookmarks.as_ref().map_or(0, |bookmarks| bookmarks.revision.load(Ordering::Acquire));
        loop {
            if let Some(event) = self.ready.pop() {
                return Poll::Ready(Some(event));
            }
            match self.buffer.poll_recv(cx) {
                Poll::Ready(Some(Told::Missed(mut missed))) => {
                    missed.reverse();
                    self.ready = missed;
                    self.held = None;
                }
                Poll::Ready(Some(Told::Event(event))) => return Poll::Ready(Some(event)),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(None);
        }
        let Some(bookmarks) = &mut self.bookmarks else { return Poll::Pending };
        ready!(bookmarks.next.as_mut().poll(cx));
        let next = Bookmarks::next_after(Instant::now(), bookmarks.deadline);
        bookmarks.next.as_mut().reset(next);
        Poll::Ready(Some(Event::Bookmark(self.held.unwrap_or(revision))))
    }
}

impl Bookmarks {
    /// The first time after `now` at which a bookmark is due.
    fn next_after(now: Instant, deadline: Option<Instant>) -> Instant {
        let regular = now + BOOKMARK_PERIOD;
        let Some(deadline) = deadline else { return regular };
        let last = [LAST_BOOKMARK, LAST_BOOKMARK_AGAIN].map(|before| deadline.checked_sub(before));
        let next = last.into_iter().flatten().find(|at| *at > now);
        next.map_or(regular, |next| next.min(regular))
    }
}
