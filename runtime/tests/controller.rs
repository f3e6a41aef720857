//! What a controller hears of, and what becomes of its keys.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lariat::client::{DeleteParams, Patch, PatchParams};
use lariat::prelude::*;
use lariat::testing::Running;
use lariat::{ReadyController, Trigger};
use serde_json::json;
use support::{ConfigMap, Log, MAPS, NODES, SHOPS, Shop, api, cluster, key, map, object, shop};
use tokio::time::{Instant, sleep};

/// A handler that writes down the keys and is done.
fn logging(controller: Controller<Shop>, log: &Log) -> ReadyController {
    let log = log.clone();
    controller.reconcile(move |key, shop, _| {
        log.push(format!("{}{}", key.name(), if shop.is_some() { "" } else { " gone" }));
        async { Ok(Outcome::Done) }
    })
}

async fn settle() {
    sleep(Duration::from_secs(1)).await;
}

async fn running(cluster: &lariat::testing::TestCluster, controller: ReadyController) -> Running {
    let manager = cluster.manager();
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    settle().await;
    running
}

#[tokio::test(start_paused = true)]
async fn a_key_is_handled_when_its_object_comes_changes_and_goes() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    let running = running(&cluster, logging(Controller::new("shops"), &log)).await;
    assert_eq!(log.take(), ["a"]);

    let shops = api(&cluster, SHOPS);
    shops.create(&object(shop("b"))).await.unwrap();
    settle().await;
    let patch = Patch::Merge(json!({"spec": {"x": 1}}));
    shops.patch(&key("b"), &patch, &PatchParams::default()).await.unwrap();
    settle().await;
    shops.delete(&key("b"), &DeleteParams::default()).await.unwrap();
    settle().await;
    assert_eq!(log.take(), ["b", "b", "b gone"]);
    assert_eq!(running.stop().await.unwrap(), lariat::Stopped::default());
}

/// CR-5: an error is retried when the rate limiter allows, and its key's failures grow its delay; success forgets them.
#[tokio::test(start_paused = true)]
async fn failures_of_a_key_are_retried_later_and_later() {
    let cluster = cluster();
    cluster.put("shops.example.dev", shop("a"));
    let times = Arc::new(Mutex::new(Vec::new()));
    let controller = Controller::<Shop>::new("shops").reconcile({
        let times = times.clone();
        move |_, _, _| {
            times.lock().unwrap().push(Instant::now());
            let runs = times.lock().unwrap().len();
            async move { if runs.is_multiple_of(5) { Ok(Outcome::Done) } else { Err(std::fmt::Error.into()) } }
        }
    });
    let trigger = controller.trigger();
    let running = running(&cluster, controller).await;
    let millis = |times: &[Instant]| -> Vec<u128> {
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    };
    assert_eq!(millis(&times.lock().unwrap()), [5, 10, 20, 40]);
    // Begins anew after a success.
    times.lock().unwrap().drain(..5);
    trigger.enqueue(key("a"));
    settle().await;
    assert_eq!(millis(&times.lock().unwrap()), [5, 10, 20, 40]);
    running.stop().await.unwrap();
}

/// CR-5: a terminal error is not retried and is counted apart; an ignored one is no error; RequeueAfter forgets failures and comes
/// when it says; Requeue comes as after a failure.
#[tokio::test(start_paused = true)]
async fn each_outcome_has_its_consequence() {
    let cluster = cluster();
    let log = Log::default();
    let began = Instant::now();
    let controller = Controller::<Shop>::new("shops").reconcile({
        let log = log.clone();
        move |key, _, _| {
            let seconds = began.elapsed().as_millis();
            log.push(format!("{} {}", key.name(), if seconds < 1000 { 0 } else { seconds / 1000 }));
            let runs = log.lines().iter().filter(|line| line.starts_with(key.name())).count();
            async move {
                match (key.name(), runs) {
                    ("terminal", _) => Err(Failure::terminal("never")),
                    ("ignored", _) => Err(Failure::ignore("whatever")),
                    ("later", 1) => Ok(Outcome::RequeueAfter(Duration::from_secs(100))),
                    ("requeue", 1) => Ok(Outcome::Requeue),
                    _ => Ok(Outcome::Done),
                }
            }
        }
    });
    for name in ["terminal", "ignored", "later", "requeue"] {
        cluster.put("shops.example.dev", shop(name));
    }
    let running = running(&cluster, controller).await;
    sleep(Duration::from_secs(1000)).await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["ignored 0", "later 0", "later 100", "requeue 0", "requeue 0", "terminal 0"]);

    let metrics = running.manager().metrics();
    for line in [
        r#"controller_runtime_reconcile_total{controller="shops",result="success"} 3"#,
        r#"controller_runtime_reconcile_total{controller="shops",result="error"} 1"#,
        r#"controller_runtime_reconcile_total{controller="shops",result="requeue"} 1"#,
        r#"controller_runtime_reconcile_total{controller="shops",result="requeue_after"} 1"#,
        r#"controller_runtime_terminal_reconcile_errors_total{controller="shops"} 1"#,
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
    running.stop().await.unwrap();
}

