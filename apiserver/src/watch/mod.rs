//! Watches: who is told of which write, and how their bodies are fed.
//!
//! A watcher has a buffer of bounded size. A write goes into it while the storage is locked, so every watcher sees all
//! writes in order; one whose buffer is full is cut off, and its client goes on from where it was. On the other side of
//! the buffer, [`Source`] says which event is next and [`WatchBody`] makes bytes of it.

mod body;
mod source;

pub(crate) use body::WatchBody;
pub(crate) use source::Source;

use std::sync::Arc;

use lariat_api::{Status, fields, labels};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::failure;
use crate::kinds::Served;
use crate::meta;
use crate::storage::{Change, Storage, Stored};

/// What a watcher sees.
pub(crate) struct Selection {
    pub(crate) served: Arc<Served>,
    /// `""` for all.
    pub(crate) namespace: String,
    pub(crate) labels: labels::Selector,
    pub(crate) fields: fields::Selector,
}

/// All watchers.
#[derive(Default)]
pub(crate) struct Watchers {
    watchers: Vec<Watcher>,
}

struct Watcher {
    selection: Selection,
    events: mpsc::Sender<Told>,
    /// The revision up to which it was told, if it is told nothing for now.
    held: Option<u64>,
}

/// An event before it is bytes.
#[derive(Clone)]
pub(crate) enum Event {
    Added(Arc<Stored>),
    Modified(Arc<Stored>),
    Deleted(Arc<Stored>),
    /// An object that left the selection, with the version in which it did.
    Left(Arc<Stored>, u64),
    /// The initial events are over.
    InitialEnd(u64),
    /// All events up to this revision were sent.
    Bookmark(u64),
    /// The watch ends with this.
    Error(Box<Status>),
}

/// What stands in a buffer.
pub(crate) enum Told {
    Event(Event),
    /// All that was missed while the watcher was held.
    Missed(Vec<Event>),
}

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
    /// Adds a watcher whose buffer holds so many events. One that is held at a revision gets none until all are released.
    pub(crate) fn add(
        &mut self,
        selection: Selection,
        buffer: usize,
        held: Option<u64>,
    ) -> mpsc::Receiver<Told> {
        let (events, receiver) = mpsc::channel(buffer.max(1));
        self.watchers.push(Watcher { selection, events, held });
        receiver
    }

    /// Tells all that are held of what they have missed.
    pub(crate) fn release(&mut self, storage: &Storage) {
        for watcher in &mut self.watchers {
            let Some(revision) = watcher.held.take() else { continue };
            let missed = missed(&watcher.selection, storage, revision, u64::MAX);
            // Its buffer is empty, so this fails only if it has left.
            let _ = watcher.events.try_send(Told::Missed(missed));
        }
    }

    /// Tells all who see it of a write. Who has left or is too slow is forgotten.
    pub(crate) fn tell(&mut self, change: &Change) {
        self.watchers.retain(|watcher| {
            if watcher.held.is_some() || watcher.selection.served.storage != change.resource {
                return !watcher.events.is_closed();
            }
            match watcher.selection.event(change) {
                Some(event) => watcher.events.try_send(Told::Event(event)).is_ok(),
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

/// The events after a revision up to another one, in order; an error if they are not all known any more.
pub(crate) fn missed(selection: &Selection, storage: &Storage, after: u64, up_to: u64) -> Vec<Event> {
    if after >= up_to {
        return Vec::new();
    }
    match storage.changes_since(after) {
        Ok(changes) => changes
            .take_while(|change| change.revision <= up_to)
            .filter(|change| change.resource == selection.served.storage)
            .filter_map(|change| selection.event(change))
            .collect(),
        Err(compacted) => {
            let message = format!("too old resource version: {after} ({})", compacted.oldest);
            vec![Event::Error(Box::new(failure::expired(message)))]
        }
    }
}

// === impl Event ===

impl Event {
    /// Whether it tells what happened to an object.
    pub(crate) fn is_of_object(&self) -> bool {
        matches!(self, Self::Added(_) | Self::Modified(_) | Self::Deleted(_) | Self::Left(..))
    }
}
