//! Calls of `get` that wait: who is woken, and what a cancelled one leaves behind.

mod support;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

use lariat_workqueue::Queue;
use tokio::task::JoinSet;

use crate::support::{Call, Random, get, waiting};

#[test]
fn a_call_that_is_cancelled_before_the_add_takes_nothing() {
    let queue = Queue::new();
    drop(waiting(&queue));
    queue.add("foo");
    assert_eq!(*get(&queue), "foo");
}

#[test]
fn a_call_that_is_cancelled_after_its_wake_up_hands_it_on() {
    let queue = Queue::new();
    let first = waiting(&queue);
    let mut second = waiting(&queue);
    queue.add("foo");
    assert!(first.is_woken() && !second.is_woken());
    drop(first);
    assert!(second.is_woken());
    assert_eq!(second.poll_item(), Some("foo"));
}

#[test]
fn a_call_that_finds_its_item_taken_keeps_its_place() {
    let queue = Queue::new();
    let mut first = waiting(&queue);
    let second = waiting(&queue);
    queue.add("foo");
    drop(get(&queue)); // by somebody who did not wait
    assert!(first.poll().is_pending());
    queue.add("bar");
    assert!(first.is_woken() && !second.is_woken());
    assert_eq!(first.poll_item(), Some("bar"));
}

#[test]
fn the_waker_of_the_last_poll_counts() {
    let queue = Queue::new();
    let (first, second) = (waiting(&Queue::<u32>::new()), waiting(&Queue::<u32>::new()));
    let mut call = Box::pin(queue.get());
    for waker in [first.waker(), second.waker()] {
        assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    queue.add(7);
    assert!(second.is_woken() && !first.is_woken());
}

#[test]
fn each_item_wakes_one() {
    let queue = Queue::new();
    let mut calls: Vec<_> = (0..10).map(|_| waiting(&queue)).collect();
    queue.add(1);
    queue.add(2);
    queue.add(2);
    assert_eq!(calls.iter().map(Call::wakes).sum::<usize>(), 2);
    assert_eq!(calls[0].poll_item(), Some(1));
    assert_eq!(calls[1].poll_item(), Some(2));
}

#[test]
fn an_item_that_is_queued_again_wakes_one() {
    let queue = Queue::new();
    queue.add("foo");
    let processing = get(&queue);
    let mut call = waiting(&queue);
    queue.add("foo");
    assert!(!call.is_woken());
    drop(processing);
    assert!(call.is_woken());
    assert_eq!(call.poll_item(), Some("foo"));
}

#[test]
fn shut_down_wakes_all() {
    let queue = Queue::<u32>::new();
    let mut calls: Vec<_> = (0..10).map(|_| waiting(&queue)).collect();
    queue.shut_down();
    for call in &mut calls {
        assert!(call.is_woken());
        assert_eq!(call.poll_item(), None);
    }
}

/// Dropping a waker may drop a task, and with it an item that is processing.
#[test]
fn wakers_are_dropped_outside_of_the_lock() {
    struct Nosy(Queue<u32>);
    impl Wake for Nosy {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Nosy {
        fn drop(&mut self) {
            self.0.add(7); // would wait forever
        }
    }
    for polls in [1, 2] {
        let queue = Queue::new();
        let mut call = Box::pin(queue.get());
        for _ in 0..polls {
            let nosy = Waker::from(Arc::new(Nosy(queue.clone())));
            assert!(call.as_mut().poll(&mut Context::from_waker(&nosy)).is_pending());
        }
        assert_eq!(queue.len(), polls - 1, "the second waker replaces the first");
        drop(call);
        assert_eq!(queue.len(), 1);
    }
}

#[test]
fn threads_that_wait_are_woken() {
    let queue = Queue::new();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            thread::spawn(move || std::iter::from_fn(|| queue.get_blocking()).map(|item| *item).sum::<u64>())
        })
        .collect();
    for item in 1..=100 {
        queue.add(item);
        thread::yield_now();
    }
    queue.shut_down_with_drain_blocking();
    let sum: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert_eq!(sum, 5050);
}

#[tokio::test]
async fn a_worker_that_always_finds_an_item_lets_others_run() {
    let queue = Queue::new();
    queue.add(0_u64);
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            while let Some(item) = queue.get().await {
                queue.add(*item + 1);
            }
        }
    });
    tokio::task::yield_now().await; // comes back, on this one thread
    queue.shut_down();
    worker.await.unwrap();
}

/// On several threads at once, with calls that are given up at any moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_are_given_up_in_parallel_lose_nothing() {
    const ITEMS: u64 = 20;
    let queue: Queue<u64> = Queue::new();
    let versions: Arc<Vec<AtomicU64>> = Arc::new((0..ITEMS).map(|_| AtomicU64::new(0)).collect());
    let seen: Arc<Vec<AtomicU64>> = Arc::new((0..ITEMS).map(|_| AtomicU64::new(0)).collect());
    let mut consumers = JoinSet::new();
    for _ in 0..8 {
        let (queue, versions, seen) = (queue.clone(), Arc::clone(&versions), Arc::clone(&seen));
        consumers.spawn(async move {
            loop {
                let item = tokio::select! {
                    item = queue.get() => item,
                    () = tokio::task::yield_now() => continue,
                };
                let Some(item) = item else { break };
                let version = versions[*item as usize].load(Ordering::SeqCst);
                tokio::task::yield_now().await;
                seen[*item as usize].store(version, Ordering::SeqCst);
            }
        });
    }
    // These wait until they get something, so an item that a lost wake-up leaves behind would be theirs.
    for _ in 0..2 {
        let (queue, versions, seen) = (queue.clone(), Arc::clone(&versions), Arc::clone(&seen));
        consumers.spawn(async move {
            while let Some(item) = queue.get().await {
                let version = versions[*item as usize].load(Ordering::SeqCst);
                seen[*item as usize].store(version, Ordering::SeqCst);
            }
        });
    }
    let mut producers = JoinSet::new();
    for seed in 0..8 {
        let (queue, versions) = (queue.clone(), Arc::clone(&versions));
        producers.spawn(async move {
            let mut random = Random(seed);
            for _ in 0..500 {
                let item = random.below(ITEMS);
                versions[item as usize].fetch_add(1, Ordering::SeqCst);
                queue.add(item);
                tokio::task::yield_now().await;
            }
        });
    }
    producers.join_all().await;
    queue.shut_down_with_drain().await;
    consumers.join_all().await;
    for (version, seen) in versions.iter().zip(seen.iter()) {
        assert_eq!(seen.load(Ordering::SeqCst), version.load(Ordering::SeqCst));
    }
}
