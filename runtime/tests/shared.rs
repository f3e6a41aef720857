//! Shared controllers, against the behaviours of Lasso.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lariat::client::{DeleteParams, Patch, PatchParams};
use lariat::prelude::*;
use lariat::shared::{HandlerRegistration, HandlerTransaction, SharedController, SharedControllerFactory};
use lariat::testing::{Fault, FaultPlan, Rule, Staleness, TestCluster};
use lariat::workqueue::ItemExponentialFailure;
use serde_json::json;
use support::{ConfigMap, Log, MAPS, SHOPS, Shop, api, cluster, key, object, shop};
use tokio::time::{Instant, sleep};

fn factory(cluster: &TestCluster) -> SharedControllerFactory {
    SharedControllerFactory::builder(cluster.client()).randomness(lariat::api::Randomness::seeded(1)).build()
}

/// Registers a handler that writes down what it gets.
fn log_with(shops: &SharedController<Shop>, name: &'static str, log: &Log) -> HandlerRegistration {
    let log = log.clone();
    shops.register(name, move |key, shop, _| {
        let state =
            shop.map_or("gone".to_owned(), |shop| shop.spec["by"].as_str().unwrap_or("cache").to_owned());
        log.push(format!("{name} {} {state}", key.name()));
        async { Ok(None) }
    })
}

async fn settle() {
    sleep(Duration::from_secs(1)).await;
}

/// LA-1: one controller for each type and resource. LA-2: a start waits for the caches, starts what is used, and does nothing to
/// what runs; what is used later needs another. LA-5: what is not used costs nothing and is no error.
#[tokio::test(start_paused = true)]
async fn a_factory_has_one_controller_of_each_kind() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    let factory = factory(&cluster);
    let (shops, maps) = (factory.controller::<Shop>(), factory.controller::<ConfigMap>());
    let dynamic = factory.dynamic(SHOPS);
    let metadata = factory.metadata(SHOPS);
    log_with(&factory.controller_of::<Shop>(SHOPS), "one", &log);
    factory.start(0).await.unwrap();
    assert!(shops.is_running() && !maps.is_running() && !dynamic.is_running() && !metadata.is_running());
    assert_eq!((cluster.watches("configmaps"), cluster.watches("shops.example.dev")), (0, 1));
    settle().await;
    assert_eq!(log.take(), ["one a cache"]);

    // Late registration of a kind, and another start.
    maps.register("late", {
        let log = log.clone();
        move |key, _, _| {
            log.push(format!("map {}", key.name()));
            async { Ok(None) }
        }
    });
    factory.start(0).await.unwrap();
    api(&cluster, MAPS).create(&object(support::map("m"))).await.unwrap();
    settle().await;
    let lines = log.take();
    assert!(
        maps.is_running()
            && lines.iter().all(|line| line.starts_with("map"))
            && lines.contains(&"map m".to_owned()),
        "{lines:?}"
    );
    factory.shutdown().await;
}

/// LA-3, LA-4: the number of workers of a kind, else that of the start, else that of the builder, else 5.
#[tokio::test(start_paused = true)]
async fn workers_are_counted_by_kind_start_and_default() {
    for (of_kind, at_start, at_build, want) in [(0, 0, 0, 5), (0, 0, 3, 3), (0, 2, 3, 2), (1, 2, 3, 1)] {
        let cluster = cluster();
        for number in 0..10 {
            cluster.put("shops.example.dev", shop(&format!("s{number}")));
        }
        let builder =
            SharedControllerFactory::builder(cluster.client()).workers(at_build).workers_of(&SHOPS, of_kind);
        let factory = builder.build();
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        factory.controller::<Shop>().register("counts", {
            let most = most.clone();
            move |_, _, _| {
                let (now, most) = (now.clone(), most.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    sleep(Duration::from_secs(1)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(None)
                }
            }
        });
        factory.start(at_start).await.unwrap();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(most.load(Ordering::SeqCst), want);
        factory.shutdown().await;
    }
}

/// LA-6: handlers are removed, and are registered while the controller runs, which has all keys handled again. Those of a
/// transaction are registered when it is committed, or never.
#[tokio::test(start_paused = true)]
async fn handlers_come_and_go() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    cluster.put("shops.example.dev", shop("b"));
    let factory = factory(&cluster);
    let shops = factory.controller::<Shop>();
    let one = log_with(&shops, "one", &log);
    factory.start(1).await.unwrap();
    settle().await;
    assert_eq!(log.take().len(), 2);

    log_with(&shops, "two", &log);
    settle().await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["one a cache", "one b cache", "two a cache", "two b cache"]);

    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(one.remove_when(async { drop(ended.await) }));
    end.send(()).unwrap();
    settle().await;
    shops.enqueue_key(key("a"));
    settle().await;
    assert_eq!(log.take(), ["two a cache"]);

    let mut transaction = HandlerTransaction::new();
    shops.register_in(&mut transaction, "three", {
        let log = log.clone();
        move |key, _, _| {
            log.push(format!("three {}", key.name()));
            async { Ok(None) }
        }
    });
    let mut forgotten = HandlerTransaction::new();
    shops.register_in(&mut forgotten, "never", |_, _, _| async { panic!("never") });
    forgotten.rollback();
    settle().await;
    assert_eq!(log.len(), 0);
    transaction.commit();
    settle().await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["three a", "three b", "two a cache", "two b cache"]);
    factory.shutdown().await;
}

