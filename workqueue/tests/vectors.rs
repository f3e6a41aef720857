//! The recorded answers of client-go's work queue and rate limiters, against ours.
#![allow(clippy::unwrap_used)] // clippy knows tests by their attribute, and takes their helpers for production code

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lariat_fixtures::vectors::{self, Case, Difference, same};
use lariat_workqueue::{
    Bucket, ItemExponentialFailure, ItemFastSlow, MaxOf, PendingDelay, Processing, Queue, RateLimiter,
    WithMaxWait, default_controller_rate_limiter, default_item_based_rate_limiter,
};
use serde_json::Value;

/// The queue is built with client-go's policies, and then differs in one point only: a drain waits for what is queued
/// too (WQ-6). That point is a rule in [`Trace::check_drains`], so that it holds for any trace, and no case is excused.
const DIFFERENCES: &[Difference] = &[];

/// Bucket waits go through floating point in Go.
const BUCKET_TOLERANCE_NS: u128 = 1_000;

#[test]
fn vectors_workqueue_basic() {
    run_traces("client-go/workqueue-basic");
}

#[test]
fn vectors_workqueue_delaying() {
    run_traces("client-go/workqueue-delaying");
}

#[test]
fn vectors_ratelimiting_queue() {
    run_traces("client-go/ratelimiting-queue");
}

#[test]
fn vectors_ratelimiters() {
    vectors::run("client-go/ratelimiters", DIFFERENCES, |case| in_virtual_time(replay_limiter(case)));
}

// === Queues ===

fn run_traces(file: &str) {
    vectors::run(file, DIFFERENCES, |case| {
        in_virtual_time(async {
            let mut trace = Trace::new(&case.input["limiter"])?;
            for (step, (op, want)) in case.trace().enumerate() {
                let context = |text| format!("step {step}, {op}: {text}");
                trace.apply(op, want).await.map_err(context)?;
                trace.check(want).map_err(context)?;
            }
            Ok(())
        })
    });
}

/// A queue in the middle of a trace.
struct Trace {
    queue: Queue<String>,
    held: Vec<Processing<String>>,
    drains: Vec<Drain>,
}

struct Drain {
    future: Pin<Box<dyn Future<Output = ()>>>,
    /// `shut_down` was called since.
    released: bool,
    returned: bool,
}

impl Trace {
    fn new(limiter_spec: &Value) -> Result<Self, String> {
        let builder = Queue::builder().pending_delay(PendingDelay::Keep).charge_duplicates(true);
        let builder =
            if limiter_spec.is_null() { builder } else { builder.rate_limiter(limiter(limiter_spec)?) };
        Ok(Self { queue: builder.build(), held: Vec::new(), drains: Vec::new() })
    }

    async fn apply(&mut self, op: &Value, want: &Value) -> Result<(), String> {
        match text(op, "op") {
            "add" => self.queue.add(item(op)),
            // client-go's durations may be negative, which is the same as zero.
            "addAfter" => self.queue.add_after(item(op), millis(op)),
            "addRateLimited" => self.queue.add_rate_limited(item(op)),
            "forget" => self.queue.forget(&item(op)),
            "advance" => tokio::time::advance(millis(op)).await,
            "get" => return self.get(want),
            "done" => {
                let name = item(op);
                let at = self.held.iter().position(|held| **held == name);
                drop(self.held.remove(at.ok_or("done, but not handed out")?));
            }
            "shutDown" => {
                self.queue.shut_down();
                self.drains.iter_mut().for_each(|drain| drain.released = true);
            }
            "shutDownWithDrain" => {
                let future = Box::pin(self.queue.shut_down_with_drain());
                self.drains.push(Drain { future, released: false, returned: false });
            }
            unknown => return Err(format!("unknown operation {unknown}")),
        }
        Ok(())
    }

    /// `blocks` says that the recorder did not call Get; we do, and give up.
    fn get(&mut self, want: &Value) -> Result<(), String> {
        let answer = match (poll_once(pin!(self.queue.get())), truth(want, "blocks"), truth(want, "shutdown"))
        {
            (Poll::Pending, true, _) | (Poll::Ready(None), _, true) => return Ok(()),
            (Poll::Ready(Some(got)), false, false) => got,
            (answer, ..) => return Err(format!("{answer:?}\n    want {want}")),
        };
        same("item", &answer.as_str(), &text(want, "item"))?;
        self.held.push(answer);
        Ok(())
    }

    fn check(&mut self, want: &Value) -> Result<(), String> {
        same("len", &(self.queue.len() as u64), &number(want, "len"))?;
        if let Some(counts) = want["numRequeues"].as_object() {
            for (name, count) in counts {
                same(name, &u64::from(self.queue.num_requeues(name)), &count.as_u64().unwrap_or(0))?;
            }
        } else {
            same("shuttingDown", &self.queue.is_shutting_down(), &truth(want, "shuttingDown"))?;
        }
        self.check_drains(&want["drainReturned"])
    }

