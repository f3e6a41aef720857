//! What several threads do with a queue, in any order of their steps, under a model checker.
//!
//! It decides at each lock which thread goes on, and finds a thread that waits for ever. Time is paused: only a call that sleeps
//! until a delay ends moves it, to that instant. Each model says with which mistake in the code it was seen to fail.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use loom::thread;
use tokio::time::{Instant, advance};

use crate::shared::{Attempt, Getter};
use crate::sync::Arc;
use crate::sync::modelled::within_model;
use crate::{PendingDelay, Processing, Queue};

const DELAY: Duration = Duration::from_millis(10);

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    // The threads of a model are all on this one.
    let _paused = runtime.enter();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    within_model(|| builder.check(model));
}

/// As [`Queue::get`], which would wait for tokio to move the time.
fn get(queue: &Queue<u32>) -> Option<Processing<u32>> {
    let mut getter = Getter::new(queue.shared());
    let taken = loom::future::block_on(poll_fn(|cx| {
        loop {
            match getter.attempt(cx.waker()) {
                Attempt::Done(taken) => return Poll::Ready(taken),
                Attempt::Wait(None) => return Poll::Pending,
                Attempt::Wait(Some(until)) => {
                    let passed = pin!(advance(until.saturating_duration_since(Instant::now())));
                    let _ = passed.poll(&mut Context::from_waker(Waker::noop()));
                }
            }
        }
    }));
    taken.map(|taken| Processing::new(Arc::clone(queue.shared()), taken))
}

/// One item whose versions are added and seen.
#[derive(Default)]
struct Story {
    added: AtomicU32,
    seen: AtomicU32,
    runs: AtomicU32,
    busy: AtomicBool,
}

impl Story {
    fn add(&self, queue: &Queue<u32>) {
        self.added.fetch_add(1, Ordering::SeqCst);
        queue.add(1);
    }

    /// Processes items until there are none.
    fn work(&self, queue: &Queue<u32>) {
        while let Some(item) = get(queue) {
            self.process(queue, item);
        }
    }

    fn process(&self, queue: &Queue<u32>, item: Processing<u32>) {
        assert!(!self.busy.swap(true, Ordering::SeqCst), "with two workers at once");
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.seen.store(self.added.load(Ordering::SeqCst), Ordering::SeqCst);
        // Somebody else may go on here.
        let _ = queue.len();
        self.busy.store(false, Ordering::SeqCst);
        drop(item);
    }

    fn check(&self) {
        assert_eq!(self.seen.load(Ordering::SeqCst), self.added.load(Ordering::SeqCst), "processed since");
        assert!(self.runs.load(Ordering::SeqCst) <= self.added.load(Ordering::SeqCst));
    }
}

/// WQ-1, WQ-2, WQ-4: an item that is added again and again while it may be processed is with one worker at a time, and is
/// processed after its last addition.
///
/// Fails if `mark_dirty` queues an item that is processed, or if `done` does not queue one that is dirty.
#[test]
fn adding_while_processing() {
    explore(|| {
        let (queue, story) = (Queue::new(), Arc::new(Story::default()));
        let worker = thread::spawn({
            let (queue, story) = (queue.clone(), Arc::clone(&story));
            move || story.work(&queue)
        });
        let other = thread::spawn({
            let (queue, story) = (queue.clone(), Arc::clone(&story));
            move || story.work(&queue)
        });
        story.add(&queue);
        story.add(&queue);
        queue.shut_down();
        worker.join().unwrap();
        other.join().unwrap();
        story.check();
    });
}

/// WQ-4: whether an item is added before or after its worker is done, it is processed once more.
///
/// Fails if `done` forgets an item that is dirty, or if `take` leaves an item dirty.
#[test]
fn done_and_added_again() {
    explore(|| {
        let (queue, story) = (Queue::new(), Arc::new(Story::default()));
        story.add(&queue);
        let first = get(&queue).unwrap();
        let producer = thread::spawn({
            let (queue, story) = (queue.clone(), Arc::clone(&story));
            move || story.add(&queue)
        });
        story.process(&queue, first);
        let second = get(&queue).unwrap();
        producer.join().unwrap();
        story.process(&queue, second);
        assert!(queue.is_empty());
        story.check();
        assert_eq!(story.runs.load(Ordering::SeqCst), 2);
    });
}