/// LA-7: keys are added plainly, after a time, or as a failure, before the start too; and a controller can be started again.
#[tokio::test(start_paused = true)]
async fn keys_are_added_before_the_start_too() {
    let cluster = cluster();
    let factory = factory(&cluster);
    let shops = factory.controller::<Shop>();
    let began = Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let started = Arc::new(Mutex::new(began));
    shops.register("times", {
        let (times, started) = (times.clone(), started.clone());
        move |key, _, _| {
            let at = started.lock().unwrap().elapsed().as_millis();
            times.lock().unwrap().push((key.name().to_owned(), at));
            async { Ok(None) }
        }
    });
    shops.enqueue_key(key("plain"));
    shops.enqueue_after(key("after"), Duration::from_secs(3));
    shops.enqueue(key("limited"));
    sleep(Duration::from_secs(60)).await;
    factory.start(0).await.unwrap();
    *started.lock().unwrap() = Instant::now();
    sleep(Duration::from_secs(10)).await;
    let seen = std::mem::take(&mut *times.lock().unwrap());
    assert_eq!(seen, [("plain".to_owned(), 0), ("limited".to_owned(), 5), ("after".to_owned(), 3000)]);

    assert_eq!(factory.stop().await, 0);
    assert!(!shops.is_running());
    shops.enqueue_key(key("again"));
    settle().await;
    assert_eq!(times.lock().unwrap().len(), 0);
    factory.start(0).await.unwrap();
    settle().await;
    assert_eq!(times.lock().unwrap()[0].0, "again");
    factory.shutdown().await;
}

/// LA-8: every event has its key handled, a tombstone too. With `sync_only_changed` a resync does not.
#[tokio::test(start_paused = true)]
async fn every_event_has_its_key_handled() {
    for only_changed in [false, true] {
        let (cluster, log) = (cluster(), Log::default());
        cluster.put("shops.example.dev", shop("a"));
        cluster.put("shops.example.dev", shop("b"));
        let expired = lariat::api::Status::from_code(410, "too old");
        let rule = Rule::new(Fault::error_event(expired)).resource("shops").verb("watch").times(1);
        cluster.set_faults(FaultPlan::seeded(1).rule(rule));
        let factory = SharedControllerFactory::builder(cluster.client())
            .sync_only_changed(only_changed)
            .informers(|informers| {
                informers.resync_period(Duration::from_secs(600)).initial_list(InitialList::List)
            })
            .build();
        log_with(&factory.controller::<Shop>(), "one", &log);
        factory.start(1).await.unwrap();
        sleep(Duration::from_millis(100)).await;
        assert_eq!(log.take().len(), 2);
        // The watch breaks off, and until the objects are listed again nobody looks.
        cluster.delete("shops.example.dev", "default/b");
        sleep(Duration::from_secs(60)).await;
        assert_eq!(log.take(), ["one b gone"]);
        sleep(Duration::from_secs(600)).await;
        assert_eq!(log.take().len(), if only_changed { 0 } else { 1 });
        factory.shutdown().await;
    }
}

/// LA-15: caches tell of everything again each 10 hours.
#[tokio::test(start_paused = true)]
async fn caches_resync_each_ten_hours() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    let factory = factory(&cluster);
    log_with(&factory.controller::<Shop>(), "one", &log);
    factory.start(1).await.unwrap();
    sleep(Duration::from_secs(35_900)).await;
    assert_eq!(log.take().len(), 1);
    sleep(Duration::from_secs(200)).await;
    assert_eq!(log.take().len(), 1);
    factory.shutdown().await;
}

