//! Two managers with one Lease: who works, when the other takes over, and what is written by whom.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat::leaderelection::{ElectorConfig, MissingLease};
use lariat::prelude::*;
use lariat::testing::{Fault, FaultPlan, Rule, TestCluster};
use lariat::{LeaseElector, Manager, ManagerError};
use support::{Log, Shop, cluster, shop};
use tokio::time::{Instant, sleep};

/// A manager whose only controller writes down what it handles.
fn replica(cluster: &TestCluster, name: &'static str, log: &Log) -> Manager {
    let config = ElectorConfig { missing_lease: MissingLease::NeverHeld, ..ElectorConfig::new(name) };
    let elector = LeaseElector::new(&cluster.client(), "default", "shops", config).unwrap();
    let manager = cluster.manager_builder().elector(elector).build();
    let log = log.clone();
    let controller =
        Controller::<Shop>::new("shops").reconcile(move |key, shop: Option<Arc<Shop>>, context| {
            let log = log.clone();
            async move {
                let leading = context.leading().expect("it runs only when it leads");
                assert_eq!(leading.identity(), name);
                log.push(format!("{name} {key}"));
                let Some(shop) = shop else { return Ok(Outcome::Done) };
                // Long enough for the Lease to be lost meanwhile.
                if shop.metadata.name == "slow" {
                    sleep(Duration::from_secs(14)).await;
                    let error = context.api::<Shop>().update(&*shop).await.unwrap_err();
                    log.push(format!(
                        "{name}: {}",
                        error.to_string().split(' ').skip(2).collect::<Vec<_>>().join(" ")
                    ));
                }
                Ok::<_, Failure>(Outcome::Done)
            }
        });
    manager.add(controller).unwrap();
    manager
}

/// LE-18: the standby has its caches ready, works when the leader has given the Lease back, and not before.
#[tokio::test(start_paused = true)]
async fn the_standby_takes_over_when_the_leader_ends() {
    let cluster = cluster();
    let log = Log::default();
    cluster.put("shops.example.dev", shop("a"));
    let first = cluster.run(replica(&cluster, "first", &log));
    cluster.until(|_| log.lines() == ["first default/a"]).await;
    let second = cluster.run(replica(&cluster, "second", &log));
    second.ready().await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(log.lines(), ["first default/a"], "it stands by");

    let metrics = first.manager().metrics();
    assert!(metrics.contains(r#"leader_election_master_status{name="shops"} 1"#), "{metrics}");
    assert!(metrics.contains(r#"leader_election_slowpath_total{name="shops"} 0"#), "{metrics}");
    first.stop().await.unwrap();
    // LE-22
    let events: Vec<String> = cluster
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "POST" && seen.target.ends_with("/events"))
        .map(|seen| {
            format!(
                "{} {}",
                seen.body["reason"],
                seen.body["message"].as_str().or(seen.body["note"].as_str()).unwrap()
            )
        })
        .collect();
    assert_eq!(
        events,
        [r#""LeaderElection" first became leader"#, r#""LeaderElection" first stopped leading"#]
    );
    let begun = Instant::now();
    cluster.until(|_| log.lines().len() == 2).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "the Lease was given back: {:?}", begun.elapsed());
    assert_eq!(log.lines(), ["first default/a", "second default/a"]);
    second.stop().await.unwrap();
}

/// 3.3: a leader that cannot renew ends, and what it wanted to write is not sent.
#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_writes_nothing_and_ends() {
    let cluster = cluster();
    let log = Log::default();
    let running = cluster.run(replica(&cluster, "first", &log));
    running.ready().await;
    sleep(Duration::from_secs(5)).await;
    cluster.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::black_hole()).resource("leases")));
    cluster.put("shops.example.dev", shop("slow"));
    let error = running.ended().await.unwrap_err();
    assert!(matches!(error, ManagerError::LeadershipLost { .. }), "{error}");
    assert_eq!(error.to_string(), "leadership of \"shops\" was lost: the Lease was not renewed in time");
    let writes =
        cluster.seen().into_iter().filter(|seen| seen.method == "PUT" && seen.target.contains("/shops/"));
    assert_eq!(writes.count(), 0);
}
