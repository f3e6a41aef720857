//! Watches: who is told of which write, and how their bodies are fed.
//!
//! A watcher has a buffer of bounded size. A write goes into it while the storage is locked, so every watcher sees all
//! writes in order; one whose buffer is full is cut off, and its client goes on from where it was.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use lariat_api::{Status, fields, labels};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::failure;
use crate::kinds::Served;
use crate::meta;
use crate::storage::{Change, Stored};

/// What a watcher sees.
pub(crate) struct Selection {
    pub(crate) served: Arc<Served>,
    /// `""` for all.
    pub(crate) namespace: String,
    pub(crate) labels: labels::Selector,
    pub(crate) fields: fields::Selector,
}

/// Turns an object into the form that its watcher asked for.
pub(crate) type Render = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

/// All watchers.
#[derive(Default)]
pub(crate) struct Watchers {
    watchers: Vec<Watcher>,
}

struct Watcher {
    selection: Selection,
    events: mpsc::Sender<Event>,
}

/// An event as it stands in a buffer.
pub(crate) enum Event {
    Added(Arc<Stored>),
    Modified(Arc<Stored>),
    Deleted(Arc<Stored>),
    /// An object that left the selection, with the version in which it did.
    Left(Arc<Stored>, u64),
    /// The initial events are over.
    InitialEnd(u64),
    /// The watch ends with this.
    Error(Box<Status>),
}

/// The body of a watch.
pub(crate) struct WatchBody {
    /// Events that were there when the watch began, last first.
    initial: Vec<Event>,
    events: mpsc::Receiver<Event>,
    render: Render,
    /// Of bookmarks.
    api_version: String,
    kind: String,
    end: Option<Pin<Box<Sleep>>>,
    bookmark: Option<Bookmarks>,
    over: bool,
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

// === impl Selection ===

impl Selection {
    pub(crate) fn matches(&self, object: &Value) -> bool {
        (self.namespace.is_empty() || meta::namespace(object) == self.namespace)
            && self.labels.matches(&meta::Labels(object))
            && self.fields.requirements().iter().all(|requirement| {
                let is_equal = self.served.field_is(object, requirement.field(), requirement.value());
                is_equal == (requirement.operator() == fields::Operator::Equals)
            })
    }

    /// What a write is to those who see this selection.
    fn event(&self, change: &Change) -> Option<Event> {
        let before = change.before.as_ref().filter(|stored| self.matches(&stored.object));
        let after = change.after.as_ref().filter(|stored| self.matches(&stored.object));
        match (before, after) {
            (None, Some(after)) => Some(Event::Added(after.clone())),
            (Some(_), Some(after)) => Some(Event::Modified(after.clone())),
            (Some(_), None) if change.after.is_none() => Some(Event::Deleted(change.shown.clone())),
            (Some(before), None) => Some(Event::Left(before.clone(), change.revision)),
            (None, None) => None,
        }
    }
}

// === impl Watchers ===

impl Watchers {
    /// Adds a watcher whose buffer holds so many events.
    pub(crate) fn add(&mut self, selection: Selection, buffer: usize) -> mpsc::Receiver<Event> {
        let (events, receiver) = mpsc::channel(buffer.max(1));
        self.watchers.push(Watcher { selection, events });
        receiver
    }

    /// Tells all who see it of a write. Who has left or is too slow is forgotten.
    pub(crate) fn tell(&mut self, change: &Change) {
        self.watchers.retain(|watcher| {
            if watcher.selection.served.storage != change.resource {
                return !watcher.events.is_closed();
            }
            match watcher.selection.event(change) {
                Some(event) => watcher.events.try_send(event).is_ok(),
                None => true,
            }
        });
    }

    /// Ends all watches of a resource.
    pub(crate) fn end(&mut self, resource: &str) {
        self.watchers.retain(|watcher| &*watcher.selection.served.storage != resource);
    }

    /// How many watch a resource.
    pub(crate) fn count(&self, resource: &str) -> usize {
        let watching = |watcher: &&Watcher| {
            &*watcher.selection.served.storage == resource && !watcher.events.is_closed()
        };
        self.watchers.iter().filter(watching).count()
    }
}

/// The events that a watch from an earlier revision has missed, in order.
pub(crate) fn missed<'a>(
    selection: &Selection,
    changes: impl Iterator<Item = &'a Arc<Change>>,
) -> Vec<Event> {
    let of_resource = changes.filter(|change| change.resource == selection.served.storage);
    of_resource.filter_map(|change| selection.event(change)).collect()
}

// === impl WatchBody ===

impl WatchBody {
    pub(crate) fn new(
        mut initial: Vec<Event>,
        events: mpsc::Receiver<Event>,
        render: Render,
        (api_version, kind): (String, String),
        timeout: Option<Duration>,
        bookmarks: Option<Arc<AtomicU64>>,
    ) -> Self {
        initial.reverse();
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let bookmark = bookmarks.map(|revision| {
            let next = Box::pin(sleep_until(Bookmarks::next_after(Instant::now(), deadline)));
            Bookmarks { revision, next, deadline }
        });
        let end = deadline.map(|deadline| Box::pin(sleep_until(deadline)));
        Self { initial, events, render, api_version, kind, end, bookmark, over: false }
    }

    fn line(&mut self, event: Event) -> Bytes {
        let (kind, object) = match event {
            Event::Added(stored) => ("ADDED", (self.render)(&stored.object)),
            Event::Modified(stored) => ("MODIFIED", (self.render)(&stored.object)),
            Event::Deleted(stored) => ("DELETED", (self.render)(&stored.object)),
            Event::Left(stored, revision) => {
                let mut last = stored.object.clone();
                meta::set_resource_version(&mut last, revision);
                ("DELETED", (self.render)(&last))
            }
            Event::InitialEnd(revision) => {
                let mut marker = self.marker(revision);
                meta::set(&mut marker, "annotations", json!({"k8s.io/initial-events-end": "true"}));
                ("BOOKMARK", marker)
            }
            Event::Error(status) => {
                self.over = true;
                ("ERROR", failure::body(&status))
            }
        };
        encode(kind, &object)
    }

    /// The object of a bookmark.
    fn marker(&self, revision: u64) -> Value {
        json!({
            "kind": self.kind, "apiVersion": self.api_version,
            "metadata": {"resourceVersion": revision.to_string()},
        })
    }
}

impl Body for WatchBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.over {
            return Poll::Ready(None);
        }
        // Read before the buffer: a write is in all buffers before it is counted, so if the buffer is empty then all events
        // up to this revision were sent.
        let revision = self.bookmark.as_ref().map_or(0, |bookmark| bookmark.revision.load(Ordering::Acquire));
        if let Some(event) = self.initial.pop() {
            let line = self.line(event);
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        match self.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => {
                let line = self.line(event);
                return Poll::Ready(Some(Ok(Frame::data(line))));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(None);
        }
        if let Some(bookmark) = &mut self.bookmark
            && bookmark.next.as_mut().poll(cx).is_ready()
        {
            let next = Bookmarks::next_after(Instant::now(), bookmark.deadline);
            bookmark.next.as_mut().reset(next);
            let line = encode("BOOKMARK", &self.marker(revision));
            cx.waker().wake_by_ref();
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        Poll::Pending
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

fn encode(kind: &str, object: &Value) -> Bytes {
    // The type comes first, as clients that decode in one pass expect.
    let mut line = format!("{{\"type\":\"{kind}\",\"object\":").into_bytes();
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut line, object);
    line.extend_from_slice(b"}\n");
    line.into()
}
