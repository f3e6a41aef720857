//! When the autoscaler loop looks, and what it does when it cannot do its work.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{run, run_telling, server_of, server_of_all, server_of_events};
use tokio::time::Instant;

fn fleet() -> Value {
    json!({
        "metadata": {"name": "fleet", "namespace": "n", "uid": "f", "resourceVersion": "1"},
        "spec": {"replicas": 3, "template": {"x": [1.50, "kept"]}, "strategy": {"type": "Recreate"}},
        "status": {"replicas": 3, "readyReplicas": 1, "reservedReplicas": 0, "allocatedReplicas": 2},
    })
}

fn autoscaler(seconds: i64) -> Value {
    json!({
        "metadata": {"name": "auto", "namespace": "n", "uid": "a", "resourceVersion": "2", "generation": 1},
        "spec": {
            "fleetName": "fleet", "unknown": {"kept": true},
            "policy": {"type": "Buffer", "buffer": {"bufferSize": 1, "minReplicas": 0, "maxReplicas": 10}},
            "sync": {"type": "FixedInterval", "fixedInterval": {"seconds": seconds}},
        },
        "status": {"currentReplicas": 3, "desiredReplicas": 3, "ableToScale": true, "scalingLimited": false,
            "lastAppliedPolicy": "Buffer"},
    })
}

fn event(kind: &str, mut object: Value, version: u32, generation: u32) -> Value {
    object["metadata"]["resourceVersion"] = version.to_string().into();
    object["metadata"]["generation"] = generation.into();
    json!({"type": kind, "object": object})
}

/// The tenths of seconds at which the loop decided something.
async fn looks(server: &lariat_fixtures::ReplayServer, seconds: u64) -> Vec<u128> {
    let start = Instant::now();
    let looks = Arc::new(Mutex::new(Vec::new()));
    let seen = looks.clone();
    let observer = move |_: &_| seen.lock().unwrap().push(start.elapsed().as_millis() / 100);
    run(server, Duration::from_secs(seconds), observer).await;
    std::mem::take(&mut *looks.lock().unwrap())
}

/// FAS-1: at once, which is 200 ms after it appeared, and then every period.
#[tokio::test(start_paused = true)]
async fn it_looks_at_once_and_then_every_period() {
    let server = server_of_events(&fleet(), &[(1_000, event("ADDED", autoscaler(2), 2, 1))]);
    assert_eq!(looks(&server, 8).await, [12, 32, 52, 72]);
}

/// FAS-1: another generation starts the timer anew; other changes do not.
#[tokio::test(start_paused = true)]
async fn a_new_generation_starts_the_timer_anew() {
    let server = server_of_events(
        &fleet(),
        &[
            (1_000, event("ADDED", autoscaler(4), 2, 1)),
            (3_000, event("MODIFIED", autoscaler(2), 3, 1)),
            (6_000, event("MODIFIED", autoscaler(2), 4, 2)),
        ],
    );
    assert_eq!(looks(&server, 10).await, [12, 52, 62, 82]);
}

/// FAS-1: a deleted autoscaler is not looked at any more; one under the same name with another uid is.
#[tokio::test(start_paused = true)]
async fn a_deleted_autoscaler_has_no_timer() {
    let mut reborn = autoscaler(2);
    reborn["metadata"]["uid"] = "b".into();
    let server = server_of_events(
        &fleet(),
        &[
            (1_000, event("ADDED", autoscaler(2), 2, 1)),
            (4_000, event("DELETED", autoscaler(2), 3, 1)),
            (7_500, event("ADDED", reborn, 4, 1)),
        ],
    );
    assert_eq!(looks(&server, 10).await, [12, 32, 77, 97]);
}

/// FAS-1 [X], issue 2675: a stored autoscaler without a period crashed the controller again and again. No period, 0 and less than 0
/// are 30 s, and do not spin.
#[tokio::test(start_paused = true)]
async fn issue_2675_a_period_that_makes_no_sense_is_thirty_seconds() {
    let mut without = autoscaler(0);
    without["spec"].as_object_mut().unwrap().remove("sync");
    for autoscaler in [without, autoscaler(0), autoscaler(-5)] {
        let server = server_of_events(&fleet(), &[(1_000, event("ADDED", autoscaler, 2, 1))]);
        assert_eq!(looks(&server, 40).await, [12, 312]);
    }
}

