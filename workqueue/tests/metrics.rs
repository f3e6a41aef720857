//! What client-go's metrics of a queue say, in virtual time.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_workqueue::{AddOptions, Metrics, Queue};
use tokio::time::advance;

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Metrics for Log {
    fn added(&self, queue: &str, priority: i32) {
        self.push(format!("{queue} added {priority}"));
    }

    fn taken(&self, _: &str, priority: i32, waited: Duration) {
        self.push(format!("taken {priority} after {waited:?}"));
    }

    fn raised(&self, _: &str, from: i32, to: i32) {
        self.push(format!("raised {from} {to}"));
    }

    fn done(&self, _: &str, worked: Duration) {
        self.push(format!("done after {worked:?}"));
    }

    fn retried(&self, _: &str) {
        self.push("retried".into());
    }
}

fn queue() -> (Queue<u32>, Arc<Log>) {
    let log = Arc::new(Log::default());
    (Queue::builder().name("q").metrics(log.clone()).build(), log)
}

/// Section 2.4: the time in the queue counts from the first addition, that of the work from the hand-out.
#[tokio::test(start_paused = true)]
async fn additions_waits_and_work_are_told() {
    let (queue, log) = queue();
    queue.add(1);
    advance(Duration::from_secs(2)).await;
    queue.add(1);
    advance(Duration::from_secs(3)).await;
    let item = queue.get().await.unwrap();
    assert_eq!(log.lines(), ["q added 0", "taken 0 after 5s"]);
    advance(Duration::from_secs(7)).await;
    assert_eq!((queue.unfinished_work().as_secs(), queue.longest_running().as_secs()), (7, 7));
    // Added while it is processed: it waits from now on, and not from when its worker is done.
    queue.add(1);
    advance(Duration::from_secs(1)).await;
    drop(item);
    drop(queue.get().await);
    assert_eq!(log.lines(), ["q added 0", "done after 8s", "taken 0 after 1s", "done after 0ns"]);
    assert!(queue.unfinished_work().is_zero());
}

/// WQ-20: adding for later counts as a retry, even if later is now.
#[tokio::test(start_paused = true)]
async fn what_is_added_for_later_is_a_retry() {
    let (queue, log) = queue();
    queue.add_after(1, Duration::ZERO);
    queue.add_rate_limited(2);
    assert_eq!(log.lines(), ["retried", "q added 0", "retried"]);
    advance(Duration::from_secs(1)).await;
    assert_eq!(queue.len(), 2);
    assert_eq!(log.lines(), ["q added 0"]);
}

/// PQ-9: the depth is told by priority.
#[tokio::test]
async fn a_raised_item_moves_from_one_priority_to_the_other() {
    let (queue, log) = queue();
    queue.add_with(1, AddOptions { priority: -1, ..AddOptions::default() });
    queue.add_with(1, AddOptions { priority: 4, ..AddOptions::default() });
    queue.add_with(1, AddOptions { priority: 2, ..AddOptions::default() });
    assert_eq!(log.lines(), ["q added -1", "raised -1 4"]);
}

/// They are told without the lock, so they may use the queue.
#[tokio::test]
async fn metrics_may_use_the_queue() {
    struct Asks(Mutex<Option<Queue<u32>>>);

    impl Metrics for Asks {
        fn added(&self, _: &str, _: i32) {
            let queue = self.0.lock().unwrap().clone();
            assert_eq!(queue.unwrap().len(), 1);
        }
    }

    let asks = Arc::new(Asks(Mutex::new(None)));
    let queue = Queue::builder().metrics(asks.clone()).build();
    *asks.0.lock().unwrap() = Some(queue.clone());
    queue.add(1);
    *asks.0.lock().unwrap() = None;
}

/// An item that is processed for longer than its limit is told of by those who ask for the health of the queue.
#[tokio::test(start_paused = true)]
async fn items_that_are_stuck_are_known() {
    let queue = Queue::builder().time_limit(Duration::from_secs(60)).build();
    queue.add("slow");
    queue.add("slower");
    let slow = queue.get().await.unwrap();
    advance(Duration::from_secs(59)).await;
    assert!(queue.stuck().is_empty());
    let slower = queue.get().await.unwrap();
    advance(Duration::from_secs(61)).await;
    assert_eq!(queue.stuck(), [("slow", Duration::from_secs(120)), ("slower", Duration::from_secs(61))]);
    assert_eq!(queue.longest_running(), Duration::from_secs(120));
    drop(slow);
    assert_eq!(queue.stuck(), [("slower", Duration::from_secs(61))]);
    drop(slower);
    assert!(queue.stuck().is_empty());
}
