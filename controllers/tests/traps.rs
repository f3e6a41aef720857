//! What a re-implementer would get wrong first (reference 0, 2.4, 10), where a look or a history is enough to show it. What takes whole
//! loops is in `traps_live.rs`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use common::echo::{EchoServer, refusal};
use lariat::api::{Interned, ManualClock, Randomness};
use lariat::prelude::*;
use lariat::store::Store;
use lariat_controllers::events::Recorder;
use lariat_controllers::fleetautoscalers::{Hooks, Situation, Verdict, buffer};
use lariat_controllers::fleets::strategy;
use lariat_controllers::gameservers::migration::{Doubts, GRACE, Migrated};
use lariat_controllers::gameservers::order::{NodeCount, NodeCounts, sort_for_deletion};
use lariat_controllers::gameservers::ports::{PortAllocator, PortRange};
use lariat_controllers::gameservers::{Context, PerNodeCounter, PodSettings, Writes};
use lariat_controllers::gameserversets::{GameServerSets, SetContext, index_by_set};
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::template::same_template;
use lariat_controllers::types::{
    BufferPolicy, Fleet, FleetAutoscaler, GameServer, GameServerSet, GameServerTemplate, Node, Pod, Priority,
    Verbatim,
};
use lariat_controllers::{defaults, validation};
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

