use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use lariat_api::ObjectKey;
use lariat_workqueue::{AddOptions, Processing, Queue};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::context::{Common, Context, Run};
use super::ledger::Ledger;
use super::outcome::{Failure, Outcome, Treatment};
use super::writes::{Pending, Writes};
use crate::boxed::Boxed;
use crate::metrics::{ControllerMetrics, Result as Counted};

/// A handler of whatever type, with the cache that it reads its object from.
pub(crate) type Handler =
    Arc<dyn Fn(ObjectKey, Context) -> Boxed<'static, Result<Outcome, Failure>> + Send + Sync>;

/// Where the workers of one controller work. It outlives them, so that one can look at it, and knows nothing of what handlers hold.
pub(crate) struct Desk {
    pub(crate) name: Arc<str>,
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) ledger: Ledger,
    pub(crate) writes: Arc<Writes>,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) workers: usize,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) runs: AtomicU64,
}

/// A key that waits until the caches show what was written for it.
struct Guest {
    item: Processing<ObjectKey>,
    unseen: Vec<Pending>,
}

/// How a run of a handler ended.
enum Ended {
    Well(Outcome),
    Failed(Failure),
    Panicked(String),
    TimedOut(Duration),
}

impl Ended {
    fn of(run: Result<Result<Outcome, Failure>, String>) -> Self {
        match run {
            Ok(Ok(outcome)) => Self::Well(outcome),
            Ok(Err(failure)) => Self::Failed(failure),
            Err(panic) => Self::Panicked(panic),
        }
    }
}

impl Desk {
    /// Works until the queue is shut down and empty. What is handed out after `common.stop` is left.
    pub(crate) async fn work(self: &Arc<Self>, common: Arc<Common>, handler: Handler) {
        self.ledger.set_workers(self.workers);
        self.metrics.max_concurrent(self.workers);
        let (room, guests) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for number in 0..self.workers {
            let (desk, common, handler) = (self.clone(), common.clone(), handler.clone());
            let worker = Worker { desk, common, handler, room: room.clone(), number };
            let run: Boxed<'static, ()> = Box::pin(async move { worker.run().await });
            tasks.spawn(run);
        }
        drop(room);
        let host: Boxed<'static, ()> = Box::pin(host(self.clone(), guests, common.stop.clone()));
        tasks.spawn(host);
        while tasks.join_next().await.is_some() {}
    }
}

/// Has guests wait side by side, and puts each back into the queue when its time has come.
async fn host(desk: Arc<Desk>, mut guests: mpsc::UnboundedReceiver<Guest>, stop: crate::manager::Stop) {
    let mut waiting = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            // What waits is known to the ledger as left.
            () = stop.stopped() => return,
            guest = guests.recv() => match guest {
                None => return,
                Some(Guest { item, unseen }) => {
                    let queue = desk.queue.clone();
                    let wait: Boxed<'static, ()> = Box::pin(async move {
                        Pending::all_shown(&unseen).await;
                        queue.add_with(item.clone(), again(&item));
                    });
                    waiting.spawn(wait);
                }
            },
            Some(_) = waiting.join_next() => {}
        }
    }
}

struct Worker {
    desk: Arc<Desk>,
    common: Arc<Common>,
    handler: Handler,
    room: mpsc::UnboundedSender<Guest>,
    number: usize,
}

impl Worker {
    async fn run(self) {
        while let Some(item) = self.desk.queue.get().await {
            if self.common.stop.is_stopped() {
                self.desk.ledger.leave(&item);
                continue;
            }
            let unseen = self.desk.writes.unseen(&item);
            if !unseen.is_empty() {
                self.desk.ledger.waiting(&item);
                if let Err(refused) = self.room.send(Guest { item, unseen }) {
                    self.desk.ledger.leave(&refused.0.item);
                }
                continue;
            }
            self.handle(item).await;
            // A handler that waits for nothing would never let others run on this thread.
            tokio::task::yield_now().await;
        }
    }

