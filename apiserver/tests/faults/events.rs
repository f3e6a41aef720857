//! What is done to the events of watches.

use std::time::Duration;

use lariat_api::Status;
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};

use crate::{MAPS, Watch, faulty, get, put, server, struck};

const INITIAL: &str = "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

fn gone() -> Status {
    Status::from_code(410, "too old")
}

fn set(server: &ApiServer, fault: Fault) {
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(fault)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_an_error_event() {
    let server = faulty(Rule::new(Fault::error_event(gone())));
    put(&server, "a", 1);
    assert_eq!(Watch::begin(&server, "").await.rest().await, ["ERROR 410 too old", "end"]);
    assert_eq!(get(&server, MAPS).await.0, 200, "it strikes watches only");
    assert_eq!(struck(&server), (1, 1));

    set(&server, Fault::error_event_after(2, gone()));
    let mut watch = Watch::begin(&server, "").await;
    assert!(watch.next().await.starts_with("ADDED a=1"));
    assert!(watch.is_silent(Duration::from_secs(30)).await);
    assert_eq!(struck(&server), (1, 0));
    put(&server, "a", 2);
    put(&server, "a", 3);
    assert!(watch.next().await.starts_with("MODIFIED a=2"));
    assert_eq!(watch.rest().await, ["ERROR 410 too old", "end"]);
    assert_eq!(struck(&server), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_dropped() {
    let server = server();
    let version = put(&server, "a", 1);
    let query = format!("{INITIAL}&timeoutSeconds=150");
    let added = format!("ADDED a=1@{version}");
    let (end, bookmark) = (format!("BOOKMARK end@{version}"), format!("BOOKMARK @{version}"));
    let all = Watch::begin(&server, &query).await.rest().await;
    let (a, e, b) = (added.as_str(), end.as_str(), bookmark.as_str());
    assert_eq!(all, [a, e, b, b, b, b, "end"]);

    set(&server, Fault::drop_bookmarks());
    assert_eq!(Watch::begin(&server, &query).await.rest().await, [a, "end"]);
    assert_eq!(struck(&server), (1, 5));

    set(&server, Fault::drop_initial_events_end());
    assert_eq!(Watch::begin(&server, &query).await.rest().await, [a, b, b, b, b, "end"]);
    assert_eq!(struck(&server), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn events_come_twice() {
    let server = server();
    let from = server.resource_version();
    for n in 1..=3 {
        put(&server, "a", n);
    }
    let query = format!("&resourceVersion={from}&timeoutSeconds=61&allowWatchBookmarks=true");
    let events: Vec<String> = Watch::begin(&server, &query).await.rest().await;
    let [one, two, three, last, again, end] = &events[..] else { panic!("{events:?}") };
    assert!(last.starts_with("BOOKMARK") && end == "end");

    set(&server, Fault::duplicate_each());
    let seen = Watch::begin(&server, &query).await.rest().await;
    assert_eq!(seen.iter().collect::<Vec<_>>(), [one, one, two, two, three, three, last, again, end]);
    assert_eq!(struck(&server), (1, 3));

    set(&server, Fault::duplicate_nth(2));
    let seen = Watch::begin(&server, &query).await.rest().await;
    assert_eq!(seen.iter().collect::<Vec<_>>(), [one, two, two, three, last, again, end]);
    assert_eq!(struck(&server), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn events_come_twice_by_chance() {
    let server = server();
    let from = server.resource_version();
    for n in 0..1_000 {
        put(&server, "a", n);
    }
    let query = format!("&resourceVersion={from}&timeoutSeconds=1");
    let mut runs = Vec::new();
    for _ in 0..2 {
        set(&server, Fault::duplicate_randomly(0.3));
        let seen = Watch::begin(&server, &query).await.rest().await;
        let doubled = seen.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((230..370).contains(&doubled), "{doubled}");
        assert_eq!((seen.len(), struck(&server)), (1_001 + doubled, (1, doubled as u64)));
        // Another watch of the same plan has other luck.
        assert_ne!(Watch::begin(&server, &query).await.rest().await, seen);
        runs.push(seen);
    }
    assert_eq!(runs[0], runs[1]);
}
