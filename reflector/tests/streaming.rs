//! The first objects by a stream, where a server goes wrong at it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat_fixtures::{ScriptedServer, Step};
use lariat_reflector::InitialList;
use serde_json::{Value, json};
use support::{Log, added, builder, deleted, modified, shown_request, widget};
use tokio::time::{Instant, sleep};

fn complete(version: u32) -> Value {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version.to_string(), "annotations": annotations}}})
}

/// Runs until long after the last step; what was asked, and when.
async fn requests(steps: Vec<Step>, errors: &Log) -> Vec<(String, u64)> {
    let server = ScriptedServer::new(steps);
    let informer = builder(&server, errors).initial_list(InitialList::Streaming).build();
    let over = async {
        while server.steps_left() > 0 {
            sleep(Duration::from_millis(100)).await;
        }
        sleep(Duration::from_millis(600)).await;
    };
    informer.run(over).await;
    server.seen().iter().map(|seen| (shown_request(seen), seen.at.as_secs())).collect()
}

/// RF-30, RF-33, RF-36: one request gives what is there and then what changes.
#[tokio::test(start_paused = true)]
async fn one_request_gives_what_is_there_and_what_changes() {
    let errors = Log::default();
    let events =
        [added("a", 3), added("b", 4), modified("a", 5), deleted("b", 6), complete(7), modified("a", 8)];
    let server = ScriptedServer::new([Step::watch(&events).hold()]);
    let informer = builder(&server, &errors).initial_list(InitialList::Streaming).build();
    let told = Log::default();
    informer.add_handler(told.clone()).unwrap();
    informer.run(sleep(Duration::from_secs(1))).await;
    assert_eq!(told.lines(), ["add a@5 initial", "update a@5 a@8"]);
    assert_eq!(informer.last_sync_resource_version(), "8");
    let target = &server.seen()[0].target;
    for part in [
        "watch=true",
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "allowWatchBookmarks=true",
    ] {
        assert!(target.contains(part), "{part} is not in {target}");
    }
    assert_eq!(errors.lines(), [""; 0]);
}

/// RF-31: what comes twice before all is complete is one object.
#[tokio::test(start_paused = true)]
async fn an_object_that_comes_twice_is_added_once() {
    let events = [added("a", 3), added("a", 3), added("b", 4), complete(7)];
    let server = ScriptedServer::new([Step::watch(&events).hold()]);
    let informer = builder(&server, &Log::default()).initial_list(InitialList::Streaming).build();
    let told = Log::default();
    informer.add_handler(told.clone()).unwrap();
    informer.run(sleep(Duration::from_secs(1))).await;
    assert_eq!(told.lines(), ["add a@3 initial", "add b@4 initial"]);
}

/// RF-34 `[W]`: an endpoint that never completes the stream is listed after some attempts, which do not follow each other at
/// once for ever.
#[tokio::test(start_paused = true)]
async fn a_stream_that_never_completes_is_listed_after_bounded_attempts() {
    let incomplete = || Step::watch(&[added("a", 3)]);
    let mut steps: Vec<Step> = std::iter::repeat_with(incomplete).take(5).collect();
    steps.extend([Step::list("9", &[widget("a", 3)]), Step::watch(&[]).hold()]);
    let errors = Log::default();
    let began = Instant::now();
    let requests = requests(steps, &errors).await;
    let kinds: Vec<&str> = requests.iter().map(|(request, _)| request.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["watch", "watch", "watch", "watch", "watch", "list", "watch"]);
    assert!(began.elapsed() > Duration::from_secs(2), "the later attempts wait");
    assert!(errors.lines().last().unwrap().contains("streaming list failed"), "{:?}", errors.lines());
}

/// RF-34 `[W]`: a server that takes the request for an ordinary watch says nothing at all.
#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_given_up_after_a_minute() {
    let steps = vec![Step::watch(&[]).hold(), Step::list("9", &[widget("a", 3)]), Step::watch(&[]).hold()];
    let errors = Log::default();
    let requests = requests(steps, &errors).await;
    assert_eq!(requests[1], ("list limit=500 rv=0".to_owned(), 60));
    assert!(errors.lines()[0].contains("silent for 60s"), "{:?}", errors.lines());
}

/// RF-48: a connection that is dead shows by its silence, and the next watch goes on from where it was.
#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_silent_is_opened_again_without_a_list() {
    let steps = vec![
        Step::watch(&[added("a", 3), complete(7)]).hold(),
        Step::watch(&[modified("a", 8)]).hold(),
        Step::watch(&[]).hold(),
    ];
    let errors = Log::default();
    let requests = requests(steps, &errors).await;
    let want = [("watch rv=", 0), ("watch rv=7", 180), ("watch rv=8", 360)];
    assert_eq!(requests, want.map(|(request, at)| (request.to_owned(), at)));
}

/// RF-13: internal errors in a series do not lead to a list until its time is over, from its first.
#[tokio::test(start_paused = true)]
async fn internal_errors_are_watched_through_for_a_time() {
    let broken = || {
        Step::watch(&[]).then(Duration::from_secs(4), format!("{}\n", support::error(500, "InternalError")))
    };
    let mut steps = vec![Step::list("5", &[])];
    steps.extend(std::iter::repeat_with(broken).take(4));
    steps.extend([Step::list("6", &[]), Step::watch(&[]).hold()]);
    let server = ScriptedServer::new(steps);
    let informer = builder(&server, &Log::default()).internal_error_retry(Duration::from_secs(10)).build();
    informer.run(sleep(Duration::from_secs(60))).await;
    let kinds: Vec<_> =
        server.seen().iter().map(|seen| shown_request(seen).split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["list", "watch", "watch", "watch", "watch", "list", "watch"]);
}
