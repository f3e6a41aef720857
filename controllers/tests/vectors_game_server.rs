//! What the Agones code answered about game servers (reference 1.2, 2).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use common::echo::{EchoServer, refusal};
use common::{arg, gates, json_of, plain, same_errors, same_object, untyped};
use lariat::api::{ManualClock, Randomness};
use lariat::prelude::*;
use lariat::store::Store;
use lariat_controllers::events::{EventType, Recorder};
use lariat_controllers::gameservers::address::apply_address;
use lariat_controllers::gameservers::migration::{Doubts, Migrated};
use lariat_controllers::gameservers::order::by_priorities;
use lariat_controllers::gameservers::pod::pod;
use lariat_controllers::gameservers::ports::{PortAllocator, PortRange};
use lariat_controllers::gameservers::{Context, Outcome, PodSettings, SyncError, Writes, predicates};
use lariat_controllers::types::{GameServer, GameServerStatus, Node, Pod, Priority};
use lariat_controllers::{defaults, validation};
use lariat_fixtures::vectors::{self, Case, Difference, same};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[
    unconfirmed("rnd-public-0033-migration"),
    unconfirmed("rnd-public-0045-migration"),
    unconfirmed("rnd-public-0105-migration"),
    unconfirmed("rnd-public-0133-migration"),
    unconfirmed("rnd-public-0177-migration"),
    unconfirmed("rnd-public-0241-migration"),
    unconfirmed("rnd-public-0357-migration"),
    unconfirmed("rnd-public-0377-migration"),
    unconfirmed("rnd-public-0401-migration"),
    Difference {
        file: "agones/gs_subcontrollers",
        case: "rnd-public-0258-missingPod",
        reason: "a server in Error has no pod and is held for 30 s; as Unhealthy it would be replaced at once (issue 3384)",
    },
    Difference {
        file: "agones/gs_subcontrollers",
        case: "rnd-public-0267-succeeded",
        reason: "the pod that ended is controlled by an earlier server of this name",
    },
];

/// Issue 4699.
const fn unconfirmed(case: &'static str) -> Difference {
    Difference {
        file: "agones/gs_subcontrollers",
        case,
        reason: "an address that is missing once from a node's status must be missing for a minute before players lose a server",
    }
}

#[test]
fn vectors_gs_defaults() {
    vectors::run("agones/gs_defaults", DIFFERENCES, |case| {
        let mut server: GameServer = arg(&case.input["gameServer"]);
        defaults::game_server(&mut server, gates(case));
        same_object("game server", &json_of(&server), &case.want)
    });
}

#[test]
fn vectors_gs_validate() {
    vectors::run("agones/gs_validate", DIFFERENCES, |case| {
        let mut server: GameServer = arg(&case.input["gameServer"]);
        if case.input["applyDefaultsFirst"] == true {
            defaults::game_server(&mut server, gates(case));
        }
        same_errors(&validation::game_server(&server, gates(case)), &case.want)
    });
}

#[test]
fn vectors_gs_address() {
    vectors::run("agones/gs_address", DIFFERENCES, |case| {
        let mut server: GameServer = arg(&case.input["gameServer"]);
        let (node, pod): (Node, Pod) = (arg(&case.input["node"]), arg(&case.input["pod"]));
        let applied = apply_address(&mut server, &node, &pod, gates(case));
        let status = json_of(&server.status);
        let fields = ["address", "addresses", "nodeName", "ports"];
        let got =
            applied.map(|()| fields.iter().map(|name| ((*name).to_owned(), status[*name].clone())).collect());
        let case = Case { want: plain(&case.want), ..case.clone() };
        case.expect(got.map(|got: Value| plain(&got)))
    });
}

#[test]
fn vectors_gs_pod_predicates() {
    vectors::run("agones/gs_pod_predicates", DIFFERENCES, |case| {
        let pod: Option<Pod> = serde_json::from_value(case.input["pod"].clone()).unwrap();
        let gates = gates(case);
        let Some(pod) = pod else { return same("no pod", &json!({"isGameServerPod": false}), &case.want) };
        let got = json!({
            "isGameServerPod": pod.is_game_server_pod(),
            "evicted": predicates::is_evicted(&pod),
            "failedPod": predicates::has_failed(&pod, gates),
            "failedContainer": predicates::has_failed_container(&pod, gates),
            "noFreePorts": predicates::has_no_free_ports(&pod, gates),
            "isUnhealthy": predicates::is_unhealthy(&pod, gates),
        });
        case.expect::<String>(Ok(got))
    });
}

#[test]
fn vectors_gs_state_predicates() {
    vectors::run("agones/gs_state_predicates", DIFFERENCES, |case| {
        let server: GameServer = arg(&case.input["gameServer"]);
        let got = json!({
            "isActive": server.is_active(),
            "isBeforeReady": server.is_before_ready(),
            "isBeingDeleted": server.is_being_deleted(),
            "isDeletable": server.is_deletable(),
            "terminal": server.status.state.is_terminal(),
        });
        case.expect::<String>(Ok(got))
    });
}

