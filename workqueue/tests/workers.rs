//! Pools of workers: outcomes, retries, panics, and their end.
#![allow(clippy::unwrap_used)] // clippy knows tests by their attribute, and takes their helpers for production code

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_workqueue::{ItemExponentialFailure, Queue, RateLimiter, Workers};
use tokio::time::{Instant, sleep};

use crate::support::{Random, get};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn queue() -> Queue<u32> {
    Queue::builder().name("fleets").rate_limiter(ItemExponentialFailure::new(ms(1), ms(1000))).build()
}

/// When each run of a handler began, in milliseconds.
#[derive(Clone)]
struct Log {
    began: Instant,
    runs: Arc<Mutex<Vec<(u32, u64)>>>,
}

impl Log {
    fn new() -> Self {
        Self { began: Instant::now(), runs: Arc::default() }
    }

    fn enter(&self, item: u32) -> usize {
        let mut runs = self.runs.lock().unwrap();
        runs.push((item, self.began.elapsed().as_millis() as u64));
        runs.len()
    }

    fn runs(&self) -> Vec<(u32, u64)> {
        self.runs.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn workers_end_when_the_queue_is_shut_down_and_empty() {
    let queue = queue();
    let log = Log::new();
    let workers = Workers::new(queue.clone(), 2).run({
        let log = log.clone();
        move |item| {
            log.enter(item);
            async {
                sleep(ms(10)).await;
                Ok::<_, String>(())
            }
        }
    });
    for item in 0..6 {
        queue.add(item);
    }
    queue.shut_down();
    workers.await;
    assert_eq!(log.runs(), [(0, 0), (1, 0), (2, 10), (3, 10), (4, 20), (5, 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_item_is_retried_with_growing_delays_and_then_forgotten() {
    let queue = queue();
    let log = Log::new();
    let workers = Workers::new(queue.clone(), 3).run({
        let log = log.clone();
        move |item| {
            let run = log.enter(item);
            async move { if run < 5 { Err("not yet") } else { Ok(()) } }
        }
    });
    queue.add(7);
    sleep(ms(14)).await;
    assert_eq!(queue.num_requeues(&7), 4);
    sleep(ms(1000)).await;
    assert_eq!(log.runs(), [(7, 0), (7, 1), (7, 3), (7, 7), (7, 15)]);
    assert_eq!(queue.num_requeues(&7), 0, "forgotten");
    assert_eq!((workers.failures(), workers.panics()), (4, 0));
    queue.shut_down();
    workers.await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_handler_costs_no_worker_and_is_retried() {
    let queue = queue();
    let log = Log::new();
    let workers = Workers::new(queue.clone(), 1).run({
        let log = log.clone();
        move |item| {
            let run = log.enter(item);
            assert!(run != 1, "before its future");
            async move {
                assert!(run != 2, "in its future");
                sleep(ms(1)).await;
                assert!(run != 3, "{}", "in its future, later");
                if run == 4 {
                    std::panic::panic_any(run);
                }
                Ok::<_, String>(())
            }
        }
    });
    queue.add(7);
    sleep(ms(1000)).await;
    assert_eq!(log.runs(), [(7, 0), (7, 1), (7, 3), (7, 8), (7, 17)]);
    assert_eq!((workers.failures(), workers.panics()), (0, 4));
    queue.add(8);
    queue.shut_down();
    workers.await;
    assert_eq!(log.runs().last().map(|run| run.0), Some(8));
}

#[tokio::test(start_paused = true)]
async fn a_failing_item_is_charged_while_it_is_still_processing() {
    /// Counts the handles of the item: the one that is passed in, the entry's and the guard's.
    struct Handles(Arc<AtomicU64>);
    impl RateLimiter<Arc<u32>> for Handles {
        fn when(&self, item: &Arc<u32>) -> Duration {
            self.0.store(Arc::strong_count(item) as u64, Ordering::SeqCst);
            ms(1000)
        }
        fn forget(&self, _: &Arc<u32>) {}
        fn num_requeues(&self, _: &Arc<u32>) -> u32 {
            0
        }
    }
    let handles = Arc::new(AtomicU64::new(0));
    let queue = Queue::builder().rate_limiter(Handles(Arc::clone(&handles))).build();
    let _workers = Workers::new(queue.clone(), 1).run(|_| async { Err::<(), _>("always") });
    queue.add(Arc::new(7));
    sleep(ms(1)).await;
    assert_eq!(handles.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_added_while_its_handler_fails_is_run_again() {
    let queue = queue();
    let log = Log::new();
    let workers = Workers::new(queue.clone(), 2).run({
        let (queue, log) = (queue.clone(), log.clone());
        move |item| {
            let run = log.enter(item);
            if run == 1 {
                queue.add(item);
            }
            async move {
                sleep(ms(10)).await;
                if run == 1 { Err("stale") } else { Ok(()) }
            }
        }
    });
    queue.add(7);
    sleep(ms(1000)).await;
    // Once for the add, and once for the delay, which ended meanwhile.
    assert_eq!(log.runs(), [(7, 0), (7, 10), (7, 20)]);
    queue.shut_down();
    workers.await;
}

/// Random adds against handlers that take their time, fail and panic: nobody is doubled, no add is lost.
#[tokio::test(start_paused = true)]
async fn no_item_is_with_two_workers_and_no_add_is_lost() {
    #[derive(Default)]
    struct Item {
        version: AtomicU64,
        seen: AtomicU64,
        in_hand: AtomicU64,
    }
    let items: Arc<Vec<Item>> = Arc::new((0..10).map(|_| Item::default()).collect());
    let doubled = Arc::new(AtomicU64::new(0));
    let queue = queue();
    let workers = Workers::new(queue.clone(), 4).run({
        let (items, doubled, random) = (Arc::clone(&items), Arc::clone(&doubled), Mutex::new(Random(1)));
        move |item| {
            let chance = random.lock().unwrap().next();
            let (items, doubled) = (Arc::clone(&items), Arc::clone(&doubled));
            async move {
                let item = &items[item as usize];
                doubled.fetch_add(item.in_hand.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                let version = item.version.load(Ordering::SeqCst);
                sleep(ms(chance % 5)).await;
                item.in_hand.fetch_sub(1, Ordering::SeqCst);
                match chance / 5 % 4 {
                    0 => return Err("by chance"),
                    1 => panic!("by chance"),
                    _ => item.seen.store(version, Ordering::SeqCst),
                }
                Ok(())
            }
        }
    });
    let mut random = Random(2);
    for _ in 0..3000 {
        let item = random.below(10) as u32;
        items[item as usize].version.fetch_add(1, Ordering::SeqCst);
        match random.below(3) {
            0 => queue.add_after(item, ms(random.below(20))),
            _ => queue.add(item),
        }
        sleep(ms(random.below(3))).await;
    }
    sleep(Duration::from_secs(60)).await;
    assert_eq!(doubled.load(Ordering::SeqCst), 0);
    for item in items.iter() {
        assert_eq!(item.seen.load(Ordering::SeqCst), item.version.load(Ordering::SeqCst));
    }
    assert!(workers.panics() > 100 && workers.failures() > 100);
    queue.shut_down_with_drain().await;
    workers.await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_leaves_no_task_and_no_half_done_item() {
    let queue = queue();
    let alive = Arc::new(());
    let workers = Workers::new(queue.clone(), 2).run({
        let alive = Arc::clone(&alive);
        move |_| {
            let alive = Arc::clone(&alive);
            async move {
                std::future::pending::<()>().await;
                drop(alive);
                Ok::<_, String>(())
            }
        }
    });
    queue.add(7);
    sleep(ms(1)).await;
    assert_eq!(Arc::strong_count(&alive), 3, "the handler, and its future");
    drop(workers);
    sleep(ms(1)).await;
    assert_eq!(Arc::strong_count(&alive), 1);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    assert_eq!(*get(&queue), 7, "added again");
}

#[tokio::test(start_paused = true)]
async fn awaiting_by_reference_can_be_given_up() {
    let queue = queue();
    let mut workers = Workers::new(queue.clone(), 0).run(|_| async { Ok::<_, String>(()) });
    assert!(tokio::time::timeout(ms(10), &mut workers).await.is_err());
    queue.add(7);
    queue.shut_down();
    (&mut workers).await;
    assert!(queue.is_empty(), "zero workers are one");
}

#[tokio::test(start_paused = true)]
async fn a_panic_outside_of_the_handler_comes_out_of_the_handle() {
    struct Broken;
    impl<T> RateLimiter<T> for Broken {
        fn when(&self, _: &T) -> Duration {
            panic!("on purpose")
        }
        fn forget(&self, _: &T) {}
        fn num_requeues(&self, _: &T) -> u32 {
            0
        }
    }
    let queue = Queue::builder().rate_limiter(Broken).build();
    let workers = Workers::new(queue.clone(), 1).run(|_: u32| async { Err::<(), _>("always") });
    queue.add(7);
    let failure = tokio::spawn(workers).await.unwrap_err();
    assert!(failure.is_panic());
    assert_eq!(*get(&queue), 7, "the lock outlives the panic, and the item is not lost");
}

/// N can be changed while they run: more of them work at once, and those who are too many end with the item that they have.
#[tokio::test(start_paused = true)]
async fn the_number_of_workers_can_be_changed() {
    let queue = queue();
    let (now, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut workers = Workers::new(queue.clone(), 2).run({
        let (now, most) = (now.clone(), most.clone());
        move |_| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(ms(100)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, String>(())
            }
        }
    });
    let burst = |count: u32| (0..count).for_each(|item| queue.add(item));
    for (count, want) in [(2, 2), (8, 8), (3, 3), (1, 1), (5, 5)] {
        workers.set_count(count);
        assert_eq!(workers.count(), count);
        // Those who are idle go at once, others with their item.
        sleep(ms(150)).await;
        most.store(0, Ordering::SeqCst);
        burst(20);
        sleep(ms(3_000)).await;
        assert_eq!(most.load(Ordering::SeqCst), want);
        assert_eq!(queue.len(), 0);
    }
    // While all are busy.
    burst(20);
    sleep(ms(10)).await;
    workers.set_count(2);
    workers.set_count(4);
    sleep(ms(150)).await;
    assert_eq!(now.load(Ordering::SeqCst), 4);
    queue.shut_down();
    workers.await;
}

/// Threads do with an item what tasks do: failures and panics are counted and the item comes again.
#[test]
fn threads_process_what_blocks() {
    let queue = queue();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let threads = Workers::new(queue.clone(), 3).run_blocking({
        let (runs, queue) = (runs.clone(), queue.clone());
        move |item: u32| {
            let count = {
                let mut runs = runs.lock().unwrap();
                runs.push(item);
                runs.iter().filter(|run| **run == item).count()
            };
            match (item, count) {
                (1, 1) => Err("on purpose"),
                (2, 1) => panic!("on purpose"),
                (1 | 2, _) | (3, 1) => {
                    if runs.lock().unwrap().len() >= 5 {
                        queue.shut_down();
                    }
                    Ok(())
                }
                _ => Ok(()),
            }
        }
    });
    let threads = threads.unwrap();
    (1..4).for_each(|item| queue.add(item));
    // They end once everything was processed, the last of which shuts the queue down.
    while !queue.is_shutting_down() {
        std::thread::yield_now();
    }
    assert_eq!((threads.failures(), threads.panics()), (1, 1));
    threads.join();
    let mut runs = runs.lock().unwrap().clone();
    runs.sort_unstable();
    assert_eq!(runs, [1, 1, 2, 2, 3]);
}

/// Who has an item when the pool is cancelled may be done with it; who is not after the grace is aborted, and its item comes again.
#[tokio::test(start_paused = true)]
async fn cancelled_workers_get_a_grace() {
    let queue = queue();
    let log = Log::new();
    for item in [10, 30, 50, 70] {
        queue.add(item);
    }
    let workers = Workers::new(queue.clone(), 3).run({
        let log = log.clone();
        move |item| {
            log.enter(item);
            async move {
                sleep(ms(u64::from(item))).await;
                Ok::<_, String>(())
            }
        }
    });
    sleep(ms(5)).await;
    let began = Instant::now();
    assert_eq!(workers.cancel(ms(30)).await, 1);
    assert_eq!(began.elapsed(), ms(30));
    assert_eq!(log.runs().into_iter().map(|(item, _)| item).collect::<Vec<_>>(), [10, 30, 50]);
    assert_eq!([*get(&queue), *get(&queue)], [70, 50], "the queue is open, with all that was not done");
    assert!(!queue.is_shutting_down() && queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn idle_workers_are_cancelled_at_once() {
    let queue = queue();
    let mut workers = Workers::new(queue.clone(), 3).run(|_| async { Ok::<_, String>(()) });
    workers.set_count(5);
    workers.set_count(2);
    tokio::task::yield_now().await;
    let began = Instant::now();
    assert_eq!(workers.cancel(ms(1000)).await, 0);
    assert_eq!(began.elapsed(), ms(0));
}

/// The number of threads can be changed while they wait, and they can be let go.
#[test]
fn threads_come_and_go() {
    let queue = queue();
    let (enter, entered) = std::sync::mpsc::channel();
    let (leave, left) = std::sync::mpsc::channel::<()>();
    let left = Mutex::new(left);
    let mut threads = Workers::new(queue.clone(), 2)
        .run_blocking(move |item| {
            enter.send(item).unwrap();
            left.lock().unwrap().recv().map_err(|_| "nobody is there")
        })
        .unwrap();
    for item in 0..4 {
        queue.add(item);
    }
    assert_eq!(entered.recv().unwrap() + entered.recv().unwrap(), 1);
    threads.set_count(4).unwrap();
    assert_eq!(threads.count(), 4);
    assert_eq!(entered.recv().unwrap() + entered.recv().unwrap(), 5, "two more begin at once");
    threads.set_count(1).unwrap();
    for _ in 0..4 {
        leave.send(()).unwrap();
    }
    queue.add(9);
    assert_eq!(entered.recv().unwrap(), 9, "by the one that is left");
    queue.add(10);
    assert_eq!(threads.cancel(Duration::ZERO), 1, "a thread cannot be aborted");
    leave.send(()).unwrap();
    assert_eq!(*get(&queue), 10, "nobody began with it");
}

#[test]
fn idle_threads_are_cancelled_at_once() {
    let threads = Workers::new(queue(), 3).run_blocking(|_| Ok::<_, String>(())).unwrap();
    assert_eq!(threads.cancel(Duration::MAX), 0);
}
