//! How long keys wait while others hang, panic, fail for ever, or change 100,000 times: `cargo bench -p lariat`.
//!
//! Fifty shops are changed one after another, every millisecond one, and it is measured how long each change takes from the server
//! to the handler, over the embedded server and a real informer. Each disturbance is measured beside an undisturbed run right before
//! it, five times, in turns; what counts is the median of the five ratios. Fails if one is over two.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a program that measures

use std::sync::Mutex;
use std::time::Duration;

use lariat::prelude::*;
use lariat::testing::{ApiServer, TestCluster};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval};

const SHOPS: Kind = Kind::namespaced("example.dev", "v1", "Shop", "shops");

/// How many shops are measured, how often each, and how many workers handle them.
const SHOPS_MEASURED: usize = 50;
const CHANGES: usize = 40;
const WORKERS: usize = 8;

const ROUNDS: usize = 5;

/// How much slower the others may be.
const LIMIT: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Disturbance {
    None,
    Stuck,
    Panics,
    Fails,
    Storm,
}

/// Half of the changes took no longer than the one, and 99 of 100 no longer than the other.
#[derive(Debug, Clone, Copy)]
struct Latency {
    median: Duration,
    p99: Duration,
}

fn main() {
    // What panics on purpose need not say so a hundred times.
    std::panic::set_hook(Box::new(|_| {}));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(measure(Disturbance::None)); // warm
    let mut too_slow = Vec::new();
    println!(
        "{:10} {:>14} {:>14} {:>8} {:>14} {:>14} {:>8}",
        "", "median alone", "disturbed", "ratio", "p99 alone", "disturbed", "ratio"
    );
    for disturbance in [Disturbance::Stuck, Disturbance::Panics, Disturbance::Fails, Disturbance::Storm] {
        let mut pairs: Vec<(Latency, Latency)> = (0..ROUNDS)
            .map(|_| (runtime.block_on(measure(Disturbance::None)), runtime.block_on(measure(disturbance))))
            .collect();
        let (alone, disturbed) = by_median(&mut pairs, |latency| latency.median);
        let (alone_p99, disturbed_p99) = by_median(&mut pairs, |latency| latency.p99);
        let ratio = |a: Duration, b: Duration| b.as_secs_f64() / a.as_secs_f64();
        let (of_median, of_p99) = (ratio(alone, disturbed), ratio(alone_p99, disturbed_p99));
        println!(
            "{:10} {alone:>14.1?} {disturbed:>14.1?} {of_median:>8.2} {alone_p99:>14.1?} {disturbed_p99:>14.1?} {of_p99:>8.2}",
            format!("{disturbance:?}")
        );
        if of_median > LIMIT {
            too_slow.push(disturbance);
        }
    }
    assert!(too_slow.is_empty(), "slower than {LIMIT} times the undisturbed: {too_slow:?}");
}

/// The pair whose ratio is in the middle.
fn by_median(pairs: &mut [(Latency, Latency)], of: fn(&Latency) -> Duration) -> (Duration, Duration) {
    let ratio = |(a, b): &(Latency, Latency)| of(b).as_secs_f64() / of(a).as_secs_f64();
    pairs.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (alone, disturbed) = &pairs[pairs.len() / 2];
    (of(alone), of(disturbed))
}

async fn measure(disturbance: Disturbance) -> Latency {
    let cluster = TestCluster::of(ApiServer::builder().event_window(1_000).remember_requests(false).build());
    cluster.define(definition());
    let seen: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let start = Instant::now();
    let controller = Controller::<DynamicObject>::of_kind("shops", SHOPS).workers(WORKERS).reconcile({
        let seen = seen.clone();
        move |key, shop, _| {
            let seen = seen.clone();
            async move {
                match key.name() {
                    "stuck" => std::future::pending().await,
                    "panics" => panic!("as always"),
                    "fails" => return Err(std::fmt::Error.into()),
                    "storm" => return Ok(Outcome::Done),
                    _ => {}
                }
                let sent = shop.and_then(|shop| shop.other["spec"]["sent"].as_u64()).unwrap_or(0);
                if sent > 0 {
                    seen.lock().unwrap().push(start.elapsed() - Duration::from_nanos(sent));
                }
                Ok(Outcome::Done)
            }
        }
    });
    let trigger = controller.trigger();
    let manager = cluster.manager_builder().grace(Duration::ZERO).build();
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    running.ready().await;

    let storm = tokio::spawn({
        let (trigger, cluster) = (trigger.clone(), cluster.clone());
        async move {
            let name = match disturbance {
                Disturbance::None => return,
                Disturbance::Stuck => "stuck",
                Disturbance::Panics => "panics",
                Disturbance::Fails => "fails",
                Disturbance::Storm => "storm",
            };
            cluster.put("shops.example.dev", shop(name, 0));
            let key = ObjectKey::new("default", name);
            // 100,000 events of one key, spread over the time of the measurement.
            let mut ticks = interval(Duration::from_millis(1));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            loop {
                ticks.tick().await;
                let events = if disturbance == Disturbance::Storm { 50 } else { 1 };
                (0..events).for_each(|_| trigger.enqueue(key.clone()));
            }
        }
    });
    let mut ticks = interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for change in 0..CHANGES * SHOPS_MEASURED {
        ticks.tick().await;
        let sent = u64::try_from(start.elapsed().as_nanos()).unwrap();
        cluster.put("shops.example.dev", shop(&format!("s{}", change % SHOPS_MEASURED), sent));
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    storm.abort();
    running.stop().await.unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    assert!(seen.len() > CHANGES * SHOPS_MEASURED / 2, "{disturbance:?}: only {} were heard of", seen.len());
    seen.sort_unstable();
    Latency { median: seen[seen.len() / 2], p99: seen[seen.len() * 99 / 100] }
}

fn shop(name: &str, sent: u64) -> Value {
    json!({
        "apiVersion": "example.dev/v1", "kind": "Shop",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"sent": sent},
    })
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}