#[test]
fn vectors_gs_counter_list_ops() {
    vectors::run("agones/gs_counter_list_ops", DIFFERENCES, |case| {
        let input = &case.input;
        let mut status = GameServerStatus {
            counters: arg(&input["counters"]),
            lists: arg(&input["lists"]),
            ..GameServerStatus::default()
        };
        let name = input["name"].as_str().unwrap_or_default();
        let number = |field: &str| input[field].as_i64().unwrap_or_default();
        let values: Option<Vec<String>> = arg(&input["values"]);
        let values = values.as_deref();
        let result = match input["op"].as_str().unwrap() {
            "updateCount" => match input["action"].as_str().unwrap_or_default().parse() {
                Ok(action) => status.update_count(name, action, number("amount")).map_err(drop),
                Err(()) => Err(()),
            },
            "updateCounterCapacity" => status.update_counter_capacity(name, number("capacity")).map_err(drop),
            "updateListCapacity" => status.update_list_capacity(name, number("capacity")).map_err(drop),
            "appendListValues" => status.append_list_values(name, values).map_err(drop),
            "deleteListValues" => status.delete_list_values(name, values).map_err(drop),
            other => panic!("unknown operation {other}"),
        };
        same("err", &json!(result.is_err()), &case.want["err"])?;
        same_object("counters", &json_of(&status.counters), &case.want["counters"])?;
        let (got, want) = (json_of(&status.lists), &case.want["lists"]);
        if want.is_null() { same("lists", &got, &json!({})) } else { same("lists", &got, want) }
    });
}

#[test]
fn vectors_gs_priority_compare() {
    vectors::run("agones/gs_priority_compare", DIFFERENCES, |case| {
        let priorities: Vec<Priority> = arg(&case.input["priorities"]);
        let status = |field: &str| arg::<GameServerStatus>(&case.input[field]);
        let got = match by_priorities(&priorities, &status("a"), &status("b")) {
            std::cmp::Ordering::Less => json!(true),
            std::cmp::Ordering::Greater => json!(false),
            std::cmp::Ordering::Equal => Value::Null,
        };
        same("a before b", &got, &case.want["aBeforeB"])
    });
}

#[test]
fn vectors_gs_pod() {
    vectors::run("agones/gs_pod", DIFFERENCES, |case| {
        let server: GameServer = arg(&case.input["gameServer"]);
        let built = pod(&server, &settings(&case.input["config"]), gates(case));
        match (built, &case.want["pod"]) {
            (Ok(pod), want) => same_object("pod", &untyped(pod), want),
            (Err(_), Value::Null) => Ok(()),
            (Err(error), _) => Err(format!("an error: {error}")),
        }?;
        checked_sync(case, settings(&case.input["config"]), "pod")
    });
}

#[test]
fn vectors_gs_sync() {
    let config = json!({
        "sidecarImage": "sidecar:dev", "sidecarCpuRequest": "30m", "sidecarRunAsUser": 1000,
        "sidecarRequestsRateLimitMs": 500, "sdkServiceAccount": "agones-sdk",
    });
    vectors::run("agones/gs_sync", DIFFERENCES, |case| checked_sync(case, settings(&config), "main"));
}

#[test]
fn vectors_gs_subcontrollers() {
    vectors::run("agones/gs_subcontrollers", DIFFERENCES, |case| {
        let controller = case.input["controller"].as_str().unwrap().to_owned();
        checked_sync(case, settings(&json!({"sidecarImage": "sidecar:dev"})), &controller)
    });
}

fn settings(config: &Value) -> PodSettings {
    let quantity = |field: &str| config[field].as_str().and_then(|text| text.parse().ok());
    PodSettings {
        sidecar_image: arg(&config["sidecarImage"]),
        always_pull_sidecar: arg(&config["alwaysPullSidecar"]),
        sidecar_cpu_request: quantity("sidecarCpuRequest"),
        sidecar_cpu_limit: quantity("sidecarCpuLimit"),
        sidecar_memory_request: quantity("sidecarMemoryRequest"),
        sidecar_memory_limit: quantity("sidecarMemoryLimit"),
        sidecar_run_as_user: arg(&config["sidecarRunAsUser"]),
        sidecar_requests_rate_limit: Duration::from_millis(arg(&config["sidecarRequestsRateLimitMs"])),
        sdk_service_account: arg(&config["sdkServiceAccount"]),
    }
}

