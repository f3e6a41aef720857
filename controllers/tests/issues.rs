//! The public issues of the original that reference section 10 lists: what is right, and that it stays so.
//!
//! Those that need whole loops are in `issues_live.rs`; 939 and 2675 in `loop.rs`; 1856 and 3992 in `allocation.rs`; 4699, 2553 and 2524
//! in `traps.rs`; 1170 in `scale.rs`. `README.md` has them all.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::sync::Arc;

use lariat_controllers::fleetautoscalers::{Counted, answered, buffer, capacity};
use lariat_controllers::fleets::{children, strategy};
use lariat_controllers::gameservers::PerNodeCounter;
use lariat_controllers::gameservers::order::NodeCounts;
use lariat_controllers::gameserversets::Expectations;
use lariat_controllers::gameserversets::overflow::overflowing;
use lariat_controllers::gameserversets::reconcile::{Action, Limits, reconcile};
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::types::{BufferPolicy, CapacityPolicy, Fleet, GameServer, GameServerSet};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn server(name: &str, state: &str) -> Arc<GameServer> {
    Arc::new(of(
        json!({"metadata": {"name": name, "uid": name}, "status": {"state": state, "nodeName": "n"}}),
    ))
}

fn servers(states: &[&str]) -> Vec<Arc<GameServer>> {
    states.iter().enumerate().map(|(number, state)| server(&format!("gs-{number}"), state)).collect()
}

fn reconciled(servers: &[Arc<GameServer>], target: usize) -> Action {
    let now = "2026-07-01T12:00:00Z".parse().unwrap();
    reconcile("Packed", servers, &NodeCounts::new(), target, Limits::default(), &[], now)
}

fn fleet(replicas: i32, ready: i32, allocated: i32) -> Fleet {
    of(json!({
        "metadata": {"name": "f", "namespace": "n", "uid": "u"},
        "spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}},
        "status": {"replicas": ready + allocated, "readyReplicas": ready, "allocatedReplicas": allocated},
    }))
}

fn set(name: &str, spec: i32, ready: i32, allocated: i32) -> GameServerSet {
    of(json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": name, "labels": {"agones.dev/fleet": "f"},
            "ownerReferences": [{"kind": "Fleet", "apiVersion": "agones.dev/v1", "name": "f", "uid": "u", "controller": true}],
        },
        "spec": {"replicas": spec},
        "status": {"replicas": ready + allocated, "readyReplicas": ready, "allocatedReplicas": allocated},
    }))
}

fn gates() -> FeatureGates {
    FeatureGates::default()
}

/// A webhook that answers `{}` crashed the controllers.
#[test]
fn issue_4555_an_answer_without_a_response_is_an_error() {
    assert!(answered(b"{}", &fleet(3, 3, 0)).is_err());
}

/// The autoscaler counted on servers that cannot be taken away, and flapped.
#[test]
fn issue_4625_a_list_autoscaler_counts_on_servers_without_players_only() {
    let fleet: Fleet = of(json!({
        "spec": {"replicas": 3, "scheduling": "Packed",
            "template": {"spec": {"lists": {"rooms": {"capacity": 10, "values": []}}}}},
        "status": {"replicas": 3, "lists": {"rooms": {"count": 2, "capacity": 30, "allocatedCount": 2, "allocatedCapacity": 20}}},
    }));
    let with = |name: &str, state: &str| -> Arc<GameServer> {
        Arc::new(of(json!({
            "metadata": {"name": name}, "status": {"state": state, "lists": {"rooms": {"capacity": 10, "values": ["a"]}}},
        })))
    };
    let servers = [with("a", "Allocated"), with("b", "Allocated"), with("c", "Ready")];
    let policy: CapacityPolicy =
        of(json!({"key": "rooms", "minCapacity": 0, "maxCapacity": 100, "bufferSize": 1}));
    let target = capacity(&policy, Counted::List, &fleet, &servers, &NodeCounts::new()).unwrap();
    assert_eq!(target.replicas, 2, "only one of the three can go");
}

/// A percentage of nothing scaled to 0, from which nothing came back.
#[test]
fn issue_3715_and_4047_a_percentage_never_asks_for_less_than_one_server() {
    let fleet: Fleet = of(json!({
        "spec": {"template": {"spec": {"counters": {"rooms": {"count": 0, "capacity": 10}}}}},
        "status": {"counters": {"rooms": {}}},
    }));
    let policy: CapacityPolicy =
        of(json!({"key": "rooms", "minCapacity": 5, "maxCapacity": 100, "bufferSize": "10%"}));
    let none: [Arc<GameServer>; 0] = [];
    let target = capacity(&policy, Counted::Counter, &fleet, &none, &NodeCounts::new()).unwrap();
    assert_eq!(target.replicas, 1);
}

/// Less than no servers was asked for.
#[test]
fn issue_2617_and_2509_the_active_set_is_never_to_have_less_than_nothing() {
    let rest = [Arc::new(set("old", 10, 0, 10))];
    let sizes = strategy::sizes(&fleet(5, 0, 10), &set("new", 0, 0, 0), &rest, gates()).unwrap();
    assert_eq!(sizes.active, 0);
}

