//! Several handlers on one informer, and its end.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lariat_api::labels::Selector;
use lariat_fixtures::{ScriptedServer, Step};
use lariat_reflector::{HandlerFns, Informer};
use support::{Log, Widget, added, informer, modified, widget};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

struct Running {
    informer: Informer<Widget>,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

/// Starts an informer on a script, with these handlers from the beginning.
fn start(server: &ScriptedServer, handlers: Vec<Log>) -> Running {
    let informer = informer(server, &Log::default());
    for handler in handlers {
        informer.add_handler(handler).unwrap();
    }
    let (stop, stopped) = oneshot::channel();
    let runner = informer.clone();
    let task = tokio::spawn(async move { runner.run(async { drop(stopped.await) }).await });
    Running { informer, task, stop }
}

impl Running {
    async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }
}

fn later(milliseconds: u64, event: &serde_json::Value) -> (Duration, String) {
    (Duration::from_millis(milliseconds), format!("{event}\n"))
}

fn watch_with(events: impl IntoIterator<Item = (Duration, String)>) -> Step {
    events.into_iter().fold(Step::watch(&[]), |step, (after, event)| step.then(after, event)).hold()
}

/// SI-5: a handler that is added while the informer runs hears of all that is there, then of what changes.
#[tokio::test(start_paused = true)]
async fn a_late_handler_hears_everything_once() {
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1), widget("b", 2)]),
        watch_with([later(1_000, &modified("a", 11)), later(2_000, &added("c", 12))]),
    ]);
    let (early, late) = (Log::default(), Log::default());
    let running = start(&server, vec![early.clone()]);
    sleep(Duration::from_secs(2)).await;
    let registration = running.informer.add_handler(late.clone()).unwrap();
    registration.wait_for_sync().await;
    let mut first = late.lines();
    first.sort();
    assert_eq!(first, ["add a@11 initial", "add b@2 initial"]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(late.lines()[2..], ["add c@12"]);
    assert_eq!(early.lines()[2..], ["update a@1 a@11", "add c@12"]);
    running.stop().await;
}

/// SI-7: a handler that was removed hears of nothing new; removing it again is nothing.
#[tokio::test(start_paused = true)]
async fn a_removed_handler_hears_nothing_more() {
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1)]),
        watch_with([later(1_000, &modified("a", 11)), later(1_000, &modified("a", 12))]),
    ]);
    let (kept, removed) = (Log::default(), Log::default());
    let running = start(&server, vec![kept.clone()]);
    let registration = running.informer.add_handler(removed.clone()).unwrap();
    sleep(Duration::from_millis(1_500)).await;
    running.informer.remove_handler(&registration);
    running.informer.remove_handler(&registration);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(removed.lines(), ["add a@1 initial", "update a@1 a@11"]);
    assert_eq!(kept.lines().len(), 3);
    running.stop().await;
}

/// SI-9, SI-10, Q-11: an informer has synced when the first list is in the store, a handler when it was told of all of it.
#[tokio::test(start_paused = true)]
async fn syncing_is_told_to_informer_and_handler() {
    let server = ScriptedServer::new([Step::json(500, ""), Step::list("10", &[widget("a", 1)])]);
    let running = start(&server, vec![]);
    let told = Log::default();
    let registration = running.informer.add_handler(told.clone()).unwrap();
    sleep(Duration::from_millis(100)).await;
    assert!(!running.informer.has_synced() && !registration.has_synced());
    running.informer.wait_for_sync().await;
    assert_eq!(running.informer.lister().list(&Selector::everything()).len(), 1);
    registration.wait_for_sync().await;
    assert!(running.informer.has_synced() && registration.has_synced());
    assert_eq!(told.lines(), ["add a@1 initial"]);
    running.stop().await;
}

/// SI-9 [W], SI-15: a handler that panics is told of everything else, and counts as synced; others notice nothing.
#[tokio::test(start_paused = true)]
async fn a_panicking_handler_goes_on_and_syncs() {
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1), widget("b", 2)]),
        watch_with([later(1_000, &modified("b", 11))]),
    ]);
    let other = Log::default();
    let running = start(&server, vec![other.clone()]);
    let calls = Arc::new(AtomicUsize::new(0));
    let (adds, updates) = (calls.clone(), calls.clone());
    let panicking = HandlerFns::<Widget>::new()
        .on_add(move |_, _| {
            adds.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        })
        .on_update(move |_, _| {
            updates.fetch_add(1, Ordering::Relaxed);
        });
    let registration = running.informer.add_handler(panicking).unwrap();
    registration.wait_for_sync().await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(other.lines().len(), 3);
    running.stop().await;
}

/// SI-4, SI-17, RF-46: after the shutdown handlers hear of what was applied before, and then nothing is left running. A
/// handler is not taken any more.
#[tokio::test(start_paused = true)]
async fn shutdown_delivers_what_was_applied_and_leaves_no_task() {
    let server =
        ScriptedServer::new([Step::list("10", &[widget("a", 1)]), Step::watch(&[added("b", 11)]).hold()]);
    let told = Log::default();
    let running = start(&server, vec![told.clone()]);
    let informer = running.informer.clone();
    informer.wait_for_sync().await;
    sleep(Duration::from_millis(10)).await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    running.stop().await;
    assert_eq!(told.lines(), ["add a@1 initial", "add b@11"]);
    // The connections of client and server go as soon as they are polled once more.
    sleep(Duration::from_secs(200)).await;
    assert!(tokio::runtime::Handle::current().metrics().num_alive_tasks() < tasks);
    assert!(informer.add_handler(Log::default()).is_err(), "SI-4");
}

/// Dropping the future of `run` ends its tasks too.
#[tokio::test(start_paused = true)]
async fn dropping_the_run_ends_the_handlers_tasks() {
    let server = ScriptedServer::new([Step::list("10", &[widget("a", 1)])]);
    let running = start(&server, vec![Log::default(), Log::default()]);
    running.informer.wait_for_sync().await;
    running.task.abort();
    assert!(running.task.await.unwrap_err().is_cancelled());
    sleep(Duration::from_secs(200)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    assert!(running.informer.add_handler(Log::default()).is_err());
}

/// SI-3: a second run does nothing.
#[tokio::test(start_paused = true)]
async fn an_informer_runs_once() {
    let server = ScriptedServer::new([Step::list("10", &[])]);
    let running = start(&server, vec![]);
    running.informer.wait_for_sync().await;
    running.informer.run(std::future::pending()).await;
    assert_eq!(server.seen().iter().filter(|seen| !seen.target.contains("watch=true")).count(), 1);
    running.stop().await;
}