    /// Go's drain returns as soon as nothing is processing, even if items are queued. Ours returns if and only if
    /// nothing is queued or processing (what is dirty is one or the other), or `shut_down` released it. Where ours
    /// returns, Go's must have returned as well.
    fn check_drains(&mut self, want: &Value) -> Result<(), String> {
        let idle = self.queue.is_empty() && self.held.is_empty();
        for (at, drain) in self.drains.iter_mut().enumerate() {
            let returned_in_go = want[at].as_bool().unwrap_or(false);
            drain.returned = drain.returned || poll_once(drain.future.as_mut()).is_ready();
            same(format!("drain {at}, by our rule"), &drain.returned, &(idle || drain.released))?;
            if drain.returned {
                same(format!("drain {at}, in Go"), &returned_in_go, &true)?;
            }
        }
        Ok(())
    }
}

// === Rate limiters ===

async fn replay_limiter(case: &Case) -> Result<(), String> {
    let spec = &case.input["limiter"];
    let limiter = limiter(spec)?;
    let tolerance = if has_bucket(spec) { BUCKET_TOLERANCE_NS } else { 0 };
    for (step, (op, want)) in case.trace().enumerate() {
        let at = format!("step {step}, {op}");
        match text(op, "op") {
            "when" => {
                let got = limiter.when(&item(op)).as_nanos();
                let recorded = u128::from(want.as_u64().unwrap_or(0));
                if got.abs_diff(recorded) > tolerance {
                    return Err(format!("{at}: {got}\n    want {recorded}"));
                }
            }
            "numRequeues" => {
                let got = u64::from(limiter.num_requeues(&item(op)));
                same(at, &got, &want.as_u64().unwrap_or(0))?;
            }
            "forget" => limiter.forget(&item(op)),
            "advance" => tokio::time::advance(millis(op)).await,
            unknown => return Err(format!("unknown operation {unknown}")),
        }
    }
    Ok(())
}

type Limiter = Arc<dyn RateLimiter<String>>;

fn limiter(spec: &Value) -> Result<Limiter, String> {
    Ok(match text(spec, "kind") {
        "exponential" => Arc::new(ItemExponentialFailure::new(nanos(spec, "baseNs"), nanos(spec, "maxNs"))),
        "fastSlow" => {
            let attempts = u32::try_from(number(spec, "maxFastAttempts")).unwrap_or(u32::MAX);
            Arc::new(ItemFastSlow::new(nanos(spec, "fastNs"), nanos(spec, "slowNs"), attempts))
        }
        "bucket" => {
            let burst = u32::try_from(number(spec, "burst")).unwrap_or(u32::MAX);
            Arc::new(Bucket::new(spec["qps"].as_f64().unwrap_or(0.0), burst))
        }
        "maxOf" => Arc::new(MaxOf::new(inner(spec)?.into_iter().map(|limiter| Box::new(limiter) as Box<_>))),
        "withMaxWait" => {
            let first = inner(spec)?.into_iter().next().ok_or("nothing inside")?;
            Arc::new(WithMaxWait::new(first, nanos(spec, "maxNs")))
        }
        "defaultController" => Arc::new(default_controller_rate_limiter()),
        "defaultItemBased" => Arc::new(default_item_based_rate_limiter()),
        unknown => return Err(format!("unknown kind of limiter {unknown}")),
    })
}

fn inner(spec: &Value) -> Result<Vec<Limiter>, String> {
    inner_specs(spec).iter().map(limiter).collect()
}

fn has_bucket(spec: &Value) -> bool {
    matches!(text(spec, "kind"), "bucket" | "defaultController") || inner_specs(spec).iter().any(has_bucket)
}

fn inner_specs(spec: &Value) -> &[Value] {
    spec["inner"].as_array().map_or(&[], Vec::as_slice)
}

// === Fields, of which zero ones may be missing, and time ===

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or("")
}

fn item(op: &Value) -> String {
    text(op, "item").to_owned()
}

fn number(object: &Value, field: &str) -> u64 {
    object[field].as_u64().unwrap_or(0)
}

fn truth(object: &Value, field: &str) -> bool {
    object[field].as_bool().unwrap_or(false)
}

fn millis(op: &Value) -> Duration {
    Duration::from_millis(number(op, "ms"))
}

fn nanos(spec: &Value, field: &str) -> Duration {
    Duration::from_nanos(number(spec, field))
}

fn in_virtual_time<R>(replay: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(replay)
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
