//! A queue in a steady state allocates nothing: no operation does, whatever it is, once there were as many items before.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lariat_workqueue::{AddOptions, ItemExponentialFailure, LOW_PRIORITY, Queue};
use tokio::time::advance;

use crate::support::get;

type Key = Arc<str>;

const ROUNDS: u64 = 2_000;

fn keys() -> Vec<Key> {
    (0..100).map(|number| format!("default/simple-game-server-{number:010}").into()).collect()
}

fn queue() -> Queue<Key> {
    let limiter = ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_millis(64));
    Queue::builder().rate_limiter(limiter).build()
}

/// Runs it until there is as much memory as it ever needs, and then counts.
#[track_caller]
fn check(mut round: impl FnMut(&Key)) {
    let keys = keys();
    let mut rounds = || (0..ROUNDS).for_each(|number| round(&keys[number as usize % keys.len()]));
    rounds();
    let counted = allocation_counter::measure(rounds);
    assert_eq!(counted.count_total, 0, "in {ROUNDS} rounds");
}

#[test]
fn what_is_allocated_is_counted() {
    assert_eq!(allocation_counter::measure(|| drop(std::hint::black_box(Box::new(7)))).count_total, 1);
}

#[test]
fn adding_and_processing() {
    let queue = queue();
    check(|key| {
        queue.add(key.clone());
        queue.add(key.clone());
        drop(get(&queue));
        queue.add(key.clone());
        drop(queue.get_blocking());
    });
}

#[test]
fn adding_while_processing() {
    let queue = queue();
    check(|key| {
        queue.add(key.clone());
        let item = get(&queue);
        queue.add(key.clone());
        drop(item);
        drop(get(&queue));
    });
}

#[test]
fn many_items_at_once() {
    let queue = queue();
    let keys = keys();
    check(|_| {
        keys.iter().for_each(|key| queue.add(key.clone()));
        keys.iter().for_each(|_| drop(get(&queue)));
    });
}

#[test]
fn priorities() {
    let queue = queue();
    check(|key| {
        for priority in [LOW_PRIORITY, 0, 10] {
            queue.add_with(key.clone(), AddOptions { priority, ..AddOptions::default() });
        }
        drop(get(&queue));
    });
}

/// A call that waits is woken, and another is given up.
#[test]
fn waiting() {
    let queue = queue();
    check(|key| {
        let mut first = pin!(queue.get());
        let mut second = pin!(queue.get());
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(cx).is_pending() && second.as_mut().poll(cx).is_pending());
        queue.add(key.clone());
        assert!(matches!(first.poll(cx), Poll::Ready(Some(_))));
    });
}

#[tokio::test(start_paused = true)]
async fn delays_and_failures() {
    let (queue, keys) = (queue(), keys());
    let mut allocated = 0;
    for round in 0..2 * ROUNDS {
        let key = &keys[round as usize % keys.len()];
        let mut count = |operation: &mut dyn FnMut()| {
            let counted = allocation_counter::measure(operation).count_total;
            // The first half is for reaching the steady state.
            allocated += if round < ROUNDS { 0 } else { counted };
        };
        count(&mut || {
            queue.add_after(key.clone(), Duration::from_millis(5));
            queue.add_after(key.clone(), Duration::from_millis(3));
            queue.add(key.clone());
            let item = get(&queue);
            queue.add_rate_limited(Key::clone(&item));
            queue.add_rate_limited(Key::clone(&item));
            drop(item);
        });
        // Which is tokio's matter.
        advance(Duration::from_millis(64)).await;
        count(&mut || {
            let item = get(&queue);
            if round % 4 == 0 {
                queue.forget(&item);
            }
        });
    }
    assert_eq!(allocated, 0, "in {ROUNDS} rounds");
}
