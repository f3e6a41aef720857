use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use lariat_api::Object;

use super::{Ends, Event};

/// The changes of an informer's cache as a stream, in place of a handler that is called.
///
/// It begins with an [`Event::Added`] for each object that is there, then [`Event::Synced`] once the first list is told of, then
/// what changes. It ends after the informer has stopped and all is read. One that is not read holds memory for what it has
/// not told of; beyond 1,024 changes those of one object are folded together. Dropping it unsubscribes.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Kind};
/// use lariat_client::Api;
/// use lariat_fixtures::{Pace, Recording, ReplayServer, recording_path};
/// use lariat_reflector::{Event, Informer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let recording = Recording::open(recording_path("agones-buffer-autoscale"))?;
/// # let client = ReplayServer::new(recording, Pace::Unpaced).client()?;
/// let nodes = Kind::cluster("", "v1", "Node", "nodes");
/// let informer = Informer::<DynamicObject>::builder(Api::of_kind(client, nodes, "")).build();
/// let mut events = informer.subscribe()?;
/// tokio::spawn({
///     let informer = informer.clone();
///     async move { informer.run(std::future::pending()).await }
/// });
/// let mut nodes = 0;
/// while let Some(Event::Added { .. }) = events.next().await {
///     nodes += 1;
/// }
/// assert_eq!(nodes, 20);
/// # Ok(())
/// # }
/// ```
pub struct Subscription<K: Object> {
    ends: Ends<K>,
    batch: VecDeque<Event<K>>,
}

/// How many changes are taken from the queue at once.
const BATCH: usize = 64;

impl<K: Object> Subscription<K> {
    pub(crate) fn new(ends: Ends<K>) -> Self {
        Self { ends, batch: VecDeque::new() }
    }

    /// The next change; none once the informer has stopped and all is read.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Option<Event<K>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        if self.batch.is_empty() {
            std::task::ready!(self.ends.queue.poll_take(cx, &mut self.batch, BATCH));
        }
        let event = self.batch.pop_front();
        if matches!(event, Some(Event::Synced)) {
            self.ends.synced.send_replace(true);
        }
        Poll::Ready(event)
    }
}

impl<K: Object> Stream for Subscription<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        self.poll_event(cx)
    }
}

impl<K: Object> Drop for Subscription<K> {
    fn drop(&mut self) {
        self.ends.queue.cancel();
    }
}

impl<K: Object> Debug for Subscription<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("informer", &self.ends.informer).finish_non_exhaustive()
    }
}
