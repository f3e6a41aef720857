//! What a re-implementer would get wrong first (reference 0, 2.4, 10), where a whole look or a history is needed to show it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use common::echo::EchoServer;
use lariat::api::{ManualClock, Randomness};
use lariat::prelude::*;
use lariat::store::Store;
use lariat_controllers::events::Recorder;
use lariat_controllers::gameservers::migration::{Doubts, GRACE, Migrated};
use lariat_controllers::gameservers::order::{NodeCount, NodeCounts, sort_for_deletion};
use lariat_controllers::gameservers::ports::{PortAllocator, PortRange};
use lariat_controllers::gameservers::{Context, PerNodeCounter, PodSettings, Writes};
use lariat_controllers::gameserversets::{GameServerSets, SetContext, index_by_set};
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::types::{GameServer, GameServerSet, Node, Pod, Priority};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn node(addresses: &Value) -> Node {
    of(json!({"metadata": {"name": "node-1"}, "status": {"addresses": addresses}}))
}

/// A server with players on a node, and what looks at it.
fn context(server: &EchoServer, addresses: &Value) -> Context {
    let client = server.client();
    let servers = Informer::<GameServer>::builder(Api::all(client.clone())).build();
    let (pods, nodes) = (Store::<Pod>::new(), Store::<Node>::new());
    let game_server: GameServer = of(json!({
        "metadata": {"name": "gs-1", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "status": {"state": "Allocated", "nodeName": "node-1", "address": "9.9.9.9"},
    }));
    let pod: Pod = of(json!({
        "metadata": {
            "name": "gs-1", "namespace": "n", "labels": {"agones.dev/role": "gameserver"},
            "ownerReferences": [{"apiVersion": "agones.dev/v1", "kind": "GameServer", "name": "gs-1", "uid": "u", "controller": true}],
        },
        "spec": {"nodeName": "node-1"}, "status": {"phase": "Running", "podIPs": [{"ip": "10.4.0.1"}]},
    }));
    servers.lister().store().insert(key(), game_server.into());
    pods.insert(key(), pod.into());
    nodes.insert(ObjectKey::new("", "node-1"), node(addresses).into());
    let range = [("default".to_owned(), PortRange { min: 7_000, max: 7_010 })];
    Context {
        gates: FeatureGates::default(),
        settings: Arc::new(PodSettings::default()),
        servers: Arc::new(Writes::new(client.clone(), &servers)),
        pods: Lister::new(Pod::KIND, pods),
        nodes: Lister::new(Node::KIND, nodes),
        pod_api: Api::of_kind(client, Pod::KIND, ""),
        ports: Arc::new(PortAllocator::new(range, Randomness::seeded(1)).unwrap()),
        events: Recorder::new("test", drop),
        clock: Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH)),
    }
}

fn key() -> ObjectKey {
    ObjectKey::new("n", "gs-1")
}

/// Issues 4699 and 3115: a node's status without some of its addresses, for a moment, took all servers from their players.
#[tokio::test(start_paused = true)]
async fn issue_4699_an_address_that_is_missing_for_a_moment_harms_nobody() {
    let server = EchoServer::new(|_| None);
    let internal = json!([{"type": "InternalIP", "address": "10.0.0.5"}]);
    let context = context(&server, &internal);
    let doubts = Doubts::default();
    assert_eq!(context.sync_migration(&key(), &doubts).await.unwrap(), Migrated::Doubtful(GRACE));
    tokio::time::advance(GRACE / 2).await;
    assert_eq!(context.sync_migration(&key(), &doubts).await.unwrap(), Migrated::Doubtful(GRACE / 2));

    let both =
        json!([{"type": "InternalIP", "address": "10.0.0.5"}, {"type": "ExternalIP", "address": "9.9.9.9"}]);
    context.nodes.store().insert(ObjectKey::new("", "node-1"), node(&both).into());
    assert_eq!(context.sync_migration(&key(), &doubts).await.unwrap(), Migrated::Done);
    assert!(server.writes().is_empty(), "the server has its address again");

    // An address that stays away is one that players cannot reach.
    context.nodes.store().insert(ObjectKey::new("", "node-1"), node(&internal).into());
    assert_eq!(context.sync_migration(&key(), &doubts).await.unwrap(), Migrated::Doubtful(GRACE));
    tokio::time::advance(GRACE + Duration::from_secs(1)).await;
    assert_eq!(context.sync_migration(&key(), &doubts).await.unwrap(), Migrated::Done);
    assert_eq!(server.writes()[0].body["status"]["state"], "Unhealthy");
}

/// Issue 2553: servers were marked Unhealthy for what was wrong when their key was queued.
#[tokio::test(start_paused = true)]
async fn issue_2553_a_pod_that_is_well_by_now_harms_nobody() {
    let server = EchoServer::new(|_| None);
    let context = context(&server, &json!([]));
    context.sync_health(&key()).await.unwrap();
    assert!(server.writes().is_empty());
}

/// Issue 2524: a set that is being deleted made servers for ever.
#[tokio::test(start_paused = true)]
async fn issue_2524_a_set_that_is_being_deleted_makes_no_servers() {
    let server = EchoServer::new(|_| None);
    let client = server.client();
    let sets = Informer::<GameServerSet>::builder(Api::all(client.clone())).build();
    let servers = Informer::<GameServer>::builder(Api::all(client.clone())).indexers(index_by_set()).build();
    let set: GameServerSet = of(json!({
        "metadata": {"name": "s", "namespace": "n", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"replicas": 5},
    }));
    let key = set.key().unwrap();
    sets.lister().store().insert(key.clone(), set.into());
    let writes = (Arc::new(Writes::new(client.clone(), &sets)), Arc::new(Writes::new(client, &servers)));
    let context =
        SetContext::new(writes.0, writes.1, PerNodeCounter::default(), &Recorder::new("test", drop));
    context.sync(&key).await.unwrap();
    assert!(server.writes().iter().all(|write| write.method != "POST"));
}

