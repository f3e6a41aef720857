//! What several test files need. Each of them is a crate of its own and uses a part of it.
#![allow(dead_code, unreachable_pub, clippy::panic)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use lariat_workqueue::{Processing, Queue};

/// A future that is polled by hand and counts how often it is woken.
pub struct Call<R> {
    future: Pin<Box<dyn Future<Output = R> + Send>>,
    wakes: Arc<Wakes>,
    seen: usize,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<R> Call<R> {
    pub fn new(future: impl Future<Output = R> + Send + 'static) -> Self {
        Self { future: Box::pin(future), wakes: Arc::default(), seen: 0 }
    }

    pub fn poll(&mut self) -> Poll<R> {
        self.seen = self.wakes();
        let waker = self.waker();
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.wakes))
    }

    pub fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }

    /// Whether it was woken since it was last polled.
    pub fn is_woken(&self) -> bool {
        self.wakes() > self.seen
    }
}

impl<T: std::hash::Hash + Eq + Clone> Call<Option<Processing<T>>> {
    /// The item that a call of `get` returns; it is done at once.
    pub fn poll_item(&mut self) -> Option<T> {
        match self.poll() {
            Poll::Ready(item) => item.as_deref().cloned(),
            Poll::Pending => panic!("it still waits"),
        }
    }
}

/// A call of `get` that was polled once and waits.
pub fn waiting<T>(queue: &Queue<T>) -> Call<Option<Processing<T>>>
where
    T: std::hash::Hash + Eq + Clone + Send + Sync + 'static,
{
    let queue = queue.clone();
    let mut call = Call::new(async move { queue.get().await });
    assert!(call.poll().is_pending(), "there was something to get");
    call
}

/// What `get` returns at once.
pub fn get<T>(queue: &Queue<T>) -> Processing<T>
where
    T: std::hash::Hash + Eq + Clone + Send + 'static,
{
    match std::pin::pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(item)) => item,
        Poll::Ready(None) => panic!("the queue is shut down"),
        Poll::Pending => panic!("the queue is empty"),
    }
}

/// SplitMix64: the same numbers on every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
