//! Reads from a watch cache that stands still.

use std::time::Duration;

use http::Method;
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule, Staleness};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::raw::Raw;
use crate::{MAPS, Watch, get, map, put, server, struck};

const INITIAL: &str = "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

/// A server with three writes of which the cache has one, and that version.
fn behind(staleness: fn(u64) -> Staleness) -> (ApiServer, u64) {
    let server = server();
    let old = put(&server, "a", 1);
    put(&server, "a", 2);
    put(&server, "b", 3);
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::stale(staleness(old)))));
    (server, old)
}

/// A list in short: its version, and the objects.
async fn list(server: &ApiServer, query: &str) -> String {
    let (code, list) = get(server, &format!("{MAPS}?{query}")).await;
    if code != 200 {
        return format!("{code} {}", list["message"].as_str().unwrap());
    }
    let items = list["items"].as_array().unwrap().iter();
    let items: Vec<String> = items
        .map(|item| {
            let (name, value) = (&item["metadata"]["name"], &item["data"]["v"]);
            format!("{}={}", name.as_str().unwrap(), value.as_str().unwrap())
        })
        .collect();
    format!("@{} {}", list["metadata"]["resourceVersion"].as_str().unwrap(), items.join(" "))
}

#[tokio::test(start_paused = true)]
async fn reads_that_take_older_versions_get_the_older_state() {
    for staleness in [Staleness::at as fn(u64) -> Staleness, |_| Staleness::behind(2)] {
        let (server, old) = behind(staleness);
        let (older, now) = (format!("@{old} a=1"), format!("@{} a=2 b=3", old + 2));
        for query in [
            "resourceVersion=0".to_owned(),
            format!("resourceVersion={old}"),
            format!("resourceVersion={}&resourceVersionMatch=NotOlderThan", old - 1),
        ] {
            assert_eq!(list(&server, &query).await, older, "{query}");
        }
        let (_, a) = get(&server, &format!("{MAPS}/a?resourceVersion=0")).await;
        assert_eq!(
            (&a["data"]["v"], &a["metadata"]["resourceVersion"]),
            (&json!("1"), &json!(old.to_string()))
        );
        assert_eq!(get(&server, &format!("{MAPS}/b?resourceVersion=0")).await.0, 404);
        assert_eq!(struck(&server), (5, 5));

        // Without a version they are consistent, and an exact version is what it is.
        assert_eq!(list(&server, "").await, now);
        assert_eq!(get(&server, &format!("{MAPS}/b")).await.0, 200);
        let exact = format!("resourceVersion={}&resourceVersionMatch=Exact", old + 1);
        assert_eq!(list(&server, &exact).await, format!("@{} a=2", old + 1));
        assert_eq!(struck(&server), (8, 5));

        server.heal();
        assert_eq!(list(&server, "resourceVersion=0").await, now);
    }
}

#[tokio::test(start_paused = true)]
async fn always_stale_is_even_what_asks_for_the_newest() {
    let (server, old) = behind(|old| Staleness::at(old).always());
    assert_eq!(list(&server, "").await, format!("@{old} a=1"));
    assert_eq!(get(&server, &format!("{MAPS}/b")).await.0, 404);
    let mut watch = Watch::begin(&server, INITIAL).await;
    assert_eq!(watch.next().await, format!("ADDED a=1@{old}"));
    assert_eq!(watch.next().await, format!("BOOKMARK end@{old}"));
}

