//! What is done to the events of a watch, between their source and their bytes.

use std::task::{Context, Poll, ready};

use lariat_api::{Randomness, Status};

use super::active::Chosen;
use super::fault::Duplicates;
use crate::watch::{Event, Source};

/// The faults of one watch.
#[derive(Default)]
pub(crate) struct EventFaults {
    pub(super) error: Option<(u64, Box<Status>, Chosen)>,
    pub(super) bookmarks: Option<Chosen>,
    pub(super) initial_end: Option<Chosen>,
    pub(super) duplicates: Option<(Duplicates, Randomness, Chosen)>,
    /// The event that comes once more.
    again: Option<Event>,
    /// How many events of objects there were.
    sent: u64,
}

impl EventFaults {
    /// The next event that the watch sends.
    pub(crate) fn poll_next(&mut self, source: &mut Source, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.again.take() {
            return Poll::Ready(Some(event));
        }
        if let Some((after, status, chosen)) = &self.error
            && self.sent >= *after
        {
            chosen.happened();
            return Poll::Ready(Some(Event::Error(status.clone())));
        }
        loop {
            let Some(event) = ready!(source.poll_next(cx)) else { return Poll::Ready(None) };
            let dropped = match event {
                Event::InitialEnd(_) => self.bookmarks.as_ref().or(self.initial_end.as_ref()),
                Event::Bookmark(_) => self.bookmarks.as_ref(),
                _ => None,
            };
            match dropped {
                Some(chosen) => chosen.happened(),
                None => return Poll::Ready(Some(self.sent(event))),
            }
        }
    }

    fn sent(&mut self, event: Event) -> Event {
        if !event.is_of_object() {
            return event;
        }
        self.sent += 1;
        if let Some((duplicates, randomness, chosen)) = &self.duplicates {
            let is_doubled = match duplicates {
                Duplicates::Each => true,
                Duplicates::Nth(n) => self.sent == *n,
                Duplicates::Randomly(probability) => randomness.unit() < *probability,
            };
            if is_doubled {
                chosen.happened();
                self.again = Some(event.clone());
            }
        }
        event
    }
}