/// Runs one look at the server of a case and compares all that was written and told.
fn checked_sync(case: &Case, settings: PodSettings, controller: &str) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let refused = case.input["podCreateError"].as_str().unwrap_or_default().to_owned();
    let server = EchoServer::new(move |write| {
        if write.method != "POST" || !write.path.ends_with("/pods") {
            return None;
        }
        match refused.as_str() {
            "alreadyExists" => Some(refusal(409, "AlreadyExists", "pods \"gs-1\" already exists")),
            "invalid" => Some(refusal(422, "Invalid", "Pod \"gs-1\" is invalid")),
            "forbidden" => Some(refusal(403, "Forbidden", "pods \"gs-1\" is forbidden: quota")),
            "other" => Some(refusal(500, "InternalError", "broken")),
            _ => None,
        }
    });
    let events = Arc::new(Mutex::new(Vec::new()));
    let result = runtime.block_on(look(case, settings, controller, &server, events.clone()));

    let writes = server.writes();
    let of = |method: &str, what: &str| -> Vec<Value> {
        let ours = |path: &str| path.contains(&format!("/{what}/")) || path.ends_with(&format!("/{what}"));
        let writes = writes.iter().filter(|write| write.method == method && ours(&write.path));
        writes.map(|write| untyped(write.body.clone())).collect()
    };
    let want = &case.want;
    let blanked = |mut servers: Vec<Value>| {
        // The cases of a pod end before the server is written.
        servers.retain(|server| controller != "pod" || server["status"]["state"] != "Starting");
        for server in &mut servers {
            if let Some(at) = server["metadata"]["annotations"].get_mut("agones.dev/errored-at") {
                *at = "{{NOW}}".into();
            }
        }
        json!({ "list": servers })
    };
    let list = |field: &str| want[field].as_array().cloned().unwrap_or_default();
    same_object(
        "game server updates",
        &blanked(of("PUT", "gameservers")),
        &blanked(list("gameServerUpdates")),
    )?;
    if want["podsCreated"].is_array() {
        same_object(
            "pods created",
            &json!({"list": of("POST", "pods")}),
            &json!({"list": list("podsCreated")}),
        )?;
        same_object(
            "pod updates",
            &json!({"list": of("PUT", "pods")}),
            &json!({"list": list("podUpdates")}),
        )?;
        let names = |what: &str| -> Vec<String> {
            let of = writes.iter().filter(|write| write.method == "DELETE" && write.path.contains(what));
            of.map(|write| {
                let name = write.path.rsplit('/').next().unwrap().to_owned();
                match write.body["propagationPolicy"].as_str() {
                    Some(propagation) => format!("{name}:{propagation}"),
                    None => name,
                }
            })
            .collect()
        };
        same("pods deleted", &json!(names("/pods/")), &json!(list("podsDeleted")))?;
        same("servers deleted", &json!(names("/gameservers/")), &json!(list("gameServerDeletes")))?;
    }
    same("events", &json!(*events.lock().unwrap()), &json!(list("events")))?;
    same("err", &json!(result?), &want["err"])
}

/// Whether the original would have said that it failed, or is to look again later.
async fn look(
    case: &Case,
    settings: PodSettings,
    controller: &str,
    server: &EchoServer,
    events: Arc<Mutex<Vec<String>>>,
) -> Result<bool, String> {
    let client = server.client();
    let servers = Informer::<GameServer>::builder(Api::all(client.clone())).build();
    let (pods, nodes) = (Store::<Pod>::new(), Store::<Node>::new());
    let cached: Option<GameServer> = serde_json::from_value(case.input["gameServer"].clone()).unwrap();
    let key = cached.as_ref().map_or(ObjectKey::new("games", "gs-1"), |server| server.key().unwrap());
    if let Some(cached) = cached {
        servers.lister().store().insert(key.clone(), cached.into());
    }
    if !case.input["pod"].is_null() {
        let pod: Pod = arg(&case.input["pod"]);
        pods.insert(pod.key().unwrap(), pod.into());
    }
    if !case.input["node"].is_null() {
        let node: Node = arg(&case.input["node"]);
        nodes.insert(node.key().unwrap(), node.into());
    }
    let range = [("default".to_owned(), PortRange { min: 7_000, max: 7_000 })];
    let recorder = Recorder::new("test", move |record| {
        let kind = if record.kind == EventType::Normal { "Normal" } else { "Warning" };
        events.lock().unwrap().push(format!("{kind} {} {}", record.reason, record.message));
    });
    let context = Context {
        gates: gates(case),
        settings: settings.into(),
        servers: Arc::new(Writes::new(client.clone(), &servers)),
        pods: Lister::new(Pod::KIND, pods),
        nodes: Lister::new(Node::KIND, nodes),
        pod_api: Api::of_kind(client, Pod::KIND, ""),
        ports: Arc::new(PortAllocator::new(range, Randomness::seeded(1)).unwrap()),
        events: recorder,
        clock: Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH)),
    };
    let said = |outcome: Result<Outcome, SyncError>| !matches!(outcome, Ok(Outcome::Done));
    Ok(match controller {
        "main" => said(context.sync(&key).await),
        "pod" => context.sync(&key).await.is_err(),
        "health" => said(context.sync_health(&key).await),
        "missingPod" => said(context.sync_missing_pod(&key).await),
        "succeeded" => said(context.sync_succeeded(&key).await),
        "migration" => !matches!(context.sync_migration(&key, &Doubts::default()).await, Ok(Migrated::Done)),
        other => return Err(format!("unknown controller {other}")),
    })
}
