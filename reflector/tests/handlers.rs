//! All kinds of handlers.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lariat_api::ResourceVersion;
use lariat_fixtures::{ScriptedServer, Step};
use lariat_reflector::{Event, FilteringHandler, HandlerFns, Informer, Metrics, ReflectorError};
use support::{Log, Widget, added, builder, deleted, informer, modified, shown, shown_request, widget};
use tokio::time::{sleep, timeout};

fn second(event: &serde_json::Value) -> (Duration, String) {
    (Duration::from_secs(1), format!("{event}\n"))
}

/// Two objects, and four events a second apart.
fn server() -> ScriptedServer {
    let events = [modified("a", 11), added("c", 12), deleted("b", 13), modified("c", 14)];
    let watch =
        events.iter().map(second).fold(Step::watch(&[]), |step, (after, line)| step.then(after, line));
    ScriptedServer::new([Step::list("10", &[widget("a", 1), widget("b", 2)]), watch.hold()])
}

fn run(informer: &Informer<Widget>, seconds: u64) -> tokio::task::JoinHandle<()> {
    let informer = informer.clone();
    tokio::spawn(async move { informer.run(sleep(Duration::from_secs(seconds))).await })
}

const STORY: [&str; 7] = [
    "Added(n/a, initial)",
    "Added(n/b, initial)",
    "Synced",
    "Updated(n/a)",
    "Added(n/c)",
    "Deleted(n/b)",
    "Updated(n/c)",
];

/// A closure that returns a future is called for one event after another, even if it takes its time.
#[tokio::test(start_paused = true)]
async fn an_async_handler_hears_the_story_in_order() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let (log, running) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let handler = informer
        .add_async_handler({
            let log = log.clone();
            move |event: Event<Widget>| {
                let (log, running) = (log.clone(), running.clone());
                async move {
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two calls at once");
                    sleep(Duration::from_millis(1_700)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    log.push(format!("{event:?}"));
                }
            }
        })
        .unwrap();
    run(&informer, 6).await.unwrap();
    assert_eq!(log.lines(), STORY);
    assert!(handler.has_synced());
}

/// SI-15, SI-9 `[W]`: a panic in the future or before it costs the one call.
#[tokio::test(start_paused = true)]
async fn an_async_handler_that_panics_goes_on_and_syncs() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let log = Log::default();
    let handler = informer
        .add_async_handler({
            let log = log.clone();
            move |event: Event<Widget>| {
                let name = format!("{event:?}");
                assert_ne!(name, STORY[0], "on purpose");
                let log = log.clone();
                async move {
                    assert_ne!(name, STORY[3], "on purpose");
                    log.push(name);
                }
            }
        })
        .unwrap();
    run(&informer, 6).await.unwrap();
    assert_eq!(log.lines(), [STORY[1], STORY[2], STORY[4], STORY[5], STORY[6]]);
    assert!(handler.has_synced());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_the_story_as_a_stream() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let mut events = informer.subscribe().unwrap();
    let running = run(&informer, 6);
    let mut story = Vec::new();
    while let Some(event) = events.next().await {
        story.push(format!("{event:?}"));
    }
    assert_eq!(story, STORY);
    running.await.unwrap();
    assert!(informer.subscribe().is_err(), "the informer has stopped");
}

/// For threads that know nothing of tokio.
#[tokio::test]
async fn a_channel_is_the_story_for_threads() {
    let server =
        ScriptedServer::new([Step::list("10", &[widget("a", 1)]), Step::watch(&[modified("a", 11)]).hold()]);
    let informer = informer(&server, &Log::default());
    let events = informer.subscribe_channel(1).unwrap();
    let (told, heard) = tokio::sync::oneshot::channel();
    let reader = std::thread::spawn(move || {
        let story: Vec<String> = events.iter().take(3).map(|event| format!("{event:?}")).collect();
        let _ = told.send(());
        // The channel ends with the informer.
        (story, events.iter().count())
    });
    let runner = informer.clone();
    let running = tokio::spawn(async move { runner.run(async { drop(heard.await) }).await });
    running.await.unwrap();
    let (story, rest) = tokio::task::spawn_blocking(|| reader.join().unwrap()).await.unwrap();
    assert_eq!((story.join(", "), rest), ("Added(n/a, initial), Synced, Updated(n/a)".into(), 0));
}

