//! The controller that was written for kube-rs.

#![cfg(feature = "kube")]
#![allow(dead_code)] // the example's main

#[path = "../examples/from_kube.rs"]
mod from_kube;

use std::time::Duration;

use from_kube::{Shop, ShopSpec, controller, definition};
use lariat::api::kube_kind;
use lariat::prelude::*;
use lariat::testing::TestCluster;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_controller_that_was_written_for_kube_works_with_its_types() {
    let cluster = TestCluster::new();
    cluster.define(definition());
    assert_eq!(kube_kind::<Shop>(), Kind::namespaced("example.dev", "v1", "Shop", "shops"));
    let manager = cluster.manager();
    manager.add(controller()).unwrap();
    let running = cluster.run(manager);
    let shops = Api::<Shop>::of_kind(cluster.client(), kube_kind::<Shop>(), "default");
    shops.create(&Shop::new("bakery", ShopSpec { sign: "bread".to_owned() })).await.unwrap();
    let sign = || cluster.stored("configmaps", "default/bakery-sign");
    cluster.until(|_| sign().is_some_and(|sign| sign["data"]["sign"] == "bread")).await;
    assert_eq!(sign().unwrap()["metadata"]["ownerReferences"][0]["name"], "bakery");
    // What it owns is put right as soon as it is changed, or gone.
    cluster.delete("configmaps", "default/bakery-sign");
    cluster.until(|_| sign().is_some()).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(cluster.stored("shops.example.dev", "default/bakery").unwrap()["status"]["signs"], 1);
    running.stop().await.unwrap();
}
