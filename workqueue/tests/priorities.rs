//! Priorities, as in controller-runtime's queue, and that nothing starves.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::time::Duration;

use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};

fn with(priority: i32) -> AddOptions {
    AddOptions { priority, ..AddOptions::default() }
}

fn rest(queue: &Queue<u32>) -> Vec<u32> {
    let mut items = Vec::new();
    while !queue.is_empty() {
        items.push(*queue.get_blocking().unwrap());
    }
    items
}

/// PQ-3: the highest priority first, and those of one in the order in which they came.
#[test]
fn higher_priorities_come_first() {
    let queue = Queue::new();
    for (item, priority) in [(1, 0), (2, LOW_PRIORITY), (3, 5), (4, 0), (5, 5), (6, LOW_PRIORITY)] {
        queue.add_with(item, with(priority));
    }
    assert_eq!(rest(&queue), [3, 5, 1, 4, 2, 6]);
}

/// PQ-2, PQ-3: of two additions the higher priority counts, and who is raised goes to the end of the new one.
#[test]
fn an_item_that_is_added_again_keeps_the_higher_priority() {
    let queue = Queue::new();
    for (item, priority) in [(1, -1), (2, 3), (3, 0), (1, 3), (2, -9), (3, -5), (4, 3)] {
        queue.add_with(item, with(priority));
    }
    assert_eq!(queue.len(), 4);
    assert_eq!(rest(&queue), [2, 1, 4, 3]);
}

/// PQ-2: an addition at once takes the place of a pending delay, and both priorities count.
#[tokio::test(start_paused = true)]
async fn a_delayed_item_keeps_its_priority() {
    let queue = Queue::new();
    let late = |priority| AddOptions { priority, after: Duration::from_secs(5), ..AddOptions::default() };
    queue.add_with(1, late(7));
    queue.add_with(2, late(0));
    queue.add_with(3, late(LOW_PRIORITY));
    queue.add_with(3, late(9));
    queue.add(1);
    queue.add_with(4, with(3));
    assert_eq!(rest(&queue), [1, 4]);
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(rest(&queue), [3, 2]);
}

/// PQ-1: with a delay and a rate limit, the shorter of both counts.
#[tokio::test(start_paused = true)]
async fn the_shorter_of_delay_and_rate_limit_counts() {
    let queue = Queue::new();
    let options =
        |millis| AddOptions { after: Duration::from_millis(millis), rate_limited: true, priority: 1 };
    // The limiter begins with 5 ms.
    queue.add_with(1, options(1_000));
    queue.add_with(2, options(1));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(rest(&queue), [2]);
    tokio::time::advance(Duration::from_millis(4)).await;
    assert_eq!(rest(&queue), [1]);
    assert_eq!((queue.num_requeues(&1), queue.num_requeues(&2)), (1, 1));
}

/// PQ-4, PQ-8: what is added while it is processed waits, and others overtake it; who queues it again gives it its priority.
#[test]
fn a_guard_knows_the_priority_of_its_item() {
    let queue = Queue::new();
    queue.add_with(1, with(2));
    let first = queue.get_blocking().unwrap();
    queue.add_with(1, with(first.priority()));
    queue.add_with(2, with(1));
    assert_eq!(*queue.get_blocking().unwrap(), 2);
    assert!(queue.is_empty());
    drop(first);
    let again = queue.get_blocking().unwrap();
    assert_eq!((*again, again.priority()), (1, 2));
}

/// PQ-10 `[W]`: however many important items come, each of the others is handed out after a bounded number of them.
#[test]
fn nothing_starves() {
    let queue = Queue::new();
    for item in 0..10 {
        queue.add_with(item, with(LOW_PRIORITY));
    }
    let mut handed = BTreeMap::new();
    for turn in 0..200 {
        // There is always something more important.
        queue.add_with(1_000 + 2 * turn, with(5));
        queue.add_with(1_001 + 2 * turn, with(5));
        let item = *queue.get_blocking().unwrap();
        if item < 10 {
            handed.insert(item, turn);
        }
    }
    let turns: Vec<u32> = handed.values().copied().collect();
    assert_eq!(
        handed.keys().copied().collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>(),
        "in the order in which they came"
    );
    assert!(turns.windows(2).all(|pair| pair[1] - pair[0] <= 16), "{turns:?}");
}

/// What is raised leaves an entry behind, which must neither be handed out nor pile up.
#[test]
fn raising_an_item_again_and_again_hands_it_out_once() {
    let queue = Queue::new();
    for priority in 0..10_000 {
        queue.add_with(1, with(priority));
        queue.add_with(2, with(priority / 2));
    }
    assert_eq!(queue.len(), 2);
    assert_eq!(rest(&queue), [1, 2]);
}

/// PQ-5, PQ-7: an addition counts at once, and only if it is for now.
#[tokio::test(start_paused = true)]
async fn len_counts_what_can_be_handed_out_at_once() {
    let queue = Queue::new();
    queue.add_with(1, with(3));
    queue.add_with(2, AddOptions { after: Duration::from_secs(1), ..with(9) });
    queue.add_with(3, AddOptions { rate_limited: true, ..with(9) });
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.get().await.map(|item| (*item, item.priority())), Some((1, 3)));
    assert_eq!(queue.get().await.map(|item| (*item, item.priority())), Some((3, 9)));
}

/// PQ-6 `[W]`: what is queued when the queue is shut down is handed out all the same, by its priority, a drain waits for it, and to
/// shut down twice does no harm.
#[tokio::test(start_paused = true)]
async fn shutting_down_drops_no_priority() {
    let queue = Queue::new();
    queue.add_with(1, with(LOW_PRIORITY));
    queue.add_with(2, with(5));
    queue.shut_down();
    queue.shut_down();
    queue.add_with(3, with(9));
    let mut drain = std::pin::pin!(queue.shut_down_with_drain());
    let worker = async {
        let mut handed = Vec::new();
        while let Some(item) = queue.get().await {
            handed.push(*item);
        }
        handed
    };
    tokio::select! {
        biased;
        () = &mut drain => panic!("something is queued"),
        handed = worker => assert_eq!(handed, [2, 1]),
    }
    drain.await;
}