/// SI-6: the same handler added twice is two handlers, and removing one leaves the other.
#[tokio::test(start_paused = true)]
async fn a_handler_that_is_added_twice_hears_everything_twice() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let log = Log::default();
    informer.add_handler(log.clone()).unwrap();
    let second = informer.add_handler(log.clone()).unwrap();
    let running = run(&informer, 6);
    sleep(Duration::from_millis(1_500)).await;
    informer.remove_handler(&second);
    running.await.unwrap();
    let lines = log.lines();
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
    assert_eq!(
        (count("add a@1 initial"), count("update a@1 a@11"), count("add c@12")),
        (2, 2, 1),
        "{lines:?}"
    );
}

/// RF-43 `[W]`, Q-26 `[W]`: an event whose transform fails is not passed over: the version stays before it, and a list brings
/// the object.
#[tokio::test(start_paused = true)]
async fn an_event_whose_transform_fails_is_not_lost() {
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1)]),
        Step::watch(&[modified("a", 11), modified("b", 12)]).hold(),
        Step::list("12", &[widget("a", 11), widget("b", 12)]),
        Step::watch(&[]).hold(),
    ]);
    let has_failed = AtomicBool::new(false);
    let informer = builder(&server, &Log::default())
        .transform(move |object: &mut Widget| {
            let fails = object.metadata.resource_version == "11" && !has_failed.swap(true, Ordering::SeqCst);
            if fails { Err("on purpose".into()) } else { Ok(()) }
        })
        .build();
    let log = Log::default();
    informer.add_handler(log.clone()).unwrap();
    run(&informer, 10).await.unwrap();
    let requests: Vec<String> = server.seen().iter().map(shown_request).collect();
    assert_eq!(requests[1..], ["watch rv=10", "list rv=10", "watch rv=12"]);
    assert_eq!(log.lines(), ["add a@1 initial", "update a@1 a@11", "add b@12"]);
}

/// Q-5 `[W]`: a list is applied but for the objects whose transform fails, of which what was known stays.
#[tokio::test(start_paused = true)]
async fn a_list_is_applied_without_the_objects_whose_transform_fails() {
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1), widget("b", 2), widget("c", 3)]),
        Step::watch(&[support::error(410, "Expired")]),
        Step::list("20", &[widget("a", 13), widget("b", 14)]),
        Step::watch(&[]).hold(),
    ]);
    let errors = Log::default();
    let informer = builder(&server, &errors)
        .transform(|object: &mut Widget| match &*object.metadata.resource_version {
            "13" => Err("on purpose".into()),
            _ => Ok(()),
        })
        .build();
    let log = Log::default();
    informer.add_handler(log.clone()).unwrap();
    run(&informer, 10).await.unwrap();
    assert_eq!(log.lines()[3..], ["tombstone c@3", "update b@2 b@14"]);
    assert_eq!(informer.lister().store().get("n/a").map(|object| shown(&object)).unwrap(), "a@1");
    assert!(errors.lines()[1].contains("transform of n/a failed"), "{:?}", errors.lines());
}

/// SI-14.
#[tokio::test(start_paused = true)]
async fn a_filter_makes_additions_and_deletions_of_what_enters_and_leaves() {
    let events =
        [modified("a", 12), modified("a", 13), modified("a", 14), modified("a", 15), deleted("a", 16)];
    let server = ScriptedServer::new([Step::list("10", &[widget("a", 11)]), Step::watch(&events).hold()]);
    let informer = informer(&server, &Log::default());
    let log = Log::default();
    let even = |object: &Widget| {
        let version = shown(object);
        version.ends_with(['2', '3', '5', '6'])
    };
    informer.add_handler(FilteringHandler::new(even, log.clone())).unwrap();
    run(&informer, 1).await.unwrap();
    assert_eq!(log.lines(), ["add a@12", "update a@12 a@13", "delete a@13", "add a@15", "delete a@16"]);
}

