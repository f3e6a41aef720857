//! Delays: when they end, what ends them, and who watches the clock.

mod support;

use std::time::Duration;

use lariat_workqueue::{ItemExponentialFailure, PendingDelay, Queue};
use tokio::time::{Instant, advance};

use crate::support::{Call, get, waiting};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// TestSimpleQueue
#[tokio::test(start_paused = true)]
async fn a_delayed_item_is_queued_in_time_and_once() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    assert_eq!(queue.len(), 0, "WQ-7");
    advance(ms(49)).await;
    assert_eq!(queue.len(), 0, "never early");
    advance(ms(1)).await;
    assert_eq!(queue.len(), 1);
    drop(get(&queue));
    advance(ms(10_000)).await;
    assert_eq!(queue.len(), 0);
}

/// TestDeduping
#[tokio::test(start_paused = true)]
async fn of_two_delays_the_one_that_ends_first_counts() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    queue.add_after("foo", ms(70));
    advance(ms(50)).await;
    drop(get(&queue));
    advance(ms(1000)).await;
    assert!(queue.is_empty(), "WQ-21: the later one is ignored");

    queue.add_after("foo", ms(50));
    queue.add_after("foo", ms(30));
    advance(ms(30)).await;
    drop(get(&queue));
    advance(ms(1000)).await;
    assert!(queue.is_empty(), "WQ-21: the entry was moved");
}

/// TestAddTwoFireEarly
#[tokio::test(start_paused = true)]
async fn the_first_to_be_due_leaves_first() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    queue.add_after("bar", ms(20));
    advance(ms(20)).await;
    assert_eq!(queue.len(), 1);
    assert_eq!(*get(&queue), "bar");
    advance(ms(30)).await;
    assert_eq!(*get(&queue), "foo");
}