/// GSS-1 [X]: a set whose deletion was missed comes as a tombstone, and the loop goes on.
#[tokio::test(start_paused = true)]
async fn the_loop_of_sets_is_made_once_for_an_informer() {
    let server = EchoServer::new(|_| None);
    let client = server.client();
    let sets = Informer::<GameServerSet>::builder(Api::all(client.clone())).build();
    let servers = Informer::<GameServer>::builder(Api::all(client.clone())).build();
    let make = || {
        let writes =
            (Arc::new(Writes::new(client.clone(), &sets)), Arc::new(Writes::new(client.clone(), &servers)));
        let events = Recorder::new("test", drop);
        GameServerSets::new(
            sets.clone(),
            servers.clone(),
            writes.0,
            writes.1,
            PerNodeCounter::default(),
            &events,
        )
    };
    assert!(make().is_ok());
    assert!(make().is_err(), "a second index of the name would hide the first");
}

/// PA: whatever is allocated, given back, begun anew, what is taken is what live servers have.
#[test]
fn the_ports_that_are_taken_are_those_of_live_servers() {
    let randomness = Randomness::seeded(11);
    let ranges = || {
        [
            ("default".to_owned(), PortRange { min: 100, max: 107 }),
            ("game".to_owned(), PortRange { min: 200, max: 202 }),
        ]
    };
    let ports = PortAllocator::new(ranges(), Randomness::seeded(12)).unwrap();
    let nodes: Vec<Node> = vec![node(&json!([]))];
    let mut live: BTreeMap<String, GameServer> = BTreeMap::new();
    for step in 0..3_000_u64 {
        match randomness.below(10) {
            0..=4 => {
                let kinds = [
                    ("Dynamic", "UDP"),
                    ("Passthrough", "TCP"),
                    ("Dynamic", "TCPUDP"),
                    ("Static", "UDP"),
                    ("None", "UDP"),
                ];
                let of_server: Vec<Value> = (0..randomness.below(4))
                    .map(|number| {
                        let (policy, protocol) = kinds[usize::try_from(randomness.below(5)).unwrap()];
                        let range = if randomness.below(2) == 0 { "default" } else { "game" };
                        json!({
                            "name": format!("p{number}"), "portPolicy": policy, "protocol": protocol, "range": range,
                            "hostPort": if policy == "Static" { 101 } else { 0 },
                        })
                    })
                    .collect();
                let uid = format!("u{step}");
                let mut server: GameServer =
                    of(json!({"metadata": {"name": uid, "uid": uid}, "spec": {"ports": of_server}}));
                ports.allocate(&mut server);
                live.insert(uid, server);
            }
            5..=8 => {
                let Some(uid) = live
                    .keys()
                    .nth(usize::try_from(randomness.below(live.len().max(1) as u64)).unwrap())
                    .cloned()
                else {
                    continue;
                };
                live.remove(&uid);
                // Deletions may be told twice.
                ports.deallocate(&uid);
                ports.deallocate(&uid);
            }
            _ => ports.sync(&nodes, live.values()),
        }
        let mut wanted: BTreeMap<&str, usize> = BTreeMap::from([("default", 0), ("game", 0)]);
        for server in live.values() {
            let given = |port: &&lariat_controllers::types::GameServerPort| {
                matches!(&*port.port_policy, "Dynamic" | "Passthrough") && !port.name.ends_with("-udp")
            };
            for port in server.spec.ports.iter().filter(given) {
                *wanted.get_mut(&*port.range).unwrap() += 1;
            }
        }
        for (name, usage) in ports.usage() {
            assert_eq!(usage.taken.iter().sum::<usize>(), wanted[&*name], "step {step}, range {name}");
        }
    }
}

/// Trap 6: comparisons that are no total order must not bring the sort down, and the order of the list must not matter.
#[test]
fn servers_on_unknown_nodes_are_sorted_the_same_in_whatever_order_they_come() {
    let randomness = Randomness::seeded(5);
    let priorities: Vec<Priority> = vec![of(json!({"type": "Counter", "key": "a", "order": ""}))];
    let counts: NodeCounts = [("n1".to_owned(), NodeCount { ready: 1, allocated: 1 })].into();
    let mut servers: Vec<Arc<GameServer>> = (0..300)
        .map(|number| {
            let states = ["Ready", "Allocated", "Starting", "Unhealthy"];
            let counters = if randomness.below(2) == 0 {
                json!({"a": {"capacity": randomness.below(5)}})
            } else {
                json!({})
            };
            let node = ["n1", "gone", ""][usize::try_from(randomness.below(3)).unwrap()];
            let state = states[usize::try_from(randomness.below(4)).unwrap()];
            Arc::new(of(json!({
                "metadata": {"name": format!("gs-{number}")},
                "status": {"state": state, "nodeName": node, "counters": counters},
            })))
        })
        .collect();
    sort_for_deletion(&mut servers, "Packed", &priorities, &counts);
    let first: Vec<String> = servers.iter().map(|server| server.name().to_owned()).collect();
    servers.reverse();
    sort_for_deletion(&mut servers, "Packed", &priorities, &counts);
    assert_eq!(servers.iter().map(|server| server.name().to_owned()).collect::<Vec<_>>(), first);
}