/// FAS-3: without its fleet an autoscaler says that it is not able to scale, and waits for its next look.
#[tokio::test(start_paused = true)]
async fn a_missing_fleet_is_said_in_the_status_and_not_retried() {
    let server = server_of(&autoscaler(60), &Value::Null);
    let writes = run(&server, Duration::from_secs(30), |_| {}).await;
    assert_eq!(writes.len(), 1, "{writes:?}");
    let status = &writes[0].body["status"];
    assert_eq!((&status["ableToScale"], &status["desiredReplicas"]), (&json!(false), &json!(0)));
    assert_eq!(status["lastAppliedPolicy"], "");
}

/// FAS-3: a fleet that is being deleted is left alone.
#[tokio::test(start_paused = true)]
async fn a_fleet_that_is_being_deleted_is_left_alone() {
    let mut fleet = fleet();
    fleet["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    fleet["status"]["allocatedReplicas"] = 9.into();
    let server = server_of(&autoscaler(60), &fleet);
    assert!(run(&server, Duration::from_secs(30), |_| {}).await.is_empty());
}

/// FAS-3: a policy that gives no size is said in the status and tried again, quickly and then slowly.
#[tokio::test(start_paused = true)]
async fn a_policy_without_a_size_is_said_in_the_status_and_retried() {
    for policy in [
        json!({"type": "Buffer"}),
        json!({"type": "Buffer", "buffer": {"bufferSize": "100%", "maxReplicas": 10}}),
        json!({"type": "Buffer", "buffer": {"bufferSize": "many", "maxReplicas": 10}}),
        json!({"type": "Astrology", "astrology": {}}),
        json!({}),
    ] {
        let mut autoscaler = autoscaler(600);
        autoscaler["spec"]["policy"] = policy.clone();
        let server = server_of(&autoscaler, &fleet());
        let writes = run(&server, Duration::from_secs(5), |_| {}).await;
        // Five times 200 ms apart, then 3 s: the cache never shows the written status here.
        assert_eq!(writes.len(), 6, "{policy}: {writes:?}");
        assert!(writes.iter().all(|write| write.body["status"]["ableToScale"] == false), "{policy}");
    }
}

/// Issue 939: two autoscalers of one fleet undo what the other does. Nothing refuses the second; both say so.
#[tokio::test(start_paused = true)]
async fn issue_939_two_autoscalers_of_one_fleet_say_so() {
    let mut other = autoscaler(600);
    other["metadata"]["name"] = "other".into();
    other["metadata"]["uid"] = "b".into();
    let told = Arc::<Mutex<Vec<String>>>::default();
    let server = server_of_all(&[&autoscaler(600), &other], &fleet());
    run_telling(&server, Duration::from_secs(5), told.clone(), |_| {}).await;
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    let warning =
        |rival: &str| format!("Warning FleetAutoscaler Fleet fleet is scaled by FleetAutoscaler {rival} too");
    assert_eq!(told, [warning("auto"), warning("other")]);

    let told = Arc::<Mutex<Vec<String>>>::default();
    other["spec"]["fleetName"] = "another".into();
    let server = server_of_all(&[&autoscaler(600), &other], &fleet());
    run_telling(&server, Duration::from_secs(5), told.clone(), |_| {}).await;
    let told = told.lock().unwrap();
    assert!(!told.iter().any(|event| event.contains("too")), "each has a fleet of its own: {told:?}");
}

/// FAS-4: nothing is written that is so already.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_a_difference() {
    let server = server_of(&autoscaler(2), &fleet());
    assert!(run(&server, Duration::from_secs(30), |_| {}).await.is_empty());
}

/// Fields that the types do not know survive both writes, and the template byte for byte.
#[tokio::test(start_paused = true)]
async fn unknown_fields_survive_a_write() {
    let mut fleet = fleet();
    fleet["status"]["allocatedReplicas"] = 4.into();
    let writes = run(&server_of(&autoscaler(60), &fleet), Duration::from_secs(1), |_| {}).await;
    let mut want = fleet.clone();
    want["spec"]["replicas"] = 5.into();
    want["apiVersion"] = "agones.dev/v1".into();
    want["kind"] = "Fleet".into();
    assert_eq!(writes[0].body, want);
    assert_eq!(writes[1].body["spec"], autoscaler(60)["spec"]);
    assert_eq!(writes[1].target, "/apis/autoscaling.agones.dev/v1/namespaces/n/fleetautoscalers/auto/status");
}
