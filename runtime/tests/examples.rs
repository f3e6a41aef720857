//! What the examples do.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking
#![allow(dead_code, missing_docs, unreachable_pub)] // examples are programs

#[path = "../examples/blocking.rs"]
mod blocking;
#[path = "../examples/crd.rs"]
mod crd;
#[path = "../examples/shared.rs"]
mod shared;
#[path = "../examples/smallest.rs"]
mod smallest;

mod support;

use std::time::Duration;

use lariat::client::{DeleteParams, Patch, PatchParams};
use lariat::prelude::*;
use lariat::shared::SharedControllerFactory;
use lariat::testing::TestCluster;
use serde_json::json;
use support::{Log, key, map};
use tokio::time::sleep;

/// It is as short as it should be.
#[test]
fn the_smallest_example_has_thirty_lines() {
    assert!(include_str!("../examples/smallest.rs").lines().count() <= 30);
}

#[tokio::test(start_paused = true)]
async fn a_shop_gets_its_signs_and_goes_in_order() {
    let cluster = TestCluster::new();
    cluster.define(crd::definition());
    let manager = cluster.manager();
    manager.add(crd::controller()).unwrap();
    let running = cluster.run(manager);
    let shops = Api::<crd::Shop>::namespaced(cluster.client(), "default");
    let mut shop = crd::Shop { spec: crd::ShopSpec { text: "bread".into(), signs: 3 }, ..Default::default() };
    shop.metadata.name = "bakery".into();
    shops.create(&shop).await.unwrap();
    let status = || cluster.stored("shops.example.dev", "default/bakery").map(|shop| shop["status"].clone());
    let is_ready = |signs: usize| {
        let status = status().unwrap_or_default();
        status["signs"] == signs && status["conditions"][0]["status"] == "True"
    };
    cluster.until(|_| is_ready(3)).await;
    assert_eq!(cluster.stored("configmaps", "default/bakery-2").unwrap()["data"]["text"], "bread");

    // What is gone comes back; what is too much goes.
    cluster.delete("configmaps", "default/bakery-0");
    cluster.until(|_| cluster.stored("configmaps", "default/bakery-0").is_some()).await;
    let patch = Patch::Merge(json!({"spec": {"signs": 1}}));
    shops.patch(&key("bakery"), &patch, &PatchParams::default()).await.unwrap();
    cluster.until(|_| is_ready(1)).await;
    assert!(cluster.stored("configmaps", "default/bakery-2").is_none());

    shops.delete(&key("bakery"), &DeleteParams::default()).await.unwrap();
    cluster.until(|_| status().is_none()).await;
    cluster.until(|_| cluster.stored("configmaps", "default/bakery-0").is_none()).await;
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn shared_handlers_work_on_what_the_one_before_returns() {
    let (cluster, log) = (TestCluster::new(), Log::default());
    support::api(&cluster, support::MAPS).create(&support::object(map("a"))).await.unwrap();
    let factory = SharedControllerFactory::new(cluster.client());
    let said = log.clone();
    shared::register(&factory, move |line| said.push(line));
    factory.start(1).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    cluster.delete("configmaps", "default/a");
    sleep(Duration::from_secs(5)).await;
    factory.shutdown().await;
    let mut lines = log.take();
    lines.dedup();
    assert_eq!(lines, ["default/a is tidy", "default/a is gone"]);
}

#[test]
fn threads_hear_of_objects_without_async() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let cluster = runtime.block_on(async { TestCluster::new() });
    let census = blocking::Census::take(cluster.client(), runtime).unwrap();
    while census.count("kube-system") == 0 || census.count("default") == 0 {
        std::thread::yield_now();
    }
    drop(census);
}

#[tokio::test(start_paused = true)]
async fn the_smallest_controller_is_called() {
    let cluster = TestCluster::new();
    let manager = cluster.manager();
    manager.add(Controller::of_kind("hello", smallest::NAMESPACES).reconcile(smallest::hello)).unwrap();
    let running = cluster.run(manager.clone());
    let success = r#"controller_runtime_reconcile_total{controller="hello",result="success"} 4"#;
    cluster.until(|_| manager.metrics().contains(success)).await;
    running.stop().await.unwrap();
}
