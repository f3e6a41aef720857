//! A work queue that hands out each item to one worker at a time, after client-go's.
//!
//! Here lives the queue with its delays, its rate limiters and its pools of workers. Nothing here knows Kubernetes or
//! does I/O; any program on tokio, or on plain threads, can use it. What an item means, and how it is processed, is up
//! to the caller.
//!
//! Invariants:
//!
//! * An item is never with two workers.
//! * An item that is added while it is processed is processed once more afterwards, however often it was added.
//! * A delay never ends early, and needs no thread or task to end: whoever waits for an item watches the clock.
//! * An item that was queued is handed out, even if the queue shuts down in the meantime.
//! * Adding never blocks. The queue is bounded by the number of different items.
//!
//! # Example
//!
//! ```
//! use lariat_workqueue::{Queue, Workers};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue = Queue::builder().name("fleets").build();
//! let workers = Workers::new(queue.clone(), 2).run(|key: String| async move {
//!     println!("reconciling {key}");
//!     Ok::<_, std::io::Error>(())
//! });
//! queue.add("default/a-fleet".to_owned());
//! queue.shut_down_with_drain().await;
//! workers.await;
//! # }
//! ```
//!
//! Those who know Go's queues find each of their calls in [`coming_from_client_go`].
//!
//! # How it works
//!
//! `state` is the queue proper, a synchronous state machine that is told the time: items in slots, found by `index`, in the order
//! of `ready`, or waiting in `delays`. `shared` puts it under a lock, together with `waiters`, the list of those who wait. After each operation as many waiters are woken as items are
//! queued; if anything is delayed, exactly one of the others has the timer and sleeps until the first delay ends.
//! `wait` is the one loop in which both futures and threads wait.

#![forbid(unsafe_code)]

mod builder;
mod delays;
mod desk;
mod drain;
mod index;
#[cfg(test)]
mod interleavings;
mod labels;
mod limiter;
mod limits;
mod metrics;
mod processing;
mod queue;
mod ready;
mod shared;
mod slots;
mod state;
mod sync;
mod threads;
mod wait;
mod waiters;
mod workers;

#[doc = include_str!("coming_from_client_go.md")]
pub mod coming_from_client_go {}

pub use crate::builder::{PendingDelay, QueueBuilder};
pub use crate::drain::NotDrained;
pub use crate::labels::{DURATION_BUCKETS, PriorityLabels};
pub use crate::limiter::{
    Bucket, ByFailures, ItemExponentialFailure, ItemFastSlow, MaxOf, RateLimiter, WithJitter, WithMaxWait,
    default_controller_rate_limiter, default_item_based_rate_limiter,
};
pub use crate::metrics::Metrics;
pub use crate::processing::Processing;
pub use crate::queue::{AddOptions, LOW_PRIORITY, Queue};
pub use crate::threads::WorkerThreads;
pub use crate::workers::{Workers, WorkersHandle};