#[tokio::test(start_paused = true)]
async fn newer_versions_are_waited_for_in_vain() {
    let (server, old) = behind(Staleness::at);
    let too_large = |asked: u64| format!("504 Timeout: Too large resource version: {asked}, current: {old}");
    let begin = Instant::now();
    let query = format!("resourceVersion={}", old + 1);
    assert_eq!(list(&server, &query).await, too_large(old + 1));
    assert_eq!(begin.elapsed().as_millis() / 10, 300);
    let (code, status) = get(&server, &format!("{MAPS}/a?{query}")).await;
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (504, &json!("ResourceVersionTooLarge")));

    // A watch that begins with a list: of a version, or of the newest if it names none.
    for (query, asked) in [(format!("{INITIAL}&{query}"), old + 1), (INITIAL.to_owned(), old + 2)] {
        let events = Watch::begin(&server, &query).await.rest().await;
        assert_eq!(events, [format!("ERROR {}", too_large(asked)), "end".to_owned()]);
    }
    let mut watch = Watch::begin(&server, &format!("{INITIAL}&resourceVersion={old}")).await;
    assert_eq!(watch.next().await, format!("ADDED a=1@{old}"));

    // Whoever waits when the server is healed is answered.
    let healing = server.clone();
    let reading = tokio::spawn(async move { list(&server, &query).await });
    sleep(Duration::from_secs(1)).await;
    let begin = Instant::now();
    healing.heal();
    assert_eq!(reading.await.unwrap(), format!("@{} a=2 b=3", old + 2));
    assert!(begin.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn watches_stand_still_and_go_on_without_loss() {
    let (server, old) = behind(Staleness::at);
    let before = old - 1;
    let mut from_before = Watch::begin(&server, &format!("&resourceVersion={before}")).await;
    let mut from_there =
        Watch::begin(&server, &format!("&allowWatchBookmarks=true&resourceVersion={old}")).await;
    let mut from_ahead = Watch::begin(&server, &format!("&resourceVersion={}", old + 1)).await;
    let mut from_any = Watch::begin(&server, "&resourceVersion=0").await;
    let mut from_none = Watch::begin(&server, "").await;
    assert_eq!(struck(&server), (5, 5));
    let first = format!("ADDED a=1@{old}");
    for watch in [&mut from_before, &mut from_any, &mut from_none] {
        assert_eq!(watch.next().await, first);
    }
    // Bookmarks name what the cache has, not what the storage has.
    assert_eq!(from_there.next().await, format!("BOOKMARK @{old}"));

    // More than a buffer holds.
    for n in 0..1_500 {
        put(&server, "c", n);
    }
    server.delete("configmaps", "default/a");
    assert_eq!(server.watches("configmaps"), 5);
    for watch in [&mut from_before, &mut from_ahead, &mut from_any, &mut from_none] {
        assert!(watch.is_silent(Duration::from_secs(20)).await);
    }
    assert_eq!(from_there.next().await, format!("BOOKMARK @{old}"));

    server.heal();
    put(&server, "d", 9);
    let mut wanted = vec![format!("MODIFIED a=2@{}", old + 1), format!("ADDED b=3@{}", old + 2)];
    for n in 0..1_500 {
        let kind = if n == 0 { "ADDED" } else { "MODIFIED" };
        wanted.push(format!("{kind} c={n}@{}", old + 3 + n));
    }
    wanted.push(format!("DELETED a=2@{}", old + 1_503));
    wanted.push(format!("ADDED d=9@{}", old + 1_504));
    for (watch, skipped) in [
        (&mut from_before, 0),
        (&mut from_there, 0),
        (&mut from_ahead, 1),
        (&mut from_any, 0),
        (&mut from_none, 0),
    ] {
        for wanted in &wanted[skipped..] {
            assert_eq!(watch.next().await, *wanted);
        }
        assert!(watch.is_silent(Duration::from_secs(5)).await);
    }
    // Bookmarks name the newest again.
    assert_eq!(from_there.next().await, format!("BOOKMARK @{}", old + 1_504));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_stood_still_for_too_long_is_told_so() {
    let server = ApiServer::builder().event_window(10).build();
    let old = put(&server, "a", 1);
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::stale(Staleness::behind(0)))));
    let mut watch = Watch::begin(&server, &format!("&resourceVersion={old}")).await;
    server.advance(11);
    // What the cache holds does not depend on the window.
    assert_eq!(list(&server, "resourceVersion=0").await, format!("@{old} a=1"));
    server.heal();
    let error = format!("ERROR 410 too old resource version: {old} ({})", old + 1);
    assert_eq!(watch.rest().await, [error, "end".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn only_those_who_meet_the_rule_are_behind() {
    let server = server();
    let old = put(&server, "a", 1);
    let mut open = Watch::begin(&server, &format!("&resourceVersion={old}")).await;
    put(&server, "a", 2);
    let rule = Rule::new(Fault::stale(Staleness::behind(1))).on(|asking| asking.query("limit").is_some());
    server.set_faults(FaultPlan::seeded(1).rule(rule));
    assert_eq!(list(&server, "resourceVersion=0&limit=5").await, format!("@{old} a=1"));
    assert_eq!(list(&server, "resourceVersion=0").await, format!("@{} a=2", old + 1));
    // A watch from before the plan, and a new one that does not meet the rule.
    let mut fresh = Watch::begin(&server, &format!("&resourceVersion={old}")).await;
    put(&server, "a", 3);
    for watch in [&mut open, &mut fresh] {
        assert_eq!(watch.next().await, format!("MODIFIED a=2@{}", old + 1));
        assert_eq!(watch.next().await, format!("MODIFIED a=3@{}", old + 2));
    }
    assert_eq!(struck(&server), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn pages_of_an_older_list_fit_together() {
    let server = ApiServer::builder().event_window(10).build();
    for name in ["a", "b", "c"] {
        put(&server, name, 1);
    }
    let old = server.resource_version();
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::stale(Staleness::behind(0)))));
    let (_, first) = get(&server, &format!("{MAPS}?resourceVersion=0&limit=2")).await;
    server.delete("configmaps", "default/c");
    server.advance(20);
    let token = first["metadata"]["continue"].as_str().unwrap();
    assert_eq!(list(&server, &format!("limit=2&continue={token}")).await, format!("@{old} c=1"));
}

#[tokio::test(start_paused = true)]
async fn another_plan_lets_watches_go_on_and_has_its_own_version() {
    let (server, old) = behind(Staleness::at);
    let mut watch = Watch::begin(&server, &format!("&resourceVersion={old}")).await;
    assert!(watch.is_silent(Duration::from_secs(1)).await);
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::stale(Staleness::behind(1)))));
    assert_eq!(watch.next().await, format!("MODIFIED a=2@{}", old + 1));
    assert_eq!(watch.next().await, format!("ADDED b=3@{}", old + 2));
    assert_eq!(list(&server, "resourceVersion=0").await, format!("@{} a=2", old + 1));
    // Writes are of the newest state, whoever is behind.
    let mut raw = Raw::connect(&server).await;
    assert_eq!(raw.json(Method::POST, MAPS, &map("b", 1)).await.0, 409);
    assert_eq!(raw.json(Method::DELETE, &format!("{MAPS}/b"), &Value::Null).await.0, 200);
    // One that is compacted is taken for the oldest that is known, one that is ahead for the last.
    server.compact();
    let now = server.resource_version();
    for at in [1, u64::MAX] {
        server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::stale(Staleness::at(at)))));
        assert_eq!(list(&server, "resourceVersion=0").await, format!("@{now} a=2"));
    }
}