    async fn handle(&self, item: Processing<ObjectKey>) {
        let Desk { ledger, metrics, time_limit, runs, .. } = &*self.desk;
        let began = Instant::now();
        ledger.running(self.number, &item, began);
        let active = metrics.begin();
        let id = runs.fetch_add(1, Ordering::Relaxed) + 1;
        let context = Context(Arc::new(Run { shared: self.common.clone(), key: item.clone(), id }));
        let key = item.clone();
        let run = catch_panic(|| (self.handler)(key, context));
        let ended = match time_limit {
            None => Ended::of(run.await),
            Some(limit) => match timeout(*limit, run).await {
                Ok(ended) => Ended::of(ended),
                Err(_) => Ended::TimedOut(*limit),
            },
        };
        drop(active);
        let counted = self.settle(&item, id, ended);
        metrics.handled(counted, began.elapsed());
    }

    /// Decides what becomes of a key, before its guard is dropped: so no other worker has it in between.
    fn settle(&self, item: &Processing<ObjectKey>, run: u64, ended: Ended) -> Counted {
        let Desk { name, queue, ledger, .. } = &*self.desk;
        let controller = &**name;
        let key: &ObjectKey = item;
        let retry = |error: String| {
            queue.add_with(key.clone(), AddOptions { rate_limited: true, ..again(item) });
            ledger.delayed(self.number, key, Some(error));
        };
        match ended {
            Ended::Well(Outcome::Done) => {
                queue.forget(key);
                ledger.done(self.number, key);
                Counted::Success
            }
            Ended::Well(Outcome::RequeueAfter(after)) => {
                queue.forget(key);
                queue.add_with(key.clone(), AddOptions { after, ..again(item) });
                ledger.delayed(self.number, key, None);
                Counted::RequeueAfter
            }
            Ended::Well(Outcome::Requeue) => {
                queue.add_with(key.clone(), AddOptions { rate_limited: true, ..again(item) });
                ledger.delayed(self.number, key, None);
                Counted::Requeue
            }
            Ended::Failed(failure) => match failure.treatment() {
                Treatment::Ignore => {
                    tracing::debug!(controller, %key, run, error = %failure, "an error is ignored");
                    queue.forget(key);
                    ledger.done(self.number, key);
                    Counted::Success
                }
                Treatment::Terminal => {
                    tracing::error!(controller, %key, run, error = %failure, "failed for good, until something changes");
                    queue.forget(key);
                    ledger.done(self.number, key);
                    Counted::Terminal
                }
                Treatment::Retry => {
                    if failure.is_conflict() {
                        tracing::debug!(controller, %key, run, error = %failure, "changed meanwhile; is tried again");
                    } else {
                        tracing::warn!(controller, %key, run, error = %failure, "failed; is tried again");
                    }
                    retry(failure.to_string());
                    Counted::Error
                }
            },
            Ended::Panicked(text) => {
                tracing::error!(controller, %key, run, panic = text, "the handler panicked; is tried again");
                retry(format!("panicked: {text}"));
                Counted::Panic
            }
            Ended::TimedOut(limit) => {
                tracing::warn!(controller, %key, run, ?limit, "the handler took too long; is tried again");
                retry(format!("took longer than {limit:?}"));
                Counted::Timeout
            }
        }
    }
}

/// How a key is added again: as urgently as it was.
fn again(item: &Processing<ObjectKey>) -> AddOptions {
    AddOptions { priority: item.priority(), ..AddOptions::default() }
}

/// Runs a handler to its end, or to its panic, of which it says what it said.
pub(crate) async fn catch_panic<F: Future>(handler: impl FnOnce() -> F) -> Result<F::Output, String> {
    // Inside of a future, so that a panic of the closure is caught as one of its future is.
    let mut run = pin!(async { handler().await });
    // Whoever breaks something by a panic could do so by an error.
    let step =
        |cx: &mut TaskContext<'_>| match panic::catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(cause) => Poll::Ready(Err(text_of(&*cause))),
        };
    poll_fn(step).await
}

/// What a panic said.
pub(crate) fn text_of(cause: &(dyn Any + Send)) -> String {
    match (cause.downcast_ref::<&str>(), cause.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "of an unknown kind".to_owned(),
    }
}