/// SI-7, SI-8: what is in the queue is not heard of any more, and the call that has begun is waited for.
#[tokio::test(start_paused = true)]
async fn a_handler_that_is_shut_down_ends_with_the_call_that_has_begun() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let log = Log::default();
    let handler = informer
        .add_async_handler({
            let log = log.clone();
            move |event: Event<Widget>| {
                let log = log.clone();
                async move {
                    log.push(format!("begin {event:?}"));
                    sleep(Duration::from_secs(30)).await;
                    log.push(format!("end {event:?}"));
                }
            }
        })
        .unwrap();
    let running = run(&informer, 100);
    sleep(Duration::from_secs(2)).await;
    let shut_down = informer.shut_down_handler(&handler);
    assert!(timeout(Duration::from_secs(10), shut_down).await.is_err(), "the call goes on");
    informer.shut_down_handler(&handler).await;
    assert_eq!(log.lines(), ["begin Added(n/a, initial)", "end Added(n/a, initial)"]);
    // SI-7: once more does nothing.
    informer.remove_handler(&handler);
    informer.shut_down_handler(&handler).await;
    running.abort();
}

/// SI-8: one that never began is not waited for.
#[tokio::test]
async fn a_handler_can_be_shut_down_before_the_start() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let handler = informer.add_handler(Log::default()).unwrap();
    informer.shut_down_handler(&handler).await;
    assert!(!handler.has_synced());
}

/// SI-1 `[W]`: a handler that is stuck delays nobody and holds a bounded part of what happens.
#[tokio::test(start_paused = true)]
async fn a_stuck_handler_delays_nobody_and_holds_little() {
    let events: Vec<_> = (11..20_011).map(|version| modified("a", version)).collect();
    let server = ScriptedServer::new([Step::list("10", &[widget("a", 1)]), Step::watch(&events).hold()]);
    let informer = informer(&server, &Log::default());
    let stuck = informer.add_async_handler(|_| std::future::pending()).unwrap();
    let (log, updates) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let counted = updates.clone();
    informer
        .add_handler(HandlerFns::new().on_update(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
        }))
        .unwrap();
    let running = run(&informer, 100);
    sleep(Duration::from_secs(50)).await;
    assert_eq!(updates.load(Ordering::SeqCst), 20_000);
    assert!(informer.pending() <= 1_024, "{} pending", informer.pending());
    assert!(informer.coalesced() > 18_000, "{} folded", informer.coalesced());
    assert!(!stuck.has_synced());
    assert!(log.lines().is_empty());
    running.abort();
}

/// SI-11, SI-12, RF-50, Q-7, Q-23: handlers are told of everything each at its period, which is no less than a second and no less than how
/// often is looked.
#[tokio::test(start_paused = true)]
async fn each_handler_is_resynced_at_its_period() {
    let server = ScriptedServer::new([Step::list("10", &[widget("a", 1)]), Step::watch(&[]).hold()]);
    let informer = builder(&server, &Log::default()).resync_period(Duration::from_secs(10)).build();
    let logs: Vec<Log> = std::iter::repeat_with(Log::default).take(5).collect();
    let add = |log: usize, period: u64| {
        informer.add_handler_with_resync_period(logs[log].clone(), Duration::from_millis(period)).unwrap()
    };
    informer.add_handler(logs[0].clone()).unwrap();
    // Shortens how often is looked to 4 s.
    add(1, 4_000);
    add(2, 0);
    let running = run(&informer, 41);
    sleep(Duration::from_millis(10)).await;
    // Too late: lengthened to 4 s.
    add(3, 1);
    running.await.unwrap();
    let resyncs = |log: usize| logs[log].lines().iter().filter(|line| *line == "update a@1 a@1").count();
    // Looked at 4, 8, 12 …: 10 s are over at 12, 24 and 36.
    assert_eq!((resyncs(0), resyncs(1), resyncs(2)), (3, 10, 0));
    assert!((9..=10).contains(&resyncs(3)), "{}", resyncs(3));
}

