//! Events for people, from the recorder to the server.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::{Duration, SystemTime};

use lariat::api::ManualClock;
use lariat::prelude::*;
use lariat::testing::{Fault, FaultPlan, Rule, Running, TestCluster};
use lariat::{EventType, ObjectReference, Recorder};
use serde_json::Value;
use support::{NODES, Shop, api, cluster, shop};
use tokio::time::{Instant, sleep};

const EVENTS: Kind = Kind::namespaced("", "v1", "Event", "events");

/// A clock that may still be moved.
#[derive(Clone)]
struct Hand(Arc<ManualClock>);

impl lariat::api::Clock for Hand {
    fn wall(&self) -> SystemTime {
        self.0.wall()
    }
}

struct Told {
    cluster: TestCluster,
    clock: Hand,
    running: Running,
    recorder: Recorder,
}

impl Told {
    async fn new() -> Self {
        let cluster = cluster();
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_714_521_600);
        let clock = Hand(Arc::new(ManualClock::new(start)));
        let manager = cluster.manager_builder().clock(clock.clone()).build();
        let recorder = manager.recorder("shopkeeper");
        let running = cluster.run(manager);
        running.ready().await;
        Self { cluster, clock, running, recorder }
    }

    /// Time passes, and what was told is sent.
    async fn pass(&self, seconds: u64) {
        self.clock.0.advance(Duration::from_secs(seconds));
        sleep(Duration::from_secs(1)).await;
    }

    async fn events(&self) -> Vec<Value> {
        let mut list = api(&self.cluster, EVENTS).list(&lariat::client::ListParams::default()).await.unwrap();
        let mut events = Vec::new();
        while let Some(item) = list.next().await.unwrap() {
            let lariat::client::Item::Object(event) = item else { panic!("{item:?}") };
            events.push(serde_json::to_value(&event).unwrap());
        }
        events
    }
}

fn a_shop() -> Shop {
    let mut shop: Shop = serde_json::from_value(shop("a")).unwrap();
    shop.metadata.uid = "u".into();
    shop
}

#[tokio::test(start_paused = true)]
async fn an_event_that_comes_again_is_counted() {
    let told = Told::new().await;
    told.recorder.normal(&a_shop(), "Opened", "come in");
    told.pass(60).await;
    told.recorder.normal(&a_shop(), "Opened", "come in");
    told.recorder.warning(&a_shop(), "Burning", "get out");
    told.pass(0).await;

    let events = told.events().await;
    assert_eq!(events.len(), 2);
    let opened = events.iter().find(|event| event["reason"] == "Opened").unwrap();
    assert_eq!((&opened["count"], &opened["type"]), (&2.into(), &"Normal".into()));
    assert_eq!(opened["firstTimestamp"], "2024-05-01T00:00:00Z");
    assert_eq!(opened["lastTimestamp"], "2024-05-01T00:01:00Z");
    assert_eq!(opened["involvedObject"]["apiVersion"], "example.dev/v1");
    assert_eq!(
        (&opened["involvedObject"]["kind"], &opened["involvedObject"]["uid"]),
        (&"Shop".into(), &"u".into())
    );
    assert_eq!(opened["source"]["component"], "shopkeeper");
    assert_eq!(opened["reportingComponent"], "shopkeeper");
    assert!(opened["metadata"]["name"].as_str().unwrap().starts_with("a."));
    told.running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn similar_events_are_put_together_and_too_many_are_dropped() {
    let told = Told::new().await;
    for number in 0..40 {
        told.recorder.normal(&a_shop(), "Sold", format!("ware {number}"));
    }
    told.pass(0).await;
    let events = told.events().await;
    let combined = events.iter().find(|event| event["count"] != 1).unwrap();
    assert_eq!((events.len(), &combined["count"]), (10, &16.into()));
    assert_eq!(combined["message"], "(combined from similar events): ware 24");
    told.running.stop().await.unwrap();
}

/// An event about what has no namespace is kept in `default`. One that the server has forgotten is created anew.
#[tokio::test(start_paused = true)]
async fn an_event_that_was_forgotten_is_created_anew() {
    let told = Told::new().await;
    let mut node = DynamicObject::default();
    node.metadata.name = "n".into();
    let node = ObjectReference::of_kind(&NODES, &node);
    let smoke = || told.recorder.event(node.clone(), EventType::Warning, "Smoking", "smoke");
    smoke();
    told.pass(0).await;
    let events = told.events().await;
    assert_eq!(events[0]["metadata"]["namespace"], "default");
    let name = events[0]["metadata"]["name"].as_str().unwrap();
    assert!(told.cluster.delete("events", &format!("default/{name}")));
    smoke();
    told.pass(0).await;
    let events = told.events().await;
    assert_eq!((events.len(), &events[0]["count"]), (1, &2.into()));
    told.running.stop().await.unwrap();
}

/// Events are sent again while the server is away, and are refused for good by an answer. Whoever tells them never waits: beyond a
/// thousand they are dropped.
#[tokio::test(start_paused = true)]
async fn telling_never_waits_for_the_server() {
    let told = Told::new().await;
    told.cluster
        .set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::reset()).resource("events").verb("create")));
    let began = Instant::now();
    for number in 0..1_100 {
        let mut shop = a_shop();
        shop.metadata.name = format!("s{number}").into();
        told.recorder.normal(&shop, "Opened", "come in");
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(told.recorder.dropped(), 100);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(told.events().await.len(), 0);
    told.cluster.heal();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(told.events().await.len(), 1_000);

    let refuse = Fault::answer(403, "Forbidden", None);
    told.cluster.set_faults(FaultPlan::seeded(1).rule(Rule::new(refuse).resource("events").verb("create")));
    told.recorder.warning(&a_shop(), "Burning", "get out");
    told.pass(0).await;
    let struck = told.cluster.faults_struck()[0].happened;
    sleep(Duration::from_secs(300)).await;
    assert_eq!((struck, told.cluster.faults_struck()[0].happened), (1, 1));
    told.running.stop().await.unwrap();
}

/// CR-2: events end last, so that what is told while things stop is sent too.
#[tokio::test(start_paused = true)]
async fn what_is_told_at_the_end_is_sent() {
    let cluster = cluster();
    let manager = cluster.manager();
    let recorder = manager.recorder("shopkeeper");
    let farewell = lariat::Runnable::new("farewell", move |stop: lariat::Stop| async move {
        stop.stopped().await;
        recorder.normal(&a_shop(), "Closed", "see you");
        Ok(())
    });
    manager.add_runnable(farewell).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    sleep(Duration::from_secs(1)).await;
    running.stop().await.unwrap();
    let mut events = api(&cluster, EVENTS).list(&lariat::client::ListParams::default()).await.unwrap();
    assert!(events.next().await.unwrap().is_some());
}