/// Two loops on one informer would have one index.
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
fn pa_x_the_ports_that_are_taken_are_those_of_live_servers() {
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
fn trap_6_servers_on_unknown_nodes_are_sorted_the_same_in_whatever_order_they_come() {
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

/// Trap 6, the order: unknown nodes first.
#[test]
fn trap_6_unknown_nodes_go_first() {
    let server = |name: &str, node: &str| -> Arc<GameServer> {
        Arc::new(of(json!({"metadata": {"name": name}, "status": {"state": "Ready", "nodeName": node}})))
    };
    let counts: NodeCounts = [("n1".to_owned(), NodeCount { ready: 1, allocated: 0 })].into();
    let mut servers = vec![server("a", "n1"), server("b", "gone"), server("c", "")];
    sort_for_deletion(&mut servers, "Packed", &[], &counts);
    assert_eq!(servers.iter().map(|server| server.name()).collect::<Vec<_>>(), ["b", "c", "a"]);
}

/// Trap 7: a scale-down of distributed servers takes the oldest first, whatever a comment says.
#[test]
fn trap_7_distributed_servers_go_oldest_first() {
    let server = |name: &str, second: u32| -> Arc<GameServer> {
        let created = format!("2026-01-01T00:00:{second:02}Z");
        Arc::new(of(
            json!({"metadata": {"name": name, "creationTimestamp": created}, "status": {"state": "Ready"}}),
        ))
    };
    let mut servers = vec![server("a", 10), server("b", 0), server("c", 40), server("d", 30)];
    sort_for_deletion(&mut servers, "Distributed", &[], &NodeCounts::new());
    assert_eq!(servers.iter().map(|server| server.name()).collect::<Vec<_>>(), ["b", "a", "d", "c"]);
}

/// Trap 8: templates are the same by what they mean, or all servers of all fleets would be replaced.
#[test]
fn trap_8_templates_are_the_same_by_meaning() {
    let template = |value: Value| -> Interned<Verbatim<GameServerTemplate>> {
        serde_json::from_value::<Verbatim<GameServerTemplate>>(value).unwrap().into()
    };
    let with = |cpu: &Value, labels: &Value, more: &Value| {
        let container = json!({"name": "game", "image": "i", "resources": {"requests": {"cpu": cpu}}, "args": [], "unknown": more});
        template(
            json!({"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [container]}}}}),
        )
    };
    let one = with(&json!("1"), &Value::Null, &json!(1));
    assert!(same_template(&one, &with(&json!("1000m"), &json!({}), &json!({"a": 2}))));
    assert!(!same_template(&one, &with(&json!("1001m"), &json!({}), &json!(1))));
    assert!(!same_template(&one, &with(&json!("1"), &json!({"a": "b"}), &json!(1))));
}

/// Trap 9: in a fleet the text "25" is 25 %, surge rounds up and unavailable down; in a buffer "5" is refused, and 100 % never divides.
#[test]
fn trap_9_percentages_are_read_in_two_ways() {
    let gates = FeatureGates::default();
    let fleet = |surge: &str| -> Fleet {
        of(json!({
            "metadata": {"name": "f", "namespace": "n", "uid": "u"},
            "spec": {"replicas": 10, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": surge}}},
            "status": {"replicas": 10, "readyReplicas": 10},
        }))
    };
    let old: GameServerSet = of(
        json!({"metadata": {"name": "old"}, "spec": {"replicas": 10}, "status": {"replicas": 10, "readyReplicas": 10}}),
    );
    let new: GameServerSet = of(json!({"metadata": {"name": "new"}}));
    let rest = [Arc::new(old)];
    for text in ["25", "25%"] {
        let sizes = strategy::sizes(&fleet(text), &new, &rest, gates).unwrap();
        assert_eq!((sizes.active, sizes.rest), (3, vec![(0, 8)]), "{text}: 2.5 is 3 more, and 2 less");
    }
    assert!(strategy::sizes(&fleet("many"), &new, &rest, gates).is_err());

    let policy =
        |size: Value| -> BufferPolicy { of(json!({"bufferSize": size, "minReplicas": 1, "maxReplicas": 9})) };
    let scaler = |size: &str| -> FleetAutoscaler {
        of(json!({
            "metadata": {"name": "a"},
            "spec": {
                "fleetName": "f", "sync": {"type": "FixedInterval", "fixedInterval": {"seconds": 30}},
                "policy": {"type": "Buffer", "buffer": {"bufferSize": size, "minReplicas": 1, "maxReplicas": 9}},
            },
        }))
    };
    let now = "2026-07-01T12:00:00Z".parse().unwrap();
    let errors = |size: &str| validation::fleet_autoscaler(&scaler(size), gates, now).len();
    assert_eq!((errors("5"), errors("5%"), errors("100%")), (1, 0, 1));
    for size in ["100%", "101%", "100"] {
        assert!(buffer(&policy(size.into()), &fleet("1%")).is_err(), "{size}");
    }
}

/// Trap 10 [X]: an inactive schedule, and a chain of such, leave the fleet as it is and are no errors.
#[tokio::test]
async fn trap_10_an_inactive_schedule_is_quiet() {
    let fleet = Fleet::default();
    let situation = Situation {
        autoscaler: "a",
        fleet: &fleet,
        servers: &Vec::new,
        counts: &NodeCounts::new(),
        now: "2026-07-01T12:00:00Z".parse().unwrap(),
        gates: FeatureGates::default(),
        hooks: &Hooks::default(),
        request_uid: "u",
    };
    let buffer = json!({"type": "Buffer", "buffer": {"bufferSize": 1, "maxReplicas": 4}});
    let later = json!({"type": "Schedule", "schedule": {"between": {"start": "2027-01-01T00:00:00Z"}, "policy": buffer}});
    let chain =
        json!({"type": "Chain", "chain": [{"id": "a", "type": "Schedule", "schedule": later["schedule"]}]});
    for policy in [later, chain] {
        assert_eq!(situation.verdict(&of(policy)).await.unwrap(), Verdict::Inactive);
    }
}

/// 1.2 [X]: a port of a range that there is not is left alone, and the server gets its other ports.
#[test]
fn pa_x_a_port_of_an_unknown_range_gets_no_number() {
    let range = [("default".to_owned(), PortRange { min: 7_000, max: 7_010 })];
    let ports = PortAllocator::new(range, Randomness::seeded(1)).unwrap();
    let mut server: GameServer = of(json!({"metadata": {"uid": "u"}, "spec": {"ports": [
        {"name": "a", "portPolicy": "Dynamic", "range": "nowhere"}, {"name": "b", "portPolicy": "Dynamic", "range": "default"},
    ]}}));
    ports.allocate(&mut server);
    assert_eq!(server.spec.ports[0].host_port, 0);
    assert!((7_000..=7_010).contains(&server.spec.ports[1].host_port));
}

/// 1.4 [X]: a rolling update without its settings is refused field by field.
#[test]
fn f_x_a_rolling_update_without_settings_is_refused() {
    let fleet: Fleet = of(
        json!({"metadata": {"name": "f"}, "spec": {"strategy": {"type": "RollingUpdate"}, "template": {"spec": {
            "template": {"spec": {"containers": [{"name": "game", "image": "i"}]}},
        }}}}),
    );
    let errors = validation::fleet(&fleet, FeatureGates::default());
    assert_eq!(errors.iter().map(|error| &*error.field).collect::<Vec<_>>(), ["spec.strategy.rollingUpdate"]);
    assert_eq!(errors[0].kind.as_str(), "FieldValueRequired");
}

/// GS-3 [X]: what is made of a server for its pod is made of a copy; a look that failed leaves the cache as it was.
#[tokio::test(start_paused = true)]
async fn gs_3_a_look_that_fails_changes_nothing_in_the_cache() {
    let server =
        EchoServer::new(|write| (write.method == "POST").then(|| refusal(500, "InternalError", "broken")));
    let context = context(&server, &json!([]));
    let mut creating: GameServer = of(json!({
        "metadata": {"name": "gs-1", "namespace": "n", "uid": "v", "resourceVersion": "1"},
        "spec": {
            "container": "game", "ports": [{"name": "p", "portPolicy": "Static", "hostPort": 9, "containerPort": 9, "protocol": "TCPUDP", "container": "game"}],
            "template": {"spec": {"containers": [{"name": "game", "image": "i"}]}},
        },
        "status": {"state": "Creating"},
    }));
    defaults::game_server(&mut creating, FeatureGates::default());
    let context = Context {
        servers: Arc::new(Writes::new(server.client(), &informer_of(&creating))),
        settings: Arc::new(PodSettings { sidecar_image: "sdk".into(), ..PodSettings::default() }),
        ..context
    };
    for _ in 0..2 {
        let outcome = context.sync(&key()).await;
        assert!(outcome.is_err(), "{outcome:?}, {:?}", server.writes());
        assert_eq!(*context.servers.get(&key()).unwrap(), creating);
    }
    let pods = server.writes();
    let ports = |write: &Value| write["spec"]["containers"][0]["ports"].as_array().unwrap().len();
    assert!(pods.iter().filter(|write| write.path.ends_with("/pods")).all(|write| ports(&write.body) == 2));
}

/// PA (a) [X]: a deletion that was missed gives its ports back at the next list.
#[test]
fn pa_a_ports_of_servers_that_are_gone_come_back() {
    let ports = allocator();
    for uid in ["u1", "u2"] {
        ports.allocate(&mut with_port(uid, "Dynamic", "UDP", 0));
    }
    ports.retain(&["u2".to_owned()].into());
    assert_eq!(taken(&ports), 1);
}

/// PA (b) [X]: a port over TCP and UDP is given back once: the other server on another node keeps its number.
#[test]
fn pa_b_a_port_over_tcp_and_udp_is_given_back_once() {
    let range = [("default".to_owned(), PortRange { min: 7_000, max: 7_000 })];
    let ports = PortAllocator::new(range, Randomness::seeded(1)).unwrap();
    ports.allocate(&mut with_port("u1", "Dynamic", "TCPUDP", 0));
    ports.allocate(&mut with_port("u2", "Dynamic", "TCPUDP", 0));
    ports.deallocate("u1");
    assert_eq!(taken(&ports), 1);
}

/// PA (c) [X]: a static port that lies in a range frees nothing when it goes.
#[test]
fn pa_c_a_static_port_takes_and_frees_nothing() {
    let ports = allocator();
    let mut dynamic = with_port("u1", "Dynamic", "UDP", 0);
    ports.allocate(&mut dynamic);
    let number = dynamic.spec.ports[0].host_port;
    ports.allocate(&mut with_port("u2", "Static", "UDP", number));
    ports.deallocate("u2");
    assert_eq!(taken(&ports), 1);
}

/// PA (d) [X]: without a node the ports of servers that are there are still theirs after a start.
#[test]
fn pa_d_ports_are_known_without_any_node() {
    let ports = allocator();
    let servers: Vec<GameServer> =
        vec![with_port("u1", "Dynamic", "UDP", 7_003), with_port("u2", "Dynamic", "UDP", 7_003)];
    ports.sync(&[], &servers);
    assert_eq!(taken(&ports), 2);
    ports.deallocate("u1");
    assert_eq!(taken(&ports), 1);
}

/// Issue 2735: tables of ports are not those of nodes, by design. However few nodes there are, a server gets a number; where several
/// have the same one, the scheduler finds each another node.
#[test]
fn issue_2735_tables_of_ports_are_not_those_of_nodes() {
    let ports = allocator();
    let mut given: BTreeMap<i32, usize> = BTreeMap::new();
    for server in 0..33 {
        let mut server = with_port(&format!("u{server}"), "Dynamic", "UDP", 0);
        ports.allocate(&mut server);
        *given.entry(server.spec.ports[0].host_port).or_default() += 1;
    }
    assert_eq!(given.len(), 11, "all numbers from 7000 to 7010");
    assert!(given.values().all(|servers| *servers == 3), "{given:?}");
}

/// PA (e): a server without ports is known by its uid, as in the original, and leaves nothing behind.
#[test]
fn pa_e_a_server_without_ports_leaves_nothing() {
    let ports = allocator();
    ports.allocate(&mut of(json!({"metadata": {"uid": "u1"}})));
    ports.deallocate("u1");
    assert_eq!((ports.usage()["default"].servers, taken(&ports)), (0, 0));
}

fn informer_of(server: &GameServer) -> Informer<GameServer> {
    let client = EchoServer::new(|_| None).client();
    let servers = Informer::<GameServer>::builder(Api::all(client)).build();
    servers.lister().store().insert(server.key().unwrap(), server.clone().into());
    servers
}

fn allocator() -> PortAllocator {
    let range = [("default".to_owned(), PortRange { min: 7_000, max: 7_010 })];
    PortAllocator::new(range, Randomness::seeded(1)).unwrap()
}

fn with_port(uid: &str, policy: &str, protocol: &str, number: i32) -> GameServer {
    of(json!({"metadata": {"name": uid, "uid": uid}, "spec": {"ports": [
        {"name": "p", "portPolicy": policy, "protocol": protocol, "hostPort": number, "range": "default"},
    ]}}))
}

fn taken(ports: &PortAllocator) -> usize {
    ports.usage()["default"].taken.iter().sum()
}