/// A rolling update took all ready servers away: 3,460 replicas, 194 ready, 3,220 allocated.
#[test]
fn issue_3438_and_3688_a_rolling_update_leaves_ready_servers() {
    let rest = [Arc::new(set("old", 3_460, 194, 3_220))];
    let fleet = fleet(3_460, 194, 3_220);
    let sizes = strategy::sizes(&fleet, &set("new", 0, 0, 0), &rest, gates()).unwrap();
    let taken = sizes.rest.last().map_or(0, |(_, size)| 3_460 - size);
    assert!(taken <= 3_460 - 3_220 - 194 + 194 / 4 + 1, "{taken} of 194 ready servers, and those of no use");
}

/// A rolling update stood still when the servers of the new set had players.
#[test]
fn issue_2397_and_2432_servers_with_players_of_the_new_set_count_as_running() {
    let rest = [Arc::new(set("old", 5, 5, 0))];
    let sizes = strategy::sizes(&fleet(10, 5, 5), &set("new", 5, 0, 5), &rest, gates()).unwrap();
    assert!(sizes.rest.iter().any(|(_, size)| *size < 5), "the old set shrinks: {sizes:?}");
}

/// More than one old set blocked the update.
#[test]
fn issue_2574_several_old_sets_shrink() {
    let rest = [Arc::new(set("a", 3, 3, 0)), Arc::new(set("b", 3, 3, 0))];
    let sizes = strategy::sizes(&fleet(10, 10, 0), &set("new", 4, 4, 0), &rest, gates()).unwrap();
    assert!(!sizes.rest.is_empty());
}

/// An update went on before new servers were ready.
#[test]
fn issue_1625_an_update_waits_for_servers_that_start() {
    let mut new = set("new", 3, 0, 0);
    new.status.replicas = 3;
    let rest = [Arc::new(set("old", 8, 8, 0))];
    let sizes = strategy::sizes(&fleet(10, 8, 0), &new, &rest, gates()).unwrap();
    assert!(sizes.rest.is_empty(), "{sizes:?}");
}

/// Two active sets were made, of which one was forgotten.
#[test]
fn issue_3555_of_two_sets_of_the_template_one_is_emptied() {
    let sets = [Arc::new(set("a", 3, 3, 0)), Arc::new(set("b", 3, 3, 0))];
    let children = children(&fleet(3, 6, 0), &sets);
    assert_eq!((children.active.is_some(), children.rest.len()), (true, 1));
}

/// 510 servers were made for 500.
#[test]
fn issue_569_servers_that_were_made_count_before_the_cache_shows_them() {
    let expected = Expectations::default();
    for number in 0..10 {
        expected.created(server(&format!("gs-{number}"), "PortAllocation"));
    }
    let seen = expected.over(servers(&["Ready"; 5]));
    assert_eq!(reconciled(&seen, 10).add, 0);
}

/// Reserved servers were shut down.
#[test]
fn issue_2209_reserved_servers_stay() {
    assert!(reconciled(&servers(&["Reserved", "Allocated", "Reserved"]), 0).delete.is_empty());
}

/// A quota made servers fail and be replaced without pause.
#[test]
fn issue_3384_and_1557_a_server_in_error_is_held_for_thirty_seconds() {
    let failed = |at: &str| -> Arc<GameServer> {
        Arc::new(of(json!({
            "metadata": {"name": "a", "annotations": {"agones.dev/errored-at": at}}, "status": {"state": "Error"},
        })))
    };
    let held = reconciled(&[failed("2026-07-01T11:59:45Z")], 1);
    assert_eq!((held.add, held.delete.len()), (0, 0));
    let over = reconciled(&[failed("2026-07-01T11:59:29Z")], 1);
    assert_eq!((over.add, over.delete.len()), (1, 1));
}

/// Servers were counted twice on their nodes after a relist.
#[test]
fn issue_4363_a_server_counts_once() {
    let counter = PerNodeCounter::default();
    let ready = server("a", "Ready");
    counter.observe(&ready);
    counter.observe(&ready);
    counter.observe(&server("a", "Allocated"));
    counter.forget("a");
    counter.forget("a");
    assert_eq!((counter.counts()["n"].ready, counter.counts()["n"].allocated), (0, 0));
}

/// GSS-7 [X]: the overflow of a stale status was more than there were servers.
#[test]
fn gss_7_an_overflow_of_more_servers_than_there_are_marks_those_there_are() {
    let set: GameServerSet = of(json!({
        "spec": {"replicas": 1, "allocationOverflow": {"labels": {"a": "b"}}}, "status": {"allocatedReplicas": 9},
    }));
    assert_eq!(overflowing(&set, &servers(&["Allocated", "Allocated"]), &NodeCounts::new()).len(), 2);
}

/// The wording of a limit went the wrong way; what it goes by is whether the fleet is to be larger than it is.
#[test]
fn issue_2297_a_minimum_is_a_limit() {
    let policy: BufferPolicy = of(json!({"bufferSize": 2, "minReplicas": 10, "maxReplicas": 20}));
    let target = buffer(&policy, &fleet(3, 3, 0)).unwrap();
    assert_eq!((target.replicas, target.limited), (10, true));
}

/// A fleet with more players than it is to have replaces none of them.
#[test]
fn issue_3970_and_3287_the_active_set_recovers_after_going_down_and_up() {
    let mut active = set("new", 4, 4, 0);
    active.status.replicas = 4;
    let sizes = strategy::sizes(&fleet(8, 4, 0), &active, &[], gates()).unwrap();
    assert_eq!(sizes.active, 8);
}
