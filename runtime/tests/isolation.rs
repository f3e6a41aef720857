//! What one key does costs the others nothing, and takes a bounded amount of memory. How long the others wait is measured by
//! `cargo bench -p lariat`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat::prelude::*;
use lariat::testing::{ApiServer, TestCluster};
use serde_json::json;
use support::{Log, Shop, definition, key, shop};
use tokio::time::sleep;

/// Changes of the one object.
const STORM: u64 = 100_000;

/// How much the process may grow meanwhile, in KiB. Changes that pile up would take ten times as much.
const GROWTH: u64 = 32 << 10;

/// How much memory the process has, in KiB; none where nobody says.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test(start_paused = true)]
async fn a_storm_on_a_key_whose_handler_hangs_takes_no_memory() {
    let server = ApiServer::builder().event_window(100).remember_requests(false).build();
    let cluster = TestCluster::of(server);
    cluster.define(definition());
    let log = Log::default();
    let controller = Controller::<Shop>::new("shops").workers(4).reconcile({
        let log = log.clone();
        move |key, _, _| {
            log.push(key.name());
            async move {
                match key.name() {
                    "hangs" => std::future::pending().await,
                    "panics" => panic!("as always"),
                    "fails" => Err(std::fmt::Error.into()),
                    _ => Ok(Outcome::Done),
                }
            }
        }
    });
    for name in ["hangs", "panics", "fails", "well"] {
        cluster.put("shops.example.dev", shop(name));
    }
    let trigger = controller.trigger();
    let manager = cluster.manager_builder().grace(Duration::ZERO).build();
    manager.add(controller).unwrap();
    let running = cluster.run(manager.clone());
    running.ready().await;

    let change = |number: u64| {
        let mut shop = shop("hangs");
        shop["spec"] = json!({"number": number, "text": "x".repeat(1000)});
        cluster.put("shops.example.dev", shop);
    };
    // So that what is allocated once is.
    for number in 0..2_000 {
        change(number);
        trigger.enqueue(key("hangs"));
        if number.is_multiple_of(50) {
            tokio::task::yield_now().await;
        }
    }
    sleep(Duration::from_secs(10)).await;
    let before = resident();
    for number in 0..STORM {
        change(number);
        trigger.enqueue(key("hangs"));
        trigger.enqueue_rate_limited(key("hangs"));
        if number.is_multiple_of(50) {
            tokio::task::yield_now().await;
        }
    }
    let grown = resident().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    assert!(grown < GROWTH, "grown by {grown} KiB");

    sleep(Duration::from_secs(10)).await;
    let state = manager.debug_state();
    let controller = &state["controllers"][0];
    assert!(controller["queue"]["length"].as_u64().unwrap() <= 1, "{controller}");
    assert!(controller["pendingTotal"].as_u64().unwrap() <= 4, "{controller}");
    let queued = manager.metrics();
    assert!(queued.contains(r#"informer_queued_items{name="shops.example.dev"} 0"#), "{queued}");

    // The others go on: the one that hangs has its worker, and the others' delays are their own.
    log.take();
    trigger.enqueue(key("well"));
    sleep(Duration::from_millis(1)).await;
    assert!(log.take().contains(&"well".to_owned()));
    running.stop().await.unwrap();
}