/// LA-9: 5 ms, doubled up to 30 s, and 2 minutes after 30 failures; or what is said for a kind. LA-4.
#[tokio::test(start_paused = true)]
async fn failures_are_retried_as_in_lasso() {
    let cluster = cluster();
    cluster.put("shops.example.dev", shop("a"));
    let times = Arc::new(Mutex::new(Vec::new()));
    let register = |factory: &SharedControllerFactory| {
        let times = times.clone();
        factory.controller::<Shop>().register("fails", move |_, _, _| {
            times.lock().unwrap().push(Instant::now());
            async { Err(std::fmt::Error.into()) }
        });
    };
    let waits = || -> Vec<u128> {
        let times = std::mem::take(&mut *times.lock().unwrap());
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    };
    let factory = factory(&cluster);
    register(&factory);
    factory.start(1).await.unwrap();
    sleep(Duration::from_secs(3000)).await;
    factory.shutdown().await;
    let waits_of_default = waits();
    assert_eq!(waits_of_default[..4], [5, 10, 20, 40]);
    assert_eq!(waits_of_default[12..15], [20_480, 30_000, 30_000]);
    assert_eq!(waits_of_default[30..33], [120_000, 120_000, 120_000]);

    let own = || ItemExponentialFailure::new(Duration::from_secs(1), Duration::from_secs(4));
    let factory = SharedControllerFactory::builder(cluster.client()).rate_limiter_of(&SHOPS, own).build();
    register(&factory);
    factory.start(1).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    factory.shutdown().await;
    assert_eq!(waits()[..4], [1000, 2000, 4000, 4000]);
}

/// LA-10, LA-11: handlers run in order; one that returns an object gives it to the next, unless it has no uid.
#[tokio::test(start_paused = true)]
async fn what_a_handler_returns_the_next_one_gets() {
    let (cluster, log) = (cluster(), Log::default());
    api(&cluster, SHOPS).create(&object(shop("a"))).await.unwrap();
    let factory = factory(&cluster);
    let shops = factory.controller::<Shop>();
    log_with(&shops, "one", &log);
    let change = |by: &'static str, keeps_uid: bool| {
        move |_: ObjectKey, shop: Option<Arc<Shop>>, _: Context| async move {
            let mut shop = Shop::clone(&shop.unwrap_or_default());
            shop.spec = json!({ "by": by });
            if !keeps_uid {
                shop.metadata.uid = "".into();
            }
            Ok(Some(Arc::new(shop)))
        }
    };
    shops.register("two", change("two", true));
    log_with(&shops, "three", &log);
    shops.register("four", change("four", false));
    log_with(&shops, "five", &log);
    factory.start(1).await.unwrap();
    settle().await;
    assert_eq!(log.take(), ["one a cache", "three a two", "five a two"]);
    shops.enqueue_key(key("none"));
    settle().await;
    assert_eq!(log.take(), ["one none gone", "three none gone", "five none gone"]);
    factory.shutdown().await;
}

/// LA-12: a handler that fails does not stop the others; an ignored error is none; the others are told together and retried.
/// LA-14: so is a panic, which ends nothing. LA-19: calls are counted.
#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_does_not_stop_the_others() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    let manager = cluster.manager();
    let factory = manager.shared_controllers().build();
    let shops = factory.controller::<Shop>();
    let runs = Arc::new(AtomicUsize::new(0));
    shops.register("fails", {
        let runs = runs.clone();
        move |_, _, _| {
            let first = runs.fetch_add(1, Ordering::SeqCst) == 0;
            async move { if first { Err("broken".parse::<u32>().unwrap_err().into()) } else { Ok(None) } }
        }
    });
    shops.register("panics", {
        let runs = runs.clone();
        move |_, _, _| {
            assert!(runs.load(Ordering::SeqCst) > 2, "not yet");
            async { Ok(None) }
        }
    });
    shops.register("ignores", |_, _, _| async { Err(Failure::ignore("whatever")) });
    log_with(&shops, "last", &log);
    manager.add_runnable(factory.runnable("shared", 1)).unwrap();
    let running = cluster.run(manager.clone());
    cluster.until(|_| log.len() == 1).await;
    // 5 ms later it comes again.
    let state = manager.debug_state();
    let error = state["controllers"][0]["pending"][0]["lastError"].as_str().unwrap().to_owned();
    assert_eq!(error, "handler fails: invalid digit found in string; handler panics: panicked: not yet");
    settle().await;
    assert_eq!(log.take(), ["last a cache", "last a cache", "last a cache"]);
    let metrics = manager.metrics();
    for line in [
        r#"lasso_controller_total_handler_execution_total{controller_name="shops.example.dev",handler_name="fails",has_error="true"} 1"#,
        r#"lasso_controller_total_handler_execution_total{controller_name="shops.example.dev",handler_name="fails",has_error="false"} 2"#,
        r#"lasso_controller_total_handler_execution_total{controller_name="shops.example.dev",handler_name="panics",has_error="true"} 2"#,
        r#"lasso_controller_total_handler_execution_total{controller_name="shops.example.dev",handler_name="ignores",has_error="false"} 3"#,
        r#"informer_objects{name="shops.example.dev"} 1"#,
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
    shops.enqueue_after(key("later"), Duration::from_secs(600));
    shops.enqueue_key(key("now"));
    assert!(running.stop().await.unwrap().overdue.is_empty());
}

