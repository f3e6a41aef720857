//! An operator whose cache is behind: what it wrote is waited for, so that it does not do it twice.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat::api::labels::Selector;
use lariat::client::{Patch, PatchParams};
use lariat::prelude::*;
use lariat::testing::{Fault, FaultPlan, Rule, Running, Staleness, TestCluster};
use lariat::{ReadyController, Trigger};
use serde_json::json;
use support::{ConfigMap, Log, MAPS, Shop, api, cluster, definition, key, map, object, shop};
use tokio::time::{Instant, sleep};

/// Each shop is to have one sign, of whatever name: so only the cache says whether it has.
fn sign_writer(own_writes_within: Duration, log: &Log) -> ReadyController {
    let log = log.clone();
    Controller::<Shop>::new("signs").own_writes_within(own_writes_within).owns::<ConfigMap>().reconcile(
        move |key, shop, context: Context| {
            let log = log.clone();
            async move {
                log.push(key.name());
                let Some(_) = shop else { return Ok(Outcome::Done) };
                let signs = context.lister::<ConfigMap>()?;
                if signs.list(&format!("shop={}", key.name()).parse::<Selector>()?).is_empty() {
                    let mut sign = ConfigMap::default();
                    sign.metadata.generate_name = format!("{}-", key.name()).into();
                    sign.metadata.namespace = key.namespace().into();
                    sign.metadata.labels.insert("shop".to_owned(), key.name().to_owned());
                    context.api::<ConfigMap>().create(&sign).await?;
                }
                Ok(Outcome::Done)
            }
        },
    )
}

/// A cluster whose watches of config maps hear of nothing any more, until it is healed.
fn late_cluster() -> TestCluster {
    let cluster = cluster();
    make_late(&cluster);
    cluster
}

fn make_late(cluster: &TestCluster) {
    let late = Fault::stale(Staleness::behind(0).always());
    cluster.set_faults(FaultPlan::seeded(1).rule(Rule::new(late).resource("configmaps").verb("watch")));
}

async fn start(cluster: &TestCluster, controller: ReadyController) -> (Trigger, Running) {
    let trigger = controller.trigger();
    let manager = cluster.manager();
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    (trigger, running)
}

async fn signs(cluster: &TestCluster) -> usize {
    let list = api(cluster, MAPS);
    let mut signs = list.list(&lariat::client::ListParams::default()).await.unwrap();
    let mut count = 0;
    while signs.next().await.unwrap().is_some() {
        count += 1;
    }
    count
}

/// Handles a shop ten times in two seconds, while the cache knows nothing of its sign; says how many there are then, and how often
/// the handler was called.
async fn ten_times(own_writes_within: Duration) -> (usize, usize) {
    let (cluster, log) = (late_cluster(), Log::default());
    let (trigger, running) = start(&cluster, sign_writer(own_writes_within, &log)).await;
    cluster.put("shops.example.dev", shop("a"));
    for _ in 0..10 {
        sleep(Duration::from_millis(200)).await;
        trigger.enqueue(key("a"));
    }
    sleep(Duration::from_millis(200)).await;
    let (signs_then, calls) = (signs(&cluster).await, log.len());
    // The cache hears of it, and there is no other one.
    cluster.heal();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(signs(&cluster).await, signs_then);
    running.stop().await.unwrap();
    (signs_then, calls)
}

#[tokio::test(start_paused = true)]
async fn what_was_created_is_not_created_again_while_its_event_is_late() {
    let (signs, calls) = ten_times(Duration::from_secs(10)).await;
    assert_eq!((signs, calls), (1, 1));
}

/// So the test above shows something.
#[tokio::test(start_paused = true)]
async fn without_waiting_it_is_created_again_and_again() {
    let (signs, calls) = ten_times(Duration::ZERO).await;
    assert!(signs > 5 && calls > 5, "{signs} {calls}");
}

