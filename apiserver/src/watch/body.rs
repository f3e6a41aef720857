//! Events as the bytes of an answer, a line each.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use serde_json::{Value, json};

use super::{Event, Source};
use crate::faults::EventFaults;
use crate::{failure, meta};

/// Turns an object into the form that its watcher asked for.
pub(crate) type Render = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

/// The body of a watch.
pub(crate) struct WatchBody {
    source: Source,
    faults: Option<Box<EventFaults>>,
    render: Render,
    /// Of bookmarks.
    api_version: String,
    kind: String,
    over: bool,
}

impl WatchBody {
    pub(crate) fn new(source: Source, render: Render, (api_version, kind): (String, String)) -> Self {
        Self { source, faults: None, render, api_version, kind, over: false }
    }

    /// Has something done to the events before they are sent.
    pub(crate) fn set_faults(&mut self, faults: Option<Box<EventFaults>>) {
        self.faults = faults;
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match &mut self.faults {
            None => self.source.poll_next(cx),
            Some(faults) => faults.poll_next(&mut self.source, cx),
        }
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
            Event::Bookmark(revision) => ("BOOKMARK", self.marker(revision)),
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
        let Some(event) = ready!(self.poll_event(cx)) else {
            self.over = true;
            return Poll::Ready(None);
        };
        let line = self.line(event);
        Poll::Ready(Some(Ok(Frame::data(line))))
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