/// ST-7: after a write one waits until one reads it.
#[tokio::test(start_paused = true)]
async fn one_waits_for_a_version_to_read_ones_own_write() {
    let server = server();
    let informer = informer(&server, &Log::default());
    let running = run(&informer, 10);
    assert!(timeout(Duration::from_millis(500), informer.wait_for("12")).await.is_err(), "too early");
    informer.wait_for("12").await;
    assert!(informer.lister().store().get("n/c").is_some());
    assert_eq!(
        ResourceVersion::compare(&informer.last_sync_resource_version(), "12").unwrap(),
        std::cmp::Ordering::Equal
    );
    // What was reached is there at once.
    timeout(Duration::from_millis(1), informer.wait_for("9")).await.unwrap();
    running.abort();
}

/// Q-9, SI-12 `[W]`: a transform that blanks versions hides no change and makes none.
#[tokio::test(start_paused = true)]
async fn whether_an_object_changed_is_judged_before_the_transform() {
    let events = [modified("a", 11), modified("a", 11), modified("a", 12), deleted("b", 13)];
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1), widget("b", 2)]),
        Step::watch(&events).hold(),
    ]);
    let informer = builder(&server, &Log::default())
        .transform(|object: &mut Widget| {
            object.metadata.resource_version = "".into();
            Ok(())
        })
        .build();
    let log = Log::default();
    informer.add_handler(log.clone()).unwrap();
    run(&informer, 1).await.unwrap();
    assert_eq!(
        log.lines(),
        ["add a@ initial", "add b@ initial", "update a@ a@", "update a@ a@", "delete b@"]
    );
    assert_eq!(informer.last_sync_resource_version(), "13");
}

/// RF-52 `[W]`: lists, watches, events, bytes and failures are counted.
#[tokio::test(start_paused = true)]
async fn what_an_informer_does_is_told_to_its_metrics() {
    struct Lines(Log);

    impl Metrics for Lines {
        fn listed(&self, informer: &str, objects: usize, _: Duration) {
            self.0.push(format!("{informer} listed {objects}"));
        }

        fn watch_opened(&self, _: &str) {
            self.0.push("opened".into());
        }

        fn watch_ended(&self, _: &str, events: u64, took: Duration) {
            self.0.push(format!("ended after {events} in {took:?}"));
        }

        fn applied(&self, _: &str, events: usize, _: Duration) {
            self.0.push(format!("applied {events}"));
        }

        fn read(&self, _: &str, bytes: u64) {
            assert!(bytes > 20, "{bytes}");
            self.0.push("read".into());
        }

        fn bookmarked(&self, _: &str, version: &str) {
            self.0.push(format!("bookmark {version}"));
        }

        fn failed(&self, _: &str, error: &ReflectorError) {
            self.0.push(format!("failed, relist {}", error.causes_relist()));
        }

        fn handler_panicked(&self, _: &str) {
            self.0.push("panicked".into());
        }
    }

    let gone = support::error(410, "Expired");
    let watch =
        Step::watch(&[modified("a", 11), added("b", 12)]).then(Duration::from_secs(2), format!("{gone}\n"));
    let server = ScriptedServer::new([
        Step::list("10", &[widget("a", 1)]),
        watch,
        Step::list("13", &[widget("a", 11)]),
        Step::watch(&[]).hold(),
    ]);
    let log = Log::default();
    let informer = builder(&server, &Log::default()).metrics(Arc::new(Lines(log.clone()))).build();
    informer.add_handler(HandlerFns::new().on_update(|_, _| panic!("on purpose"))).unwrap();
    run(&informer, 8).await.unwrap();
    let mut lines = log.lines();
    // The handler has a task of its own.
    let panics = lines.iter().filter(|line| *line == "panicked").count();
    lines.retain(|line| line != "panicked");
    assert_eq!(panics, 1);
    let want = [
        "read",
        "widgets.example.dev listed 1",
        "bookmark 10",
        "opened",
        "applied 1",
        "read",
        "applied 1",
        "read",
        "read",
        "ended after 3 in 2s",
        "failed, relist true",
        "read",
        "widgets.example.dev listed 1",
        "bookmark 13",
        "opened",
    ];
    assert_eq!(lines, want);
}
