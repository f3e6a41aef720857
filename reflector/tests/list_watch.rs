//! What a reflector asks for, and what it makes of the answers.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat_fixtures::Step;
use serde_json::json;
use support::{Run, added, bookmark, deleted, error, modified, widget};
use tokio::time::Instant;

const EXPIRED: &str = r#"{"kind":"Status","status":"Failure","reason":"Expired","code":410}"#;
const FORBIDDEN: &str = r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}"#;
const TOO_LARGE: &str = r#"{"kind":"Status","reason":"Timeout","code":504,
    "details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;

/// RF-5, RF-20, RF-21, RF-40, RF-41, Q-8, Q-24: the first list may come from the server's cache, in pages; the watch begins where it ended.
#[tokio::test(start_paused = true)]
async fn lists_then_watches_from_the_lists_version() {
    let run = Run::of([
        Step::list("10", &[widget("a", 1), widget("b", 2)]),
        Step::watch(&[added("c", 11), modified("a", 12), deleted("b", 13), bookmark(20)]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=10"]);
    assert_eq!(
        run.told(),
        ["add a@1 initial", "add b@2 initial", "add c@11", "update a@1 a@12", "delete b@13"]
    );
    assert_eq!(run.stored(), ["a@12", "c@11"]);
    assert_eq!(run.version(), "20", "a bookmark moves on without an event");
    let watch = &run.server.seen()[1].target;
    assert!(watch.contains("allowWatchBookmarks=true"), "{watch}");
    let timeout: u64 = watch.rsplit_once("timeoutSeconds=").unwrap().1.parse().unwrap();
    assert!((300..=600).contains(&timeout), "{timeout}");
}

/// RF-20, unless it is to be what is newest. Later lists are as ever.
#[tokio::test(start_paused = true)]
async fn a_consistent_start_asks_for_what_is_newest() {
    let expired = error(410, "Expired");
    let steps = [
        Step::list("10", &[widget("a", 1)]),
        Step::watch(&[expired]),
        Step::list("12", &[widget("a", 1)]),
        Step::watch(&[]).hold(),
    ];
    let run = Run::with(|builder| builder.consistent_start(true), steps).await;
    assert_eq!(run.requests(), ["list limit=500 rv=", "watch rv=10", "list rv=10", "watch rv=12"],);
}

/// RF-15: a clean end is gone on from at once, without a list, from the last event or bookmark.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_at_once_without_a_list() {
    let run = Run::of([
        Step::list("10", &[]),
        Step::watch(&[added("a", 11)]),
        Step::watch(&[bookmark(30)]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=10", "watch rv=11", "watch rv=30"]);
    assert!(run.server.seen()[3].at < Duration::from_millis(500));
    assert!(run.errors().is_empty());
}

/// RF-49: so is one that loses its connection, or is cut off inside an event.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_off_is_resumed_without_a_list() {
    let half = added("b", 12).to_string()[..30].to_owned();
    let run = Run::of([
        Step::list("10", &[]),
        Step::watch(&[added("a", 11)]).abort(),
        Step::watch(&[modified("a", 12)]).then(Duration::ZERO, half),
        Step::watch(&[added("b", 13)]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=10", "watch rv=11", "watch rv=12"]);
    assert_eq!(run.stored(), ["a@12", "b@13"]);
    assert!(run.errors().is_empty());
}

/// RF-49 [W]: a server that sends something and hangs up, again and again, is not hammered.
#[tokio::test(start_paused = true)]
async fn short_watches_are_not_reopened_in_a_hot_loop() {
    let steps = (0..20).map(|number| Step::watch(&[modified("a", 11 + number)]));
    let run = Run::of([Step::list("10", &[])].into_iter().chain(steps)).await;
    let seen = run.server.seen();
    assert!(seen[5].at < Duration::from_millis(500), "the first few are reopened at once");
    assert!(seen[15].at >= Duration::from_secs(8), "then one a second: {:?}", seen[15].at);
}

/// RF-10, SI-13: an ERROR event 410 ends the round; after a back-off the list starts from the last version. Deletions that were
/// missed are delivered as tombstones, and what did not change is not told.
#[tokio::test(start_paused = true)]
async fn a_gone_event_lists_again_and_delivers_missed_deletions() {
    let run = Run::of([
        Step::list("10", &[widget("a", 1), widget("b", 2), widget("c", 3)]),
        Step::watch(&[modified("a", 11), error(410, "Expired")]),
        Step::list("20", &[widget("a", 15), widget("c", 3), widget("d", 16)]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=10", "list rv=11", "watch rv=20"]);
    assert_eq!(run.told()[3..], ["update a@1 a@11", "tombstone b@2", "update a@11 a@15", "add d@16"]);
    assert_eq!(run.stored(), ["a@15", "c@3", "d@16"]);
    let waited = run.server.seen()[2].at;
    assert!((800..1_600).contains(&waited.as_millis()), "RF-3: {waited:?}");
}

/// RF-10: a watch that cannot be opened because its version expired ends the round too.
#[tokio::test(start_paused = true)]
async fn an_expired_version_at_open_lists_again() {
    let run = Run::of([
        Step::list("10", &[widget("a", 1)]),
        Step::json(410, EXPIRED),
        Step::list("20", &[]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=10", "list rv=10", "watch rv=20"]);
    assert_eq!(run.told(), ["add a@1 initial", "tombstone a@1"]);
    assert_eq!(run.errors().len(), 1, "RF-6: {:?}", run.errors());
}

/// RF-10, RF-11, RF-20: a version that the server does not have is given up at once for its newest.
#[tokio::test(start_paused = true)]
async fn a_list_at_an_unavailable_version_is_retried_at_the_newest() {
    for unavailable in [Step::json(410, EXPIRED), Step::json(504, TOO_LARGE)] {
        let run = Run::of([
            Step::list("10", &[]),
            Step::watch(&[error(410, "Expired")]),
            unavailable,
            Step::list("20", &[]),
            Step::watch(&[error(410, "Expired")]),
            Step::list("30", &[]),
            Step::watch(&[]).hold(),
        ])
        .await;
        let requests = run.requests();
        assert_eq!(requests[2..], ["list rv=10", "list rv=", "watch rv=20", "list rv=20", "watch rv=30"]);
    }
}

/// Section 10: if the retry fails as well, the next list asks for the newest too.
#[tokio::test(start_paused = true)]
async fn a_version_stays_unavailable_until_a_list_succeeds() {
    let run = Run::of([
        Step::list("10", &[]),
        Step::watch(&[error(410, "Expired")]),
        Step::json(410, EXPIRED),
        Step::json(500, ""),
        Step::list("20", &[]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests()[2..], ["list rv=10", "list rv=", "list limit=500 rv=", "watch rv=20"]);
}

/// RF-21, RF-22, RF-23: pages follow their token without a version; a server without a watch cache is remembered.
#[tokio::test(start_paused = true)]
async fn a_list_in_pages_is_put_together() {
    let page = |version: &str, next: &str, names: &[&str]| {
        let items: Vec<_> = names.iter().map(|name| widget(name, 1)).collect();
        let meta = json!({"resourceVersion": version, "continue": next});
        Step::json(200, json!({"metadata": meta, "items": items}).to_string())
    };
    let run = Run::of([
        page("10", "t1", &["a", "b"]),
        page("10", "t2", &["c"]),
        page("10", "", &["d"]),
        Step::watch(&[error(410, "Expired")]),
        page("20", "", &["a"]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(
        run.requests(),
        [
            "list limit=500 rv=0",
            "list limit=500 continue=t1 rv=",
            "list limit=500 continue=t2 rv=",
            "watch rv=10",
            "list limit=500 rv=10",
            "watch rv=20"
        ]
    );
    assert_eq!(run.told()[..4], ["add a@1 initial", "add b@1 initial", "add c@1 initial", "add d@1 initial"]);
    assert_eq!(run.stored(), ["a@1"]);
}

/// RF-23: when a later page expires, one list without pages takes its place.
#[tokio::test(start_paused = true)]
async fn an_expired_continue_token_lists_everything_at_once() {
    let first = json!({"metadata": {"resourceVersion": "10", "continue": "t"}, "items": [widget("a", 1)]});
    let run = Run::of([
        Step::json(200, first.to_string()),
        Step::json(410, EXPIRED),
        Step::list("12", &[widget("b", 11)]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests()[1..], ["list limit=500 continue=t rv=", "list rv=0", "watch rv=12"]);
    assert_eq!(run.stored(), ["b@11"]);
}

/// RF-8: whatever the server is waited for, the end of the informer does not wait and is no error.
#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_the_server() {
    let endless_list =
        Step::watch(&[]).then(Duration::ZERO, r#"{"metadata":{"resourceVersion":"1"},"items":["#);
    for steps in [
        vec![endless_list.hold()],
        vec![Step::list("10", &[]), Step::watch(&[]).hold()],
        // In back-off.
        vec![Step::list("10", &[]), Step::refuse()],
    ] {
        let began = Instant::now();
        let run = Run::of(steps).await;
        assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
        let errors = run.errors();
        assert!(errors.iter().all(|error| error.contains("refused")), "{errors:?}");
    }
}

/// RF-12: refused connections and 429 at open wait and open again, without a list.
#[tokio::test(start_paused = true)]
async fn a_watch_that_may_be_retried_is_opened_again_without_a_list() {
    let run = Run::of([
        Step::list("10", &[]),
        Step::refuse(),
        Step::json(429, r#"{"kind":"Status","reason":"TooManyRequests","code":429}"#),
        Step::watch(&[error(429, "TooManyRequests")]),
        Step::watch(&[added("a", 11)]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=10", "watch rv=10", "watch rv=10"]);
    assert_eq!(run.errors().len(), 3);
    let waits: Vec<_> = run.server.seen().iter().map(|seen| seen.at.as_millis()).collect();
    assert!(waits[1] >= 800 && waits[2] - waits[1] >= 1_600 && waits[3] - waits[2] >= 3_200, "{waits:?}");
}

/// RF-45: a watch that ends at once with nothing is a failure.
#[tokio::test(start_paused = true)]
async fn a_very_short_watch_lists_again() {
    let run =
        Run::of([Step::list("10", &[]), Step::watch(&[]), Step::list("10", &[]), Step::watch(&[]).hold()])
            .await;
    assert_eq!(run.requests()[2..], ["list rv=10", "watch rv=10"]);
    assert!(run.errors()[0].contains("under a second"), "{:?}", run.errors());
}

/// RF-2, RF-6: a refused list is reported and tried again, and the cache keeps what it has.
#[tokio::test(start_paused = true)]
async fn a_refused_list_is_reported_and_tried_again() {
    let run = Run::of([
        Step::json(403, FORBIDDEN),
        Step::list("10", &[widget("a", 1)]),
        Step::watch(&[error(410, "Expired")]),
        Step::json(403, FORBIDDEN),
        Step::json(200, "not JSON"),
        Step::json(200, r#"{"metadata":{"resourceVersion":"20"},"items":[{"metadata":{"name":"z"#),
        Step::json(200, r#"{"kind":"Widget","metadata":{"name":"x","resourceVersion":"1"}}"#),
    ])
    .await;
    assert!(run.errors()[0].contains("403"), "{:?}", run.errors());
    assert_eq!(run.errors().len(), 6, "{:?}", run.errors());
    assert_eq!(run.stored(), ["a@1"], "nothing is lost");
    assert_eq!(run.told(), ["add a@1 initial"]);
    assert_eq!(run.version(), "10");
}

/// RF-14, RF-47, section 10: what cannot be an event ends the round, is reported, and the list makes good for it.
#[tokio::test(start_paused = true)]
async fn what_is_no_event_is_reported_and_listed_over() {
    for (text, want) in [
        ("nonsense\n", "not JSON"),
        ("{\"type\":\"RENAMED\",\"object\":{}}\n", "unknown type \"RENAMED\""),
        ("{\"kind\":\"List\",\"items\":[]}\n", "no \"type\""),
        ("{\"type\":\"ADDED\",\"object\":{\"meta\nnonsense\n", "not JSON"),
    ] {
        let run = Run::of([
            Step::list("10", &[widget("a", 1)]),
            Step::watch(&[modified("a", 11)]).then(Duration::ZERO, text).hold(),
            Step::list("20", &[widget("a", 11), widget("b", 12)]),
            Step::watch(&[]).hold(),
        ])
        .await;
        assert!(run.errors()[0].contains(want), "{text}: {:?}", run.errors());
        assert_eq!(run.requests()[2..], ["list rv=11", "watch rv=20"], "{text}");
        assert_eq!(run.stored(), ["a@11", "b@12"], "{text}");
    }
}

/// One bad object is one bad object: a list would bring it again, so the watch goes on, and what was held of it stays.
#[tokio::test(start_paused = true)]
async fn an_undecodable_event_is_reported_and_skipped() {
    let bad =
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},\"spec\":7}}\n";
    let after = format!("{}\n", modified("b", 13));
    let run = Run::of([
        Step::list("10", &[widget("a", 1), widget("b", 2)]),
        Step::watch(&[]).then(Duration::ZERO, bad).then(Duration::ZERO, after).hold(),
    ])
    .await;
    assert!(run.errors()[0].starts_with("object n/a cannot be decoded"), "{:?}", run.errors());
    assert_eq!(run.requests().len(), 2);
    assert_eq!((run.stored().join(" "), run.version()), ("a@1 b@13".into(), "13".into()));
}

/// One bad object is one bad object: the informer syncs, and what it held of the object stays.
#[tokio::test(start_paused = true)]
async fn an_undecodable_item_is_skipped_and_what_was_known_stays() {
    let bad = json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "15"}, "spec": {"value": "seven"}});
    let run = Run::of([
        Step::list("10", &[widget("a", 1), widget("b", 2)]),
        Step::watch(&[error(410, "Expired")]),
        Step::list("20", &[bad, widget("c", 3)]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.stored(), ["a@1", "c@3"]);
    assert_eq!(run.told()[2..], ["tombstone b@2", "add c@3"]);
    assert!(run.errors()[1].contains("object n/a cannot be decoded"), "{:?}", run.errors());
    assert_eq!(run.version(), "20");
}

/// Section 10 [W]: an item without a name has no key; it is reported and skipped.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_is_reported_and_skipped() {
    let nameless = json!({"metadata": {"namespace": "n", "resourceVersion": "5"}, "spec": {"value": 1}});
    let run = Run::of([
        Step::list("10", &[nameless.clone(), widget("a", 1)]),
        Step::watch(&[json!({"type": "ADDED", "object": nameless}), added("b", 11)]).hold(),
    ])
    .await;
    assert_eq!(run.stored(), ["a@1", "b@11"]);
    assert_eq!(run.errors().len(), 2);
    assert!(run.errors()[0].contains("no metadata.name"), "{:?}", run.errors());
}

/// Q-27 [W]: deleted and created again while nobody looked is a deletion and a creation.
#[tokio::test(start_paused = true)]
async fn another_uid_under_the_same_name_is_a_delete_and_an_add() {
    let mut reborn = widget("a", 15);
    reborn["metadata"]["uid"] = "another".into();
    let run = Run::of([
        Step::list("10", &[widget("a", 1)]),
        Step::watch(&[error(410, "Expired")]),
        Step::list("20", &[reborn.clone()]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.told(), ["add a@1 initial", "tombstone a@1", "add a@15"]);
}

/// Section 10 [W]: versions that are missing or go back do not move the watch back.
#[tokio::test(start_paused = true)]
async fn the_version_never_goes_back() {
    let mut unversioned = modified("a", 0);
    unversioned["object"]["metadata"]["resourceVersion"] = "".into();
    let run = Run::of([
        Step::list("10", &[widget("a", 1)]),
        Step::watch(&[modified("a", 12), unversioned, bookmark(11)]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests()[2], "watch rv=12");
}

/// RF-44: while a watch without a version tells what there is, versions come in no order and are not trusted.
#[tokio::test(start_paused = true)]
async fn the_initial_burst_of_a_watch_without_a_version_is_not_trusted() {
    let run = Run::of([
        Step::list("", &[]),
        Step::watch(&[added("a", 30), added("b", 20)]),
        Step::watch(&[added("a", 30), added("b", 20), modified("b", 31), added("c", 32)]),
        Step::watch(&[]).hold(),
    ])
    .await;
    assert_eq!(run.requests(), ["list limit=500 rv=0", "watch rv=", "watch rv=", "watch rv=32"]);
    assert_eq!(
        run.told(),
        ["add a@30", "add b@20", "update b@20 b@31", "add c@32"],
        "repeated events are no news"
    );
}