/// TestCopyShifting
#[tokio::test(start_paused = true)]
async fn items_leave_in_the_order_of_their_time() {
    let queue = Queue::new();
    queue.add_after("foo", ms(1000));
    queue.add_after("bar", ms(500));
    queue.add_after("baz", ms(250));
    assert!(queue.is_empty());
    advance(ms(2000)).await;
    queue.add("late");
    assert_eq!([*get(&queue), *get(&queue), *get(&queue), *get(&queue)], ["baz", "bar", "foo", "late"]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_of_zero_is_none() {
    let queue = Queue::new();
    queue.add_after("foo", Duration::ZERO);
    assert_eq!(queue.len(), 1, "WQ-20");
}

#[tokio::test(start_paused = true)]
async fn a_delay_may_end_while_its_item_is_processing() {
    let queue = Queue::new();
    queue.add("foo");
    let processing = get(&queue);
    queue.add_after("foo", ms(10));
    advance(ms(10)).await;
    assert!(queue.is_empty(), "WQ-22: it is with a worker");
    drop(processing);
    assert_eq!(queue.len(), 1);
    queue.add_after("foo", ms(10));
    advance(ms(10)).await;
    assert_eq!(queue.len(), 1, "WQ-22: queued already");
}

#[tokio::test(start_paused = true)]
async fn shut_down_drops_what_waits_but_not_what_is_due() {
    let queue = Queue::new();
    queue.add_after("due", ms(10));
    queue.add_after("waits", ms(20));
    advance(ms(10)).await;
    queue.shut_down();
    queue.add_after("late", ms(0));
    queue.add_after("late", ms(1));
    queue.add_rate_limited("late");
    advance(ms(10_000)).await;
    assert_eq!(*get(&queue), "due");
    assert!(queue.get().await.is_none(), "WQ-24");
    assert_eq!(queue.num_requeues(&"late"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_does_not_wait_for_delays() {
    let queue = Queue::new();
    queue.add_after("waits", ms(20));
    let began = Instant::now();
    queue.shut_down_with_drain().await;
    assert_eq!(began.elapsed(), Duration::ZERO, "WQ-24");
}

#[tokio::test(start_paused = true)]
async fn the_policy_says_what_add_does_to_a_delay() {
    for (policy, later) in [(PendingDelay::Consume, 0), (PendingDelay::Keep, 1)] {
        let queue = Queue::builder().pending_delay(policy).build();
        queue.add_after("foo", ms(10));
        queue.add_after("bar", ms(5));
        queue.add("foo");
        drop(get(&queue));
        advance(ms(5)).await;
        assert_eq!(*get(&queue), "bar");
        advance(ms(5)).await;
        assert_eq!(queue.len(), later, "WQ-25: {policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn centuries_saturate() {
    let queue = Queue::new();
    queue.add_after("foo", Duration::MAX);
    queue.add_after("bar", Duration::from_secs(u64::from(u32::MAX) * 1000));
    let call = waiting(&queue);
    advance(Duration::from_secs(100 * 365 * 24 * 3600)).await;
    assert!(queue.is_empty());
    drop(call);
}

// === Rate-limited ===

fn exponential(charge_duplicates: bool) -> Queue<&'static str> {
    Queue::builder()
        .rate_limiter(ItemExponentialFailure::new(ms(1), ms(1000)))
        .charge_duplicates(charge_duplicates)
        .build()
}

/// TestRateLimitingQueue
#[tokio::test(start_paused = true)]
async fn each_failure_doubles_the_delay() {
    let queue = exponential(false);
    for delay in [1, 2, 4, 8, 16] {
        let began = Instant::now();
        queue.add_rate_limited("one");
        drop(queue.get().await);
        assert_eq!(began.elapsed(), ms(delay), "WQ-36");
    }
    assert_eq!(queue.num_requeues(&"one"), 5);
    queue.add_rate_limited("two");
    assert_eq!(queue.num_requeues(&"two"), 1);
    queue.forget(&"one");
    assert_eq!(queue.num_requeues(&"one"), 0);
    queue.add_rate_limited("one");
    advance(ms(1)).await;
    assert_eq!(queue.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_not_charged() {
    for (charge_duplicates, charged) in [(false, 1), (true, 3)] {
        let queue = exponential(charge_duplicates);
        for _ in 0..3 {
            queue.add_rate_limited("foo");
        }
        assert_eq!(queue.num_requeues(&"foo"), charged, "WQ-35");
        advance(ms(1)).await;
        assert_eq!(queue.len(), 1);
        queue.add_rate_limited("foo");
        assert_eq!(queue.num_requeues(&"foo"), charged + 1, "the delay has ended, so this is no duplicate");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_somebody_asked_for_makes_no_duplicate() {
    let queue = exponential(false);
    queue.add_after("foo", ms(10));
    queue.add_rate_limited("foo");
    assert_eq!(queue.num_requeues(&"foo"), 1);
    queue.add_rate_limited("foo");
    assert_eq!(queue.num_requeues(&"foo"), 1, "WQ-35");
    queue.add("foo");
    queue.add_rate_limited("foo");
    assert_eq!(queue.num_requeues(&"foo"), 2, "the delay was consumed");
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_item_begins_anew_even_while_its_old_delay_is_pending() {
    let queue = exponential(false);
    for _ in 0..8 {
        queue.add_rate_limited("foo");
        drop(queue.get().await);
    }
    queue.add_rate_limited("foo"); // 256 ms
    queue.forget(&"foo");
    queue.add_rate_limited("foo");
    assert_eq!(queue.num_requeues(&"foo"), 1);
    advance(ms(1)).await;
    assert_eq!(queue.len(), 1);
}

// === Who watches the clock ===

#[tokio::test(start_paused = true)]
async fn a_waiting_call_gets_a_delayed_item_in_time_with_no_help() {
    let queue = Queue::new();
    let began = Instant::now();
    queue.add_after("foo", ms(50));
    assert_eq!(*queue.get().await.unwrap(), "foo");
    assert_eq!(began.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_already_learns_of_an_earlier_deadline() {
    let queue = Queue::new();
    let began = Instant::now();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let first = *queue.get().await.unwrap();
            (first, began.elapsed())
        }
    });
    tokio::task::yield_now().await;
    queue.add_after("foo", ms(500));
    tokio::task::yield_now().await;
    queue.add_after("bar", ms(20));
    assert_eq!(worker.await.unwrap(), ("bar", ms(20)));
}

#[tokio::test(start_paused = true)]
async fn only_one_call_has_the_timer() {
    let queue = Queue::new();
    let mut calls: Vec<_> = (0..10).map(|_| waiting(&queue)).collect();
    queue.add_after("foo", ms(50));
    assert_eq!(calls.iter().map(Call::wakes).sum::<usize>(), 1);
    let holder = calls.iter().position(Call::is_woken).unwrap();
    assert!(calls[holder].poll().is_pending());
    queue.add_after("bar", ms(60));
    assert_eq!(calls.iter().map(Call::wakes).sum::<usize>(), 1, "a later deadline is nobody's concern");
    queue.add_after("bar", ms(40));
    queue.add_after("baz", ms(45));
    assert_eq!(calls.iter().map(Call::wakes).sum::<usize>(), 2, "an earlier one is the holder's, once");
    assert!(calls[holder].poll().is_pending());
    advance(ms(40)).await;
    assert_eq!(calls.iter().map(Call::wakes).sum::<usize>(), 3);
    assert!(calls[holder].poll().is_ready());
    assert_eq!(calls.iter().map(Call::wakes).sum::<usize>(), 4, "and the next one has the timer");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_hands_the_timer_on() {
    let queue = Queue::new();
    let mut calls = vec![waiting(&queue), waiting(&queue), waiting(&queue)];
    queue.add_after("foo", ms(50));
    while calls.len() > 1 {
        let holder = calls.iter().position(Call::is_woken).unwrap();
        if calls.len() == 3 {
            assert!(calls[holder].poll().is_pending()); // once with the timer armed, once before
        }
        drop(calls.remove(holder));
    }
    assert!(calls[0].is_woken() && calls[0].poll().is_pending());
    advance(ms(50)).await;
    assert!(calls[0].is_woken() && calls[0].poll().is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_leaves_with_an_item_hands_the_timer_on() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    let mut holder = waiting(&queue);
    let mut other = waiting(&queue);
    queue.add("bar");
    assert!(holder.is_woken() && other.is_woken(), "one for the item, one for the timer");
    assert!(holder.poll().is_ready());
    assert!(other.poll().is_pending());
    advance(ms(50)).await;
    assert!(other.is_woken() && other.poll().is_ready());
}

#[tokio::test(start_paused = true)]
async fn items_that_are_due_together_wake_as_many() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    queue.add_after("bar", ms(50));
    let mut calls = [waiting(&queue), waiting(&queue), waiting(&queue)];
    advance(ms(50)).await;
    assert!(calls[0].is_woken() && !calls[1].is_woken());
    assert!(calls[0].poll().is_ready());
    assert!(calls[1].is_woken() && calls[1].poll().is_ready());
    assert!(!calls[2].is_woken());
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_was_consumed_leaves_the_rest_in_time() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    queue.add_after("bar", ms(80));
    let began = Instant::now();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let first = *queue.get().await.unwrap();
            let second = *queue.get().await.unwrap();
            (first, second, began.elapsed())
        }
    });
    tokio::task::yield_now().await;
    queue.add("foo");
    assert_eq!(worker.await.unwrap(), ("foo", "bar", ms(80)));
}

/// A thread waits by the clock on the wall, so this is the one test that does so too, for a millisecond.
#[test]
fn a_thread_waits_for_a_delay() {
    let queue = Queue::new();
    let began = Instant::now();
    queue.add_after("foo", ms(1));
    assert_eq!(*queue.get_blocking().unwrap(), "foo");
    assert!(began.elapsed() >= ms(1), "never early");
}

/// WQ-23: client-go's intake holds a thousand and then blocks; this one takes what there is, and forgets nothing of it.
#[tokio::test(start_paused = true)]
async fn adding_for_later_never_blocks() {
    const COUNT: u64 = 20_000;
    let queue = Queue::new();
    for item in 0..COUNT {
        queue.add_after(item, ms(1 + item * 7919 % COUNT));
    }
    assert!(queue.is_empty());
    advance(ms(COUNT / 2)).await;
    assert_eq!(queue.len() as u64, COUNT / 2, "the rest is later");
    let mut last = 0;
    while !queue.is_empty() {
        let due = 1 + *queue.get_blocking().unwrap() * 7919 % COUNT;
        assert!(due >= last, "the first to be due leaves first");
        last = due;
    }
    advance(ms(COUNT)).await;
    assert_eq!(queue.len() as u64, COUNT / 2);
}

/// Near and far delays are consumed by an addition, and moved by an earlier one.
#[tokio::test(start_paused = true)]
async fn thousands_of_delays_can_be_moved_and_consumed() {
    const COUNT: u64 = 6_000;
    let queue = Queue::new();
    (0..COUNT).for_each(|item| queue.add_after(item, ms(100_000 + item)));
    (0..COUNT).filter(|item| item % 3 == 0).for_each(|item| queue.add_after(item, ms(1 + item)));
    (0..COUNT).filter(|item| item % 3 == 1).for_each(|item| queue.add(item));
    assert_eq!(queue.len() as u64, COUNT / 3);
    advance(ms(COUNT)).await;
    assert_eq!(queue.len() as u64, 2 * COUNT / 3);
    while !queue.is_empty() {
        assert!(*queue.get_blocking().unwrap() % 3 < 2);
    }
    advance(ms(100_000)).await;
    assert_eq!(queue.len() as u64, COUNT / 3);
}
