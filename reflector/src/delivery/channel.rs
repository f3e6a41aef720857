//! Changes for threads that are not on a tokio runtime.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crossbeam_channel::{Receiver, bounded};
use lariat_api::Object;

use super::{Ends, Event};

/// Wakes a thread that waits.
struct Unpark(Thread);

const BATCH: usize = 64;

/// Starts a thread that moves the changes of a queue into a channel of so many, until either is closed.
pub(crate) fn pump<K: Object>(ends: Ends<K>, capacity: usize) -> io::Result<Receiver<Event<K>>> {
    let (sender, receiver) = bounded(capacity);
    let name = format!("events of {}", ends.informer);
    thread::Builder::new().name(name).spawn(move || {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut batch = VecDeque::new();
        loop {
            while ends.queue.poll_take(&mut Context::from_waker(&waker), &mut batch, BATCH) == Poll::Pending {
                thread::park();
            }
            if batch.is_empty() {
                return;
            }
            for event in batch.drain(..) {
                let is_synced = matches!(event, Event::Synced);
                if sender.send(event).is_err() {
                    return ends.queue.cancel();
                }
                if is_synced {
                    ends.synced.send_replace(true);
                }
            }
        }
    })?;
    Ok(receiver)
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