/// The key is handled as soon as the cache has caught up, and others meanwhile.
#[tokio::test(start_paused = true)]
async fn only_the_key_that_wrote_waits_and_no_longer_than_needed() {
    let (cluster, log) = (late_cluster(), Log::default());
    let (trigger, running) = start(&cluster, sign_writer(Duration::from_secs(600), &log)).await;
    cluster.put("shops.example.dev", shop("a"));
    sleep(Duration::from_secs(1)).await;
    trigger.enqueue(key("a"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log.take(), ["a"]);
    let state = running.manager().debug_state();
    assert_eq!(state["controllers"][0]["pending"][0]["waitsForOwnWrites"], true, "{state}");

    // The one worker is free.
    trigger.enqueue(key("gone"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log.take(), ["gone"]);
    cluster.heal();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log.take(), ["a"]);
    assert_eq!(signs(&cluster).await, 1);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_does_not_catch_up_is_not_waited_for_for_ever() {
    let (cluster, log) = (late_cluster(), Log::default());
    let (trigger, running) = start(&cluster, sign_writer(Duration::from_secs(10), &log)).await;
    cluster.put("shops.example.dev", shop("a"));
    sleep(Duration::from_secs(1)).await;
    trigger.enqueue(key("a"));
    let began = Instant::now();
    cluster.until(|_| log.len() == 2).await;
    assert_eq!(began.elapsed().as_secs(), 9);
    running.stop().await.unwrap();
}

/// A key that waits when the program is told to stop is left, and nothing is waited for.
#[tokio::test(start_paused = true)]
async fn a_key_that_waits_is_left_when_the_program_stops() {
    let (cluster, log) = (late_cluster(), Log::default());
    let (trigger, running) = start(&cluster, sign_writer(Duration::from_secs(600), &log)).await;
    cluster.put("shops.example.dev", shop("a"));
    sleep(Duration::from_secs(1)).await;
    trigger.enqueue(key("a"));
    sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    let stopped = running.stop().await.unwrap();
    assert_eq!(stopped.left[0].keys, [key("a")].into());
    assert!(stopped.overdue.is_empty() && began.elapsed() < Duration::from_millis(100));
}

/// Updates, patches and deletions are waited for as creations are.
#[tokio::test(start_paused = true)]
async fn every_write_is_waited_for() {
    for verb in ["update", "patch", "apply", "delete", "create_or_update"] {
        let cluster = TestCluster::new();
        cluster.define(definition());
        cluster.put("configmaps", map("m"));
        make_late(&cluster);
        let log = Log::default();
        let controller = Controller::<ConfigMap>::new("maps").reconcile({
            let log = log.clone();
            move |_, seen, context: Context| {
                let log = log.clone();
                async move {
                    let seen = seen.filter(|map| map.data.is_empty());
                    log.push(if seen.is_some() { "old" } else { "new" });
                    let Some(seen) = seen else { return Ok(Outcome::Done) };
                    let maps = context.api::<ConfigMap>();
                    let mut new = ConfigMap::clone(&seen);
                    new.data.insert("k".into(), "v".into());
                    match verb {
                        "update" => drop(maps.update(&new).await?),
                        "patch" => {
                            let patch = Patch::Merge(json!({"data": {"k": "v"}}));
                            maps.patch(&seen.key()?, &patch, &PatchParams::default()).await?;
                        }
                        "apply" => drop(maps.apply(&new, "test").await?),
                        "create_or_update" => {
                            let (_, change) =
                                maps.create_or_update(new.clone(), |map| map.data = new.data.clone()).await?;
                            assert_eq!(change, lariat::Change::Updated);
                        }
                        _ => maps.delete(&seen).await?,
                    }
                    Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
                }
            }
        });
        let (trigger, running) = start(&cluster, controller).await;
        trigger.enqueue(key("m"));
        sleep(Duration::from_secs(5)).await;
        let before = log.take();
        cluster.heal();
        sleep(Duration::from_secs(5)).await;
        let after = log.take();
        assert!(
            before == ["old"] && !after.is_empty() && !after.contains(&"old".to_owned()),
            "{verb}: {before:?} {after:?}"
        );
        running.stop().await.unwrap();
    }
}

/// A finalizer that was removed is not seen again: nothing is cleaned up twice.
#[tokio::test(start_paused = true)]
async fn what_was_let_go_is_not_cleaned_up_again() {
    const HOLD: Finalizer = Finalizer::new("example.dev/hold");
    let (cluster, log) = (cluster(), Log::default());
    let mut held = map("m");
    held["metadata"]["finalizers"] = json!([HOLD.name()]);
    api(&cluster, MAPS).create(&object(held)).await.unwrap();
    api(&cluster, MAPS).delete(&key("m"), &lariat::client::DeleteParams::default()).await.unwrap();
    make_late(&cluster);
    let controller = Controller::<ConfigMap>::new("maps").reconcile({
        let log = log.clone();
        move |_, map, context: Context| {
            let log = log.clone();
            async move {
                let Some(map) = map else { return Ok(Outcome::Done) };
                let clean_up = async || {
                    log.push("cleanup");
                    Ok(Outcome::Done)
                };
                HOLD.run(&context.api::<ConfigMap>(), &*map, async || Ok(Outcome::Done), clean_up).await
            }
        }
    });
    let (trigger, running) = start(&cluster, controller).await;
    sleep(Duration::from_secs(1)).await;
    trigger.enqueue(key("m"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log.take(), ["cleanup"]);
    cluster.heal();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(log.take(), [] as [&str; 0]);
    running.stop().await.unwrap();
}
