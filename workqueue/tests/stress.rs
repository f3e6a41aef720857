//! Many producers and workers at once, on several threads.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use lariat_workqueue::{AddOptions, Processing, Queue};
use tokio::task::{JoinSet, yield_now};

use crate::support::Random;

const PRODUCERS: u64 = 8;
const WORKERS: usize = 64;
const ITEMS: u64 = 300;
const ADDITIONS: u64 = 40_000;

/// What is known of each item.
#[derive(Default)]
struct Item {
    added: AtomicU64,
    seen: AtomicU64,
    with_worker: AtomicBool,
}

struct Story {
    queue: Queue<u64>,
    items: Vec<Item>,
}

impl Story {
    fn new() -> Arc<Self> {
        let items = (0..ITEMS).map(|_| Item::default()).collect();
        Arc::new(Self { queue: Queue::new(), items })
    }

    fn item(&self, number: u64) -> &Item {
        &self.items[number as usize]
    }

    fn add(&self, random: &mut Random) {
        let number = random.below(ITEMS);
        let priority = random.below(3) as i32;
        self.item(number).added.fetch_add(1, Ordering::SeqCst);
        self.queue.add_with(number, AddOptions { priority, ..AddOptions::default() });
    }

    fn begin(&self, number: u64) -> u64 {
        let item = self.item(number);
        assert!(!item.with_worker.swap(true, Ordering::SeqCst), "WQ-4: {number} is with two workers");
        item.added.load(Ordering::SeqCst)
    }

    fn end(&self, processing: Processing<u64>, version: u64) {
        let item = self.item(*processing);
        item.seen.store(version, Ordering::SeqCst);
        item.with_worker.store(false, Ordering::SeqCst);
        drop(processing);
    }

    fn check(&self) {
        for (number, item) in self.items.iter().enumerate() {
            let (added, seen) = (item.added.load(Ordering::SeqCst), item.seen.load(Ordering::SeqCst));
            assert_eq!(seen, added, "WQ-2, WQ-4: {number} was processed after its last addition");
        }
        assert!(self.queue.is_empty());
    }
}

/// WQ-1, WQ-2, WQ-4, WQ-6
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_lose_nothing_and_double_nobody() {
    let story = Story::new();
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (story, queue) = (Arc::clone(&story), story.queue.clone());
        workers.spawn(async move {
            while let Some(processing) = queue.get().await {
                let version = story.begin(*processing);
                if version % 3 == 0 {
                    yield_now().await;
                }
                story.end(processing, version);
            }
        });
    }
    let mut producers = JoinSet::new();
    for seed in 0..PRODUCERS {
        let story = Arc::clone(&story);
        producers.spawn(async move {
            let mut random = Random(seed);
            for _ in 0..ADDITIONS {
                story.add(&mut random);
                if random.below(4) == 0 {
                    yield_now().await;
                }
            }
        });
    }
    producers.join_all().await;
    story.queue.shut_down_with_drain().await;
    story.check();
    workers.join_all().await;
}

/// WQ-1, WQ-2, WQ-4, WQ-6
#[test]
fn threads_lose_nothing_and_double_nobody() {
    let story = Story::new();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            let (story, queue) = (Arc::clone(&story), story.queue.clone());
            scope.spawn(move || {
                while let Some(processing) = queue.get_blocking() {
                    let version = story.begin(*processing);
                    if version % 3 == 0 {
                        thread::yield_now();
                    }
                    story.end(processing, version);
                }
            });
        }
        thread::scope(|scope| {
            for seed in 0..PRODUCERS {
                let story = Arc::clone(&story);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    (0..ADDITIONS).for_each(|_| story.add(&mut random));
                });
            }
        });
        story.queue.shut_down_with_drain_blocking();
        story.check();
    });
}