/// WQ-2, WQ-3: whoever goes to sleep while an item arrives gets it, even if another call that was woken for it is given up.
///
/// Fails if `Waiters::settle` is left out after an operation, or if `Getter::drop` does not let a woken call leave.
#[test]
fn the_last_worker_sleeps_while_an_item_arrives() {
    explore(|| {
        let queue: Queue<u32> = Queue::new();
        let fickle = thread::spawn({
            let queue = queue.clone();
            move || {
                let mut getter = Getter::new(queue.shared());
                // Whether it is woken or not, it does not come back; an item that it got would be lost.
                match getter.attempt(Waker::noop()) {
                    Attempt::Done(taken) => taken.map(|taken| taken.place),
                    Attempt::Wait(_) => None,
                }
            }
        });
        let producer = thread::spawn({
            let queue = queue.clone();
            move || queue.add(1)
        });
        let taken = fickle.join().unwrap();
        if taken.is_none() {
            assert_eq!(get(&queue).as_deref(), Some(&1));
        }
        producer.join().unwrap();
    });
}

/// WQ-3, WQ-5: a shutdown wakes all who wait, and what was queued is handed out once.
///
/// Fails if `settle` does not dismiss those who wait, or if `attempt` gives nothing once the queue is shutting down.
#[test]
fn shutting_down() {
    explore(|| {
        let queue: Queue<u32> = Queue::new();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || std::iter::from_fn(|| get(&queue)).count())
            })
            .collect();
        queue.add(1);
        queue.shut_down();
        queue.add(2);
        let handed: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert_eq!(handed, 1);
    });
}

/// WQ-6 `[W]`: a drain ends when everything is done, what is queued too and what is added again meanwhile, and not before.
///
/// Fails if `is_idle` looks at what is processed only, or if `done` does not wake those who drain.
#[test]
fn draining() {
    explore(|| {
        let (queue, done) = (Queue::new(), Arc::new(AtomicU32::new(0)));
        queue.add(1);
        queue.add(2);
        let worker = thread::spawn({
            let (queue, done) = (queue.clone(), Arc::clone(&done));
            move || {
                while let Some(item) = get(&queue) {
                    done.fetch_add(1, Ordering::SeqCst);
                    drop(item);
                }
            }
        });
        loom::future::block_on(queue.shut_down_with_drain());
        assert_eq!(done.load(Ordering::SeqCst), 2);
        worker.join().unwrap();
    });
}

/// WQ-5: a shutdown ends a drain that nobody would end.
///
/// Fails if `shut_down` does not wake those who drain, or does not count itself.
#[test]
fn shutting_down_while_draining() {
    explore(|| {
        let queue: Queue<u32> = Queue::new();
        queue.add(1);
        let drain = queue.shut_down_with_drain();
        let other = thread::spawn(move || queue.shut_down());
        loom::future::block_on(drain);
        other.join().unwrap();
    });
}

/// WQ-21, WQ-22: while several wait, one of them minds the clock, whoever comes and goes; a delay ends in time and never early.
///
/// Fails if `settle` gives the timer to nobody, if a call that `leave`s keeps it, or if `pop_due` does not look at the time.
#[test]
fn a_delay_ends() {
    explore(|| {
        let queue: Queue<u32> = Queue::builder().pending_delay(PendingDelay::Keep).build();
        let began = Instant::now();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    let item = get(&queue).unwrap();
                    assert!(*item != 1 || began.elapsed() >= DELAY, "never early");
                    *item
                })
            })
            .collect();
        queue.add_after(1, DELAY);
        queue.add(2);
        let handed: u32 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert_eq!(handed, 3);
    });
}
