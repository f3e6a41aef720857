//! The plain queue: order, de-duplication, shutdown and drain.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lariat_workqueue::{NotDrained, Processing, Queue};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::support::{Call, get};

/// TestBasic
#[tokio::test(start_paused = true)]
async fn fifty_producers_and_ten_consumers() {
    for drain in [false, true] {
        let queue = Queue::<usize>::new();
        let in_hand: Arc<Vec<AtomicBool>> = Arc::new((0..50).map(|_| AtomicBool::new(false)).collect());
        let handled: Arc<Vec<AtomicU64>> = Arc::new((0..50).map(|_| AtomicU64::new(0)).collect());
        let mut consumers = JoinSet::new();
        for _ in 0..10 {
            let (queue, in_hand, handled) = (queue.clone(), Arc::clone(&in_hand), Arc::clone(&handled));
            consumers.spawn(async move {
                while let Some(item) = queue.get().await {
                    assert_ne!(*item, usize::MAX, "added after shutdown");
                    assert!(!in_hand[*item].swap(true, Ordering::SeqCst), "WQ-4: {} with two workers", *item);
                    sleep(Duration::from_millis(3)).await;
                    in_hand[*item].store(false, Ordering::SeqCst);
                    handled[*item].fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let mut producers = JoinSet::new();
        for producer in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move {
                for _ in 0..50 {
                    queue.add(producer);
                    sleep(Duration::from_millis(1)).await;
                }
            });
        }
        producers.join_all().await;
        if drain {
            queue.shut_down_with_drain().await;
            assert!(in_hand.iter().all(|item| !item.load(Ordering::SeqCst)));
        } else {
            queue.shut_down();
        }
        queue.add(usize::MAX);
        consumers.join_all().await;
        assert_eq!(queue.len(), 0);
        for (item, count) in handled.iter().enumerate() {
            assert!((1..=50).contains(&count.load(Ordering::SeqCst)), "{item}: {count:?}");
        }
    }
}

/// TestBasic on threads, where the order is up to the machine: nobody is doubled, and every add is followed by a run.
#[test]
fn threads_lose_nothing_and_double_nobody() {
    #[derive(Default)]
    struct Item {
        version: AtomicU64,
        seen: AtomicU64,
        in_hand: AtomicBool,
    }
    const ITEMS: usize = 20;
    let items: Arc<Vec<Item>> = Arc::new((0..ITEMS).map(|_| Item::default()).collect());
    let queue: Queue<usize> = Queue::new();
    let consumers: Vec<_> = (0..10)
        .map(|_| {
            let (queue, items) = (queue.clone(), Arc::clone(&items));
            thread::spawn(move || {
                while let Some(got) = queue.get_blocking() {
                    let item = &items[*got];
                    assert!(!item.in_hand.swap(true, Ordering::SeqCst), "WQ-4");
                    item.seen.store(item.version.load(Ordering::SeqCst), Ordering::SeqCst);
                    thread::yield_now();
                    item.in_hand.store(false, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let producers: Vec<_> = (0..50)
        .map(|seed| {
            let (queue, items) = (queue.clone(), Arc::clone(&items));
            thread::spawn(move || {
                let mut random = support::Random(seed);
                for _ in 0..200 {
                    let item = random.below(ITEMS as u64) as usize;
                    items[item].version.fetch_add(1, Ordering::SeqCst);
                    queue.add(item);
                }
            })
        })
        .collect();
    for producer in producers {
        producer.join().unwrap();
    }
    queue.shut_down_with_drain_blocking();
    for item in items.iter() {
        assert_eq!(item.seen.load(Ordering::SeqCst), item.version.load(Ordering::SeqCst));
    }
    for consumer in consumers {
        consumer.join().unwrap();
    }
}

/// TestAddWhileProcessing
#[tokio::test(start_paused = true)]
async fn an_item_added_while_processing_is_processed_once_more() {
    let queue = Queue::<usize>::new();
    let runs: Arc<Vec<AtomicU64>> = Arc::new((0..50).map(|_| AtomicU64::new(0)).collect());
    let mut consumers = JoinSet::new();
    for _ in 0..10 {
        let (queue, runs) = (queue.clone(), Arc::clone(&runs));
        consumers.spawn(async move {
            while let Some(item) = queue.get().await {
                if runs[*item].fetch_add(1, Ordering::SeqCst) == 0 {
                    queue.add(*item);
                    queue.add(*item);
                }
                sleep(Duration::from_millis(1)).await;
            }
        });
    }
    for item in 0..50 {
        queue.add(item);
    }
    sleep(Duration::from_secs(1)).await;
    queue.shut_down_with_drain().await;
    consumers.join_all().await;
    assert!(runs.iter().all(|count| count.load(Ordering::SeqCst) == 2), "WQ-4: once more, not twice");
}

/// TestLen
#[test]
fn len_counts_what_is_queued_once() {
    let queue = Queue::new();
    queue.add("foo");
    assert_eq!(queue.len(), 1);
    queue.add("bar");
    assert_eq!(queue.len(), 2);
    queue.add("foo");
    assert_eq!(queue.len(), 2);
    let processing = get(&queue);
    assert_eq!(queue.len(), 1, "WQ-7");
    queue.add(*processing);
    assert_eq!(queue.len(), 1, "WQ-7: dirty, but not queued");
}

/// TestReinsert
#[test]
fn an_item_added_while_processing_appears_when_it_is_done() {
    let queue = Queue::new();
    queue.add("foo");
    let first = get(&queue);
    queue.add("foo");
    assert!(queue.is_empty());
    drop(first);
    assert_eq!(*get(&queue), "foo");
    assert!(queue.is_empty());
}

/// TestCollapse
#[test]
fn adds_collapse() {
    let queue = Queue::new();
    queue.add("bar");
    queue.add("bar");
    drop(get(&queue));
    assert!(queue.is_empty());
}

/// TestCollapseWhileProcessing
#[test]
fn adds_while_processing_collapse() {
    let queue = Queue::new();
    queue.add("bar");
    let first = get(&queue);
    queue.add("bar");
    queue.add("bar");
    drop(first);
    drop(get(&queue));
    assert!(queue.is_empty());
}

#[test]
fn items_leave_in_the_order_in_which_they_were_queued() {
    let queue = Queue::new();
    for item in [3, 1, 2, 1, 3] {
        queue.add(item);
    }
    assert_eq!([*get(&queue), *get(&queue), *get(&queue)], [3, 1, 2], "WQ-10");
}

/// TestQueueDrainageUsingShutDownWithDrain
#[test]
fn a_drain_waits_for_all_that_is_processing() {
    let queue = Queue::new();
    queue.add("foo");
    queue.add("bar");
    let (foo, bar) = (get(&queue), get(&queue));
    let mut drain = Call::new(queue.shut_down_with_drain());
    assert!(drain.poll().is_pending());
    drop(foo);
    assert!(drain.poll().is_pending());
    drop(bar);
    assert!(drain.is_woken());
    assert!(drain.poll().is_ready());
}

#[test]
fn a_drain_waits_for_what_is_queued() {
    let queue = Queue::new();
    queue.add("foo");
    queue.add("bar");
    let mut drain = Call::new(queue.shut_down_with_drain());
    assert!(drain.poll().is_pending(), "WQ-6");
    drop(get(&queue));
    assert!(drain.poll().is_pending(), "WQ-6: nothing is processing, but bar is queued");
    drop(get(&queue));
    assert!(drain.poll().is_ready());
}

/// TestNoQueueDrainageUsingShutDown
#[test]
fn shut_down_waits_for_nobody_and_hands_out_what_is_queued() {
    let queue = Queue::new();
    queue.add("foo");
    queue.add("bar");
    let foo = get(&queue);
    queue.shut_down();
    queue.shut_down(); // WQ-5
    assert!(queue.is_shutting_down());
    queue.add("baz");
    assert_eq!(*queue.get_blocking().unwrap(), "bar", "WQ-3");
    assert!(queue.get_blocking().is_none());
    drop(foo);
}

/// TestForceQueueShutdownUsingShutDown
#[test]
fn shut_down_releases_a_drain() {
    let queue = Queue::new();
    queue.add("foo");
    let _foo = get(&queue);
    let mut drains = [Call::new(queue.shut_down_with_drain()), Call::new(queue.shut_down_with_drain())];
    assert!(drains.iter_mut().all(|drain| drain.poll().is_pending()));
    queue.shut_down();
    assert!(drains.iter().all(Call::is_woken));
    assert!(drains.iter_mut().all(|drain| drain.poll().is_ready()), "WQ-5");

    let mut later = Call::new(queue.shut_down_with_drain());
    assert!(later.poll().is_pending(), "only a drain in progress is released");
}

#[test]
fn shut_down_releases_a_drain_of_a_thread() {
    let queue = Queue::new();
    queue.add("foo");
    let _foo = get(&queue);
    let drain = thread::spawn({
        let queue = queue.clone();
        move || queue.shut_down_with_drain_blocking()
    });
    while !queue.is_shutting_down() {
        thread::yield_now();
    }
    queue.shut_down();
    drain.join().unwrap();
}

/// TestQueueDrainageUsingShutDownWithDrainWithDirtyItem
#[test]
fn a_drain_waits_for_a_dirty_item() {
    let queue = Queue::new();
    queue.add("foo");
    let foo = get(&queue);
    queue.add("foo");
    let mut drain = Call::new(queue.shut_down_with_drain());
    assert!(drain.poll().is_pending());
    drop(foo);
    assert!(drain.poll().is_pending(), "queued again");
    let again = get(&queue);
    assert!(drain.poll().is_pending());
    drop(again);
    assert!(drain.poll().is_ready());
}

#[test]
fn a_cancelled_drain_leaves_the_intake_closed() {
    let queue = Queue::new();
    queue.add("foo");
    let mut drain = Call::new(queue.shut_down_with_drain());
    assert!(queue.is_shutting_down(), "before the first poll");
    assert!(drain.poll().is_pending());
    drop(drain);
    queue.add("bar");
    assert_eq!(queue.len(), 1);
}

/// TestGarbageCollection
#[tokio::test(start_paused = true)]
async fn the_queue_keeps_nothing_that_was_processed_or_dropped() {
    let queue = Queue::new();
    let processed = Arc::new("processed");
    let delayed = Arc::new("delayed");
    queue.add(Arc::clone(&processed));
    queue.add_after(Arc::clone(&delayed), Duration::from_secs(1));
    let item = get(&queue);
    queue.add(Arc::clone(&processed));
    drop(item);
    drop(get(&queue));
    assert_eq!(Arc::strong_count(&processed), 1, "WQ-8");
    queue.add_after(Arc::clone(&processed), Duration::from_secs(1));
    queue.add(Arc::clone(&processed));
    drop(get(&queue));
    assert_eq!(Arc::strong_count(&processed), 1, "a consumed delay");
    assert!(Arc::strong_count(&delayed) > 1);
    queue.shut_down();
    assert_eq!(Arc::strong_count(&delayed), 1, "WQ-24");
}

#[test]
fn a_panicking_worker_is_done() {
    let queue = Queue::new();
    queue.add("foo");
    let worker = thread::spawn({
        let queue = queue.clone();
        move || {
            let _foo = queue.get_blocking();
            queue.add("foo");
            panic!("on purpose");
        }
    });
    assert!(worker.join().is_err());
    assert_eq!(*get(&queue), "foo");
}

#[test]
fn handles_can_be_sent_and_shared() {
    fn check<T: Send + Sync>() {}
    check::<Queue<u8>>();
    check::<Processing<u8>>();
    fn sendable<T: Send>(_: T) {}
    let queue = Queue::<u8>::new();
    sendable(queue.get());
    sendable(queue.shut_down_with_drain());
}

/// A batch is of different items, none of which anybody else has, and those that were added meanwhile come again.
#[tokio::test]
async fn a_batch_hands_out_each_item_once() {
    let queue = Queue::new();
    (0..5).for_each(|item| queue.add(item));
    let first = queue.get_batch(3).await;
    queue.add(1);
    let second = queue.get_batch(10).await;
    assert_eq!(second.iter().map(|item| **item).collect::<Vec<_>>(), [3, 4]);
    assert!(queue.is_empty(), "1 is being processed");
    drop(first);
    assert_eq!(queue.get_batch(10).await.len(), 1);
}

/// WQ-3: a batch that waits learns of the shutdown, and what is queued is handed out before.
#[tokio::test(start_paused = true)]
async fn a_batch_ends_with_the_queue() {
    let queue = Queue::new();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get_batch(4).await.len() }
    });
    sleep(Duration::from_secs(1)).await;
    queue.add(1);
    assert_eq!(waiting.await.unwrap(), 1);
    queue.add(2);
    queue.shut_down();
    assert_eq!(queue.get_batch(4).await.len(), 1);
    assert!(queue.get_batch(4).await.is_empty());
}

/// WQ-6: a drain that takes too long says what is left, and can be waited for again.
#[tokio::test(start_paused = true)]
async fn a_drain_can_have_a_limit() {
    let queue = Queue::new();
    queue.add("slow");
    queue.add("waits");
    let slow = get(&queue);
    let began = tokio::time::Instant::now();
    let limit = Duration::from_secs(5);
    let left = queue.shut_down_with_drain_within(limit).await;
    assert_eq!(left, Err(NotDrained { queued: 1, processing: 1 }));
    assert_eq!(began.elapsed(), limit);
    queue.add("late");
    drop(slow);
    let worker = async { while queue.get().await.is_some() {} };
    let (drained, ()) = tokio::join!(queue.shut_down_with_drain_within(limit), worker);
    assert_eq!(drained, Ok(()));
    assert_eq!(began.elapsed(), limit, "as soon as it is drained");
}

/// WQ-5, WQ-6
#[test]
fn a_drain_of_a_thread_can_have_a_limit() {
    let queue = Queue::new();
    queue.add("waits");
    let left = queue.shut_down_with_drain_within_blocking(Duration::ZERO);
    assert_eq!(left, Err(NotDrained { queued: 1, processing: 0 }));
    assert!(left.unwrap_err().to_string().contains("1 items were queued, 0 processing"));
    thread::scope(|scope| {
        scope.spawn(|| while queue.get_blocking().is_some() {});
        assert_eq!(queue.shut_down_with_drain_within_blocking(Duration::MAX), Ok(()));
    });
}