/// CR-4: one worker by default; a panic is an error and is counted; a handler may be given a time.
#[tokio::test(start_paused = true)]
async fn a_panic_and_a_handler_that_takes_too_long_are_failures_of_their_key() {
    let cluster = cluster();
    let log = Log::default();
    let controller = Controller::<Shop>::new("shops").time_limit(Duration::from_secs(5)).reconcile({
        let log = log.clone();
        move |key, _, _| {
            log.push(key.name());
            let runs = log.lines().iter().filter(|line| *line == key.name()).count();
            assert!(key.name() != "early" || runs > 1, "before there is a future");
            async move {
                match (key.name(), runs) {
                    ("panics", 1) => panic!("in the future"),
                    ("hangs", 1) => std::future::pending().await,
                    _ => Ok(Outcome::Done),
                }
            }
        }
    });
    for name in ["early", "hangs", "panics", "well"] {
        cluster.put("shops.example.dev", shop(name));
    }
    let running = running(&cluster, controller).await;
    let state = running.manager().debug_state();
    assert_eq!(state["controllers"][0]["workers"].as_array().unwrap().len(), 1, "{state}");
    sleep(Duration::from_secs(20)).await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["early", "early", "hangs", "hangs", "panics", "panics", "well"]);
    let metrics = running.manager().metrics();
    for line in [
        r#"controller_runtime_reconcile_panics_total{controller="shops"} 2"#,
        r#"controller_runtime_reconcile_timeouts_total{controller="shops"} 1"#,
        r#"controller_runtime_max_concurrent_reconciles{controller="shops"} 1"#,
        r#"controller_runtime_active_workers{controller="shops"} 0"#,
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
    running.stop().await.unwrap();
}

/// CR-7: an owned object has its controlling owner handled, by group and kind whatever the version, and on an update the former
/// owner too; a mapping is asked for old and new, and what it gives twice is handled once.
#[tokio::test(start_paused = true)]
async fn owned_and_mapped_objects_have_others_handled() {
    let (cluster, log) = (cluster(), Log::default());
    let controller =
        Controller::<Shop>::new("shops")
            .owns::<ConfigMap>()
            .watch(Watch::<DynamicObject>::mapped_of(NODES, |node| {
                vec![key(node.name()), key("main"), key("main")]
            }));
    let running = running(&cluster, logging(controller, &log)).await;

    let shops = api(&cluster, SHOPS);
    let mut uids = std::collections::BTreeMap::new();
    for name in ["a", "b", "c"] {
        uids.insert(name, shops.create(&object(shop(name))).await.unwrap().uid().to_owned());
    }
    settle().await;
    log.take();

    let maps = api(&cluster, MAPS);
    let owned_by = |name: &str, version: &str, controls: bool| {
        let version = format!("example.dev/{version}");
        let owner = json!({"apiVersion": version, "kind": "Shop", "name": name, "uid": uids[name], "controller": controls});
        let mut map = map("m");
        map["metadata"]["ownerReferences"] = json!([owner]);
        object(map)
    };
    maps.create(&owned_by("a", "v7", true)).await.unwrap();
    settle().await;
    assert_eq!(log.take(), ["a"]);
    maps.update(&owned_by("b", "v1", true)).await.unwrap();
    settle().await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["a", "b"]);
    maps.update(&owned_by("c", "v1", false)).await.unwrap();
    settle().await;
    assert_eq!(log.take(), ["b"]); // c does not control
    maps.delete(&key("m"), &DeleteParams::default()).await.unwrap();
    settle().await;
    assert_eq!(log.take(), [] as [&str; 0]);

    cluster.put("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    settle().await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["main gone", "n gone"]);
    running.stop().await.unwrap();
}

/// CR-8: predicates see old and new, all have to agree, and they can be combined.
#[tokio::test(start_paused = true)]
async fn predicates_decide_what_is_heard_of() {
    let (cluster, log) = (cluster(), Log::default());
    let selector = "open=yes".parse().unwrap();
    let controller = Controller::<Shop>::new("shops")
        .filter(
            Predicate::generation_changed()
                .or(Predicate::annotations_changed().and(Predicate::labels_changed().negate())),
        )
        .filter(Predicate::labels_match(selector))
        .filter(Predicate::resource_version_changed());
    let mut open = shop("a");
    open["metadata"]["labels"]["open"] = "yes".into();
    cluster.put("shops.example.dev", shop("closed"));
    let shops = api(&cluster, SHOPS);
    shops.create(&object(open)).await.unwrap();
    let running = running(&cluster, logging(controller, &log)).await;
    assert_eq!(log.take(), ["a"]);

    for (patch, is_heard_of) in [
        (json!({"spec": {"x": 1}}), true),
        (json!({"status": {"x": 1}}), false),
        (json!({"metadata": {"annotations": {"x": "1"}}}), true),
        (json!({"metadata": {"labels": {"x": "1"}}}), false),
        (json!({"metadata": {"labels": {"x": "2"}, "annotations": {"x": "2"}}}), false),
        (json!({"metadata": {"labels": {"open": "no"}}, "spec": {"x": 2}}), false),
    ] {
        let subresource = if patch["status"].is_null() { "" } else { "status" };
        let sent = Patch::Merge(patch.clone());
        shops.patch_subresource(&key("a"), subresource, &sent, &PatchParams::default()).await.unwrap();
        settle().await;
        assert_eq!(log.take(), if is_heard_of { vec!["a"] } else { vec![] }, "{patch}");
    }
    running.stop().await.unwrap();
}