/// LA-13: an object whose last finalizer was removed is not handled again while a cache that is behind still shows it.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_is_not_handled_from_a_stale_cache() {
    let (cluster, log) = (cluster(), Log::default());
    let mut held = shop("a");
    held["metadata"]["finalizers"] = json!(["example.dev/hold"]);
    let shops_api = api(&cluster, SHOPS);
    shops_api.create(&object(held)).await.unwrap();
    shops_api.delete(&key("a"), &DeleteParams::default()).await.unwrap();
    // From now on the cache hears of nothing.
    let stale = Fault::stale(Staleness::behind(0).always());
    cluster.set_faults(FaultPlan::seeded(1).rule(Rule::new(stale).resource("shops").verb("watch")));
    let factory = factory(&cluster);
    let shops = factory.controller::<Shop>();
    shops.register("lets go", {
        let (log, api) = (log.clone(), Api::<Shop>::all(cluster.client()));
        move |key, shop, _| {
            let (log, api) = (log.clone(), api.clone());
            async move {
                log.push(if shop.is_some() { "there" } else { "gone" });
                let Some(_) = shop else { return Ok(None) };
                // Past the context, so that nobody waits for this write.
                let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
                let mut written = api.patch(&key, &patch, &PatchParams::default()).await?;
                written.metadata.deletion_timestamp = Some("2024-05-01T00:00:00Z".into());
                Ok(Some(Arc::new(written)))
            }
        }
    });
    factory.start(1).await.unwrap();
    settle().await;
    shops.enqueue_key(key("a"));
    settle().await;
    assert_eq!(log.take(), ["there"]);
    cluster.heal();
    sleep(Duration::from_secs(11)).await;
    let lines = log.take();
    assert!(!lines.is_empty() && lines.iter().all(|line| line == "gone"), "{lines:?}");
    factory.shutdown().await;
}

/// LA-17: each controller says who it is in its requests. A kind that is removed is followed no more.
#[tokio::test(start_paused = true)]
async fn a_kind_can_be_removed() {
    let (cluster, log) = (cluster(), Log::default());
    let factory = factory(&cluster);
    let shops = factory.controller::<Shop>();
    log_with(&shops, "one", &log);
    shops.register("agent", {
        let log = log.clone();
        move |_, _, context: Context| {
            log.push(context.client().user_agent());
            async { Ok(None) }
        }
    });
    factory.start(1).await.unwrap();
    shops.enqueue_key(key("a"));
    settle().await;
    let lines = log.take();
    assert!(lines[1].starts_with("lariat/") && lines[1].ends_with(" shops.example.dev"), "{lines:?}");
    assert!(factory.remove(&SHOPS).await);
    assert!(!factory.remove(&SHOPS).await);
    assert_eq!(cluster.watches("shops.example.dev"), 0);
    assert!(!shops.is_running());
    // Another one may take its place.
    let anew = factory.controller::<Shop>();
    log_with(&anew, "anew", &log);
    factory.start(1).await.unwrap();
    cluster.put("shops.example.dev", shop("b"));
    settle().await;
    assert_eq!(log.take(), ["anew b cache"]);
    factory.shutdown().await;
}

/// LA-2: a start that fails can be repeated, and the keys are still there.
#[tokio::test(start_paused = true)]
async fn a_start_that_fails_can_be_repeated() {
    let (cluster, log) = (TestCluster::new(), Log::default());
    let builder =
        SharedControllerFactory::builder(cluster.client()).cache_sync_timeout(Duration::from_secs(5));
    let factory = builder.build();
    let shops = factory.controller::<Shop>();
    log_with(&shops, "one", &log);
    shops.enqueue_key(key("a"));
    let error = factory.start(1).await.unwrap_err().to_string();
    assert!(error.contains("shops.example.dev"), "{error}");
    assert!(!shops.is_running());
    cluster.define(support::definition());
    sleep(Duration::from_secs(60)).await;
    factory.start(1).await.unwrap();
    settle().await;
    assert_eq!(log.take(), ["one a gone"]);
    factory.shutdown().await;
}
