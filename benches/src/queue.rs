//! The shapes in which the work queue is measured: those of client-go's own benchmarks.
//!
//! `benches/workqueue.rs` runs them under criterion, `peers/run-queue` next to the same shapes in Go. One operation is one call, or one
//! item from its addition until it is done. Items are shared keys, as a controller's are, and are made before the clock runs.

#![allow(clippy::disallowed_methods, reason = "a measurement is of the real time")]

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};

/// What an item is.
pub type Key = Arc<str>;

/// A way to use a queue.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// What is done.
    pub name: &'static str,
    /// The benchmark of the Go programs that does the same.
    pub peer: &'static str,
    /// How many times as long as Lariat that should take at least.
    pub goal: f64,
    /// How long so many operations take.
    pub run: fn(operations: u64) -> Duration,
}

/// All of them.
pub const SHAPES: &[Shape] = &[
    shape("add, get, done", "OneThread", 2.0, one_thread),
    shape("duplicate add", "DuplicateAdd", 1.0, duplicate_add),
    shape("add_after, 0 pending", "AddAfter/0", 1.0, |count| add_after(count, 0)),
    shape("add_after, 100,000 pending", "AddAfter/100000", 1.0, |count| add_after(count, 100_000)),
    shape("add_after, 1,000,000 pending", "AddAfter/1000000", 10.0, |count| add_after(count, 1_000_000)),
    shape("add_rate_limited, new keys", "AddRateLimited", 10.0, add_rate_limited),
    shape("add_rate_limited, pending keys", "AddRateLimitedAgain", 10.0, add_rate_limited_again),
    shape("1x1 tasks", "ManyThreads/1x1", 1.0, |items| tasks(items, 1, 1, plain)),
    shape("4x4 tasks", "ManyThreads/4x4", 6.0, |items| tasks(items, 4, 4, plain)),
    shape("8x8 tasks", "ManyThreads/8x8", 6.0, |items| tasks(items, 8, 8, plain)),
    shape("8x64 tasks", "ManyThreads/8x64", 1.0, |items| tasks(items, 8, 64, plain)),
    shape("1x1 threads", "ManyThreads/1x1", 1.0, |items| threads(items, 1, 1)),
    shape("4x4 threads", "ManyThreads/4x4", 1.0, |items| threads(items, 4, 4)),
    shape("8x8 threads", "ManyThreads/8x8", 1.0, |items| threads(items, 8, 8)),
    shape("8x64 threads", "ManyThreads/8x64", 1.0, |items| threads(items, 8, 64)),
    shape("priorities: add, get, done", "PriorityOneThread", 10.0, priority_one_thread),
    shape("priorities: 4x4 tasks", "PriorityManyThreads", 10.0, |items| tasks(items, 4, 4, priority)),
];

const fn shape(name: &'static str, peer: &'static str, goal: f64, run: fn(u64) -> Duration) -> Shape {
    Shape { name, peer, goal, run }
}

/// As long as a namespace and a generated name: 37 bytes.
fn keys(first: u64, count: u64) -> Vec<Key> {
    (first..first + count).map(|number| format!("default/simple-game-server-{number:010}").into()).collect()
}

/// From a minute to an hour and some, so that none ends meanwhile.
fn delays() -> impl FnMut() -> Duration {
    let mut seed = 1_u64;
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(60_000 + (seed >> 33) % 4_000_000)
    }
}

fn plain(queue: &Queue<Key>, key: Key, _number: usize) {
    queue.add(key);
}

fn priority(queue: &Queue<Key>, key: Key, number: usize) {
    let priority = [0, LOW_PRIORITY, 0, 10][number % 4];
    queue.add_with(key, AddOptions { priority, ..AddOptions::default() });
}

fn timed(operations: impl FnOnce()) -> Duration {
    let began = Instant::now();
    operations();
    began.elapsed()
}

fn in_turn(operations: u64, mut operate: impl FnMut(&Key, usize)) -> Duration {
    let keys = keys(0, 1_000);
    timed(|| {
        let mut next = 0;
        for _ in 0..operations {
            operate(&keys[next], next);
            next = if next + 1 == keys.len() { 0 } else { next + 1 };
        }
    })
}

fn one_thread(operations: u64) -> Duration {
    let queue = Queue::new();
    in_turn(operations, |key, _| {
        queue.add(key.clone());
        drop(black_box(queue.get_blocking()));
    })
}

fn priority_one_thread(operations: u64) -> Duration {
    let queue = Queue::new();
    in_turn(operations, |key, number| {
        priority(&queue, key.clone(), number);
        drop(black_box(queue.get_blocking()));
    })
}

fn duplicate_add(operations: u64) -> Duration {
    let queue = Queue::new();
    let key = keys(0, 1).remove(0);
    queue.add(key.clone());
    timed(|| (0..operations).for_each(|_| queue.add(black_box(&key).clone())))
}

fn add_after(operations: u64, pending: u64) -> Duration {
    let queue = Queue::new();
    let mut delay = delays();
    keys(0, pending).into_iter().for_each(|key| queue.add_after(key, delay()));
    let new = keys(pending, operations);
    timed(|| new.into_iter().for_each(|key| queue.add_after(key, delay())))
}

/// New keys, each of which is charged and delayed for the first time.
fn add_rate_limited(operations: u64) -> Duration {
    let queue = Queue::new();
    let new = keys(0, operations);
    timed(|| new.into_iter().for_each(|key| queue.add_rate_limited(key)))
}

/// Keys that wait already.
fn add_rate_limited_again(operations: u64) -> Duration {
    let queue = Queue::new();
    in_turn(operations, |key, _| queue.add_rate_limited(key.clone()))
}

/// So many items in as many parts as there are producers.
fn parts(items: u64, producers: u64) -> Vec<Vec<Key>> {
    let bound = |producer| items * producer / producers;
    (0..producers).map(|producer| keys(bound(producer), bound(producer + 1) - bound(producer))).collect()
}

/// Items that are added by some tasks and taken by others, until the last one is done: what goroutines are in Rust. As many
/// threads run them as there are cores.
fn tasks(items: u64, producers: u64, workers: u64, add: fn(&Queue<Key>, Key, usize)) -> Duration {
    #[allow(clippy::expect_used, reason = "nothing can be measured then")]
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let parts = parts(items, producers);
    let queue: Queue<Key> = Queue::new();
    let began = Instant::now();
    runtime.block_on(async {
        let mut working = tokio::task::JoinSet::new();
        for _ in 0..workers {
            let queue = queue.clone();
            working.spawn(async move {
                while let Some(item) = queue.get().await {
                    drop(black_box(item));
                }
            });
        }
        let mut producing = tokio::task::JoinSet::new();
        for keys in parts {
            let queue = queue.clone();
            producing.spawn(async move {
                keys.into_iter().enumerate().for_each(|(number, key)| add(&queue, key, number));
            });
        }
        producing.join_all().await;
        queue.shut_down();
        working.join_all().await;
    });
    began.elapsed()
}

/// The same with threads of the operating system.
fn threads(items: u64, producers: u64, workers: u64) -> Duration {
    let parts = parts(items, producers);
    let queue: Queue<Key> = Queue::new();
    timed(|| {
        thread::scope(|scope| {
            for _ in 0..workers {
                let queue = queue.clone();
                scope.spawn(move || {
                    while let Some(item) = queue.get_blocking() {
                        drop(black_box(item));
                    }
                });
            }
            thread::scope(|scope| {
                for keys in parts {
                    let queue = queue.clone();
                    scope.spawn(move || keys.into_iter().for_each(|key| queue.add(key)));
                }
            });
            queue.shut_down();
        });
    })
}