/// CR-6: channels, streams and timers are sources too, and so is whoever holds a trigger, before the start too.
#[tokio::test(start_paused = true)]
async fn keys_come_from_anywhere() {
    let (cluster, log) = (cluster(), Log::default());
    let (sender, receiver) = tokio::sync::mpsc::channel(8);
    let controller = Controller::<Shop>::new("shops")
        .channel(receiver)
        .stream(OneKey(Some(key("streamed"))))
        .timer(Duration::from_secs(60), key("timed"));
    let trigger: Trigger = controller.trigger();
    trigger.enqueue(key("early"));
    trigger.enqueue_after(key("late"), Duration::from_secs(100));
    let running = running(&cluster, logging(controller, &log)).await;
    sender.send(key("sent")).await.unwrap();
    settle().await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["early gone", "sent gone", "streamed gone", "timed gone"]);
    sleep(Duration::from_secs(119)).await;
    assert_eq!(log.take(), ["timed gone", "late gone", "timed gone"]);
    running.stop().await.unwrap();
}

struct OneKey(Option<ObjectKey>);

impl futures_core::Stream for OneKey {
    type Item = ObjectKey;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<ObjectKey>> {
        std::task::Poll::Ready(self.0.take())
    }
}

/// PQ-8: what was there at the start, and what a resync brings, waits for what happens now; a retry keeps its priority.
#[tokio::test(start_paused = true)]
async fn what_happens_now_goes_first() {
    let (cluster, log) = (cluster(), Log::default());
    for name in ["a", "b", "c"] {
        cluster.put("shops.example.dev", shop(name));
    }
    let controller = Controller::<Shop>::new("shops").resync(Duration::from_secs(600)).reconcile({
        let log = log.clone();
        move |key, _, _| {
            log.push(key.name());
            async {
                sleep(Duration::from_secs(10)).await;
                Ok(Outcome::Done)
            }
        }
    });
    let trigger = controller.trigger();
    let running = running(&cluster, controller).await;
    trigger.enqueue(key("now"));
    sleep(Duration::from_secs(100)).await;
    let lines = log.take();
    assert_eq!((lines.len(), lines[1].as_str()), (4, "now"), "{lines:?}");
    sleep(Duration::from_secs(501)).await;
    trigger.enqueue(key("now"));
    sleep(Duration::from_secs(100)).await;
    let lines = log.take();
    assert_eq!((lines.len(), lines[1].as_str()), (4, "now"), "{lines:?}");
    let metrics = running.manager().metrics();
    assert!(
        metrics.contains(r#"workqueue_depth{name="shops",controller="shops",priority="-100"} 0"#),
        "{metrics}"
    );
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_what_it_needs() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    cluster.put("configmaps", map("m"));
    let controller = Controller::<Shop>::new("shops").reads::<ConfigMap>().reconcile({
        let log = log.clone();
        move |key, _, context: Context| {
            let log = log.clone();
            async move {
                let maps = context.lister::<ConfigMap>()?;
                maps.get(&ObjectKey::new("default", "m"))?;
                let error = context.lister_of::<DynamicObject>(&NODES).unwrap_err();
                log.push(error.to_string());
                log.push(format!("{} {} {}", context.controller(), context.key() == &key, context.run_id()));
                log.push(context.client().user_agent());
                assert!(context.term().is_none() && !context.stop().is_stopped());
                Ok(Outcome::Done)
            }
        }
    });
    let running = running(&cluster, controller).await;
    let lines = log.take();
    assert!(lines[0].starts_with("controller \"shops\" has no cache of nodes"), "{lines:?}");
    assert_eq!(lines[1], "shops true 1");
    assert!(lines[2].starts_with("lariat/") && lines[2].ends_with(" shops"), "{lines:?}");
    running.stop().await.unwrap();
}

/// A worker is never with a key that another has, however often it changes.
#[tokio::test(start_paused = true)]
async fn a_key_is_with_one_worker() {
    let cluster = cluster();
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let controller = Controller::<Shop>::new("shops").workers(8).reconcile({
        let (now, most) = (now.clone(), most.clone());
        move |_, _, _| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(50)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(Outcome::Done)
            }
        }
    });
    let trigger = controller.trigger();
    let running = running(&cluster, controller).await;
    for _ in 0..100 {
        trigger.enqueue(key("a"));
        sleep(Duration::from_millis(3)).await;
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
    running.stop().await.unwrap();
}
