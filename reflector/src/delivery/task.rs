//! The task that calls one handler.

use std::any::Any;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;

use lariat_api::Object;
use tokio::task::JoinSet;

use super::{Ends, Event, Queue};
use crate::handler::EventHandler;
use crate::metrics::Metrics;

/// What is called.
pub(crate) enum Handler<K> {
    Sync(Arc<dyn EventHandler<K>>),
    Async(AsyncHandler<K>),
}

/// A closure that returns a future.
pub(crate) type AsyncHandler<K> = Box<dyn FnMut(Event<K>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// The receiving end of a queue, with the handler.
pub(crate) struct Delivery<K> {
    pub(crate) ends: Ends<K>,
    pub(crate) handler: Handler<K>,
    pub(crate) metrics: Arc<dyn Metrics>,
}

/// How many changes are taken from the queue at once.
const BATCH: usize = 64;

impl<K: Object> Delivery<K> {
    /// Has a task call the handler until its queue is closed and empty.
    pub(crate) fn spawn(self, on: &mut JoinSet<()>) {
        spawn(Box::pin(self.run()), on);
    }

    pub(crate) async fn run(mut self) {
        let queue: Arc<Queue<K>> = self.ends.queue.clone();
        let mut batch = VecDeque::new();
        loop {
            poll_fn(|cx| queue.poll_take(cx, &mut batch, BATCH)).await;
            if batch.is_empty() {
                return;
            }
            for event in batch.drain(..) {
                if queue.is_cancelled() {
                    return;
                }
                self.deliver(event).await;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn deliver(&mut self, event: Event<K>) {
        if matches!(event, Event::Synced) {
            self.ends.synced.send_replace(true);
            if matches!(self.handler, Handler::Sync(_)) {
                return;
            }
        }
        let outcome = match &mut self.handler {
            Handler::Sync(handler) => panic::catch_unwind(AssertUnwindSafe(|| call(&**handler, &event))),
            Handler::Async(handler) => match panic::catch_unwind(AssertUnwindSafe(|| handler(event))) {
                Ok(called) => caught(called).await,
                Err(panicked) => Err(panicked),
            },
        };
        // The panic hook has said what and where; here the story goes on for the other objects.
        if outcome.is_err() {
            self.metrics.handler_panicked(&self.ends.informer);
            let informer = &*self.ends.informer;
            tracing::error!(informer, "an event handler panicked; its later calls still come");
        }
    }
}

/// A future of one type, since for each other one tokio's tasks would be compiled anew.
fn spawn(run: Pin<Box<dyn Future<Output = ()> + Send>>, on: &mut JoinSet<()>) {
    on.spawn(run);
}

fn call<K: Object>(handler: &dyn EventHandler<K>, event: &Event<K>) {
    match event {
        Event::Added { object, is_in_initial_list } => handler.on_add(object, *is_in_initial_list),
        Event::Updated { old, new } => handler.on_update(old, new),
        Event::Deleted(deleted) => handler.on_delete(deleted),
        Event::Synced => {}
    }
}

/// Waits for a future, and for its panic too.
async fn caught(mut future: Pin<Box<dyn Future<Output = ()> + Send>>) -> Result<(), Box<dyn Any + Send>> {
    poll_fn(|cx| match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panicked) => std::task::Poll::Ready(Err(panicked)),
    })
    .await
}
