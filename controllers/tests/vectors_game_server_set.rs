//! What the Agones code answered about game server sets (GSS-2 to GSS-7).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::echo::EchoServer;
use common::{arg, gates, json_of, plain, same_errors, same_object};
use lariat::api::Metadata;
use lariat::prelude::*;
use lariat_controllers::events::Recorder;
use lariat_controllers::gameservers::order::{NodeCounts, sort_for_deletion};
use lariat_controllers::gameservers::{PerNodeCounter, Writes};
use lariat_controllers::gameserversets::overflow::{count_matches, overflowing};
use lariat_controllers::gameserversets::reconcile::{Limits, reconcile};
use lariat_controllers::gameserversets::{Expectations, SetContext, index_by_set, new_game_server, status};
use lariat_controllers::gates::Gate;
use lariat_controllers::types::{GameServer, GameServerSet, Priority};
use lariat_controllers::validation;
use lariat_fixtures::vectors::{self, Case, Difference, same};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[];

fn servers(value: &Value) -> Vec<Arc<GameServer>> {
    arg::<Vec<GameServer>>(value).into_iter().map(Arc::new).collect()
}

fn names(servers: &[Arc<GameServer>]) -> Value {
    servers.iter().map(|server| server.name()).collect()
}

/// Servers that the original finds equal come in the order of their list there, and of their names here: a case in which the
/// order of the list matters has no right answer.
fn is_ambiguous(case: &Case, field: &str) -> bool {
    case.want[field] == true
}

#[test]
fn vectors_gss_sort() {
    vectors::run("agones/gss_sort", DIFFERENCES, |case| {
        let mut servers = servers(&case.input["gameServers"]);
        let mut priorities: Vec<Priority> = arg(&case.input["priorities"]);
        if !gates(case).has(Gate::CountsAndLists) {
            priorities.clear();
        }
        let counts: NodeCounts = arg(&case.input["nodeCounts"]);
        let scheduling = case.input["strategy"].as_str().unwrap();
        sort_for_deletion(&mut servers, scheduling, &priorities, &counts);
        let first = names(&servers);
        servers.reverse();
        sort_for_deletion(&mut servers, scheduling, &priorities, &counts);
        same("order of the reversed list", &names(&servers), &first)?;
        if is_ambiguous(case, "ambiguous") {
            return Ok(());
        }
        same("order", &first, &case.want["order"])
    });
}

#[test]
fn vectors_gss_reconcile() {
    vectors::run("agones/gss_reconcile", DIFFERENCES, |case| {
        let input = &case.input;
        let number = |field: &str| usize::try_from(input[field].as_i64().unwrap()).unwrap();
        let limits = Limits {
            max_creations: number("maxCreations"),
            max_deletions: number("maxDeletions"),
            max_pending: number("maxPending"),
        };
        let action = reconcile(
            input["strategy"].as_str().unwrap(),
            &servers(&input["gameServers"]),
            &arg(&input["nodeCounts"]),
            usize::try_from(input["targetReplicas"].as_i64().unwrap()).unwrap_or_default(),
            limits,
            &arg::<Vec<Priority>>(&input["priorities"]),
            "2026-07-01T00:00:00Z".parse().unwrap(),
        );
        same("add", &json!(action.add), &case.want["add"])?;
        same("partial", &json!(action.partial), &case.want["partial"])?;
        let mut got: Vec<String> = action.delete.iter().map(|server| server.name().to_owned()).collect();
        let mut want: Vec<String> = arg(&case.want["delete"]);
        if is_ambiguous(case, "setAmbiguous") {
            return same("number of deletions", &got.len(), &want.len());
        }
        if is_ambiguous(case, "orderAmbiguous") {
            got.sort();
            want.sort();
        }
        same("delete", &got, &want)
    });
}

#[test]
fn vectors_gss_status() {
    vectors::run("agones/gss_status", DIFFERENCES, |case| {
        let set: GameServerSet = arg(&case.input["gameServerSet"]);
        let got = status(&set, &servers(&case.input["gameServers"]), gates(case)).unwrap();
        same_object("status", &json_of(&got), &case.want)
    });
}

#[test]
fn vectors_gss_overflow() {
    vectors::run("agones/gss_overflow", DIFFERENCES, |case| {
        let set: GameServerSet = arg(&case.input["gameServerSet"]);
        let counts: NodeCounts = arg(&case.input["nodeCounts"]);
        let ours = |server: &Arc<GameServer>| {
            let owners = &server.metadata.owner_references;
            let labelled = server.metadata.labels.get("agones.dev/gameserverset");
            labelled.is_some_and(|name| name == set.name())
                && owners.iter().any(|owner| owner.controller == Some(true) && owner.uid == set.uid())
        };
        let servers: Vec<_> = servers(&case.input["gameServers"]).into_iter().filter(ours).collect();
        let marked = overflowing(&set, &servers, &counts);
        let got: Vec<Value> = marked
            .iter()
            .map(|server| {
                let meta = &server.metadata;
                json!({"name": server.name(), "labels": *meta.labels, "annotations": *meta.annotations})
            })
            .collect();
        same_object("updated", &json!({"updated": got}), &json!({"updated": case.want["updated"]}))
    });
}

#[test]
fn vectors_overflow_count_matches() {
    vectors::run("agones/overflow_count_matches", DIFFERENCES, |case| {
        let servers = servers(&case.input["gameServers"]);
        let (matches, rest) = count_matches(&arg(&case.input["overflow"]), &servers);
        same_object("outcome", &json!({"matches": matches, "rest": names(&rest)}), &case.want)
    });
}

#[test]
fn vectors_gss_new_gameserver() {
    vectors::run("agones/gss_new_gameserver", DIFFERENCES, |case| {
        let set: GameServerSet = arg(&case.input["gameServerSet"]);
        let mut got = json_of(&new_game_server(&set).unwrap());
        let mut want = case.want.clone();
        // A new server has no status: what is written of it means nothing.
        for object in [&mut got, &mut want] {
            object.as_object_mut().unwrap().remove("status");
        }
        same_object("game server", &got, &want)
    });
}

#[test]
fn vectors_gss_overlay() {
    vectors::run("agones/gss_overlay", DIFFERENCES, |case| {
        let expected = Expectations::default();
        let mut lists = Vec::new();
        for step in case.input["steps"].as_array().unwrap() {
            let server = || Arc::new(arg::<GameServer>(&step["gameServer"]));
            match step["op"].as_str().unwrap() {
                "created" => expected.created(server()),
                "deleted" => expected.shut_down(server()),
                _ => {
                    let mut list = expected.over(servers(&step["list"]));
                    list.sort_by(|a, b| a.name().cmp(b.name()));
                    let shown = |server: &Arc<GameServer>| {
                        json!({
                            "name": server.name(), "state": server.status.state.as_str(),
                            "deleting": server.metadata.is_being_deleted(),
                        })
                    };
                    lists.push(list.iter().map(shown).collect::<Value>());
                }
            }
        }
        same("lists", &json!(lists), &case.want["lists"])
    });
}

/// One look at a set: what is created, shut down and written.
#[test]
fn vectors_gss_sync() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    vectors::run("agones/gss_sync", DIFFERENCES, |case| {
        let number = AtomicUsize::new(0);
        let server = EchoServer::new(move |write| {
            let mut made = write.body.clone();
            let name = format!("new-{}", number.fetch_add(1, Ordering::Relaxed));
            made["metadata"]["name"] = name.into();
            (write.method == "POST").then_some((201, made))
        });
        let result = runtime.block_on(look(case, &server));
        let writes = server.writes();
        let created = writes.iter().filter(|write| write.method == "POST").count();
        let is_status = |write: &&common::echo::Write| write.path.ends_with("/status");
        let puts = || writes.iter().filter(|write| write.method == "PUT");
        let shown = |write: &common::echo::Write| {
            let body = &write.body;
            format!(
                "{}:{}",
                body["metadata"]["name"].as_str().unwrap(),
                body["status"]["state"].as_str().unwrap()
            )
        };
        let mut shut_down: Vec<String> = puts().filter(|write| !is_status(write)).map(shown).collect();
        shut_down.sort();
        let status = puts().find(is_status).map(|write| write.body["status"].clone());
        same("created", &json!(created), &case.want["created"])?;
        same("shut down", &shut_down, &arg::<Vec<String>>(&case.want["shutdown"]))?;
        // The original writes a status with no counters over one that has none, too.
        let unchanged = plain(&case.want["statusWritten"]) == plain(&case.input["gameServerSet"]["status"]);
        if status.is_some() || !unchanged {
            same_object("status", &json!(status), &case.want["statusWritten"])?;
        }
        same("err", &json!(result), &case.want["err"])
    });
}

async fn look(case: &Case, server: &EchoServer) -> bool {
    let client = server.client();
    let of_sets = Informer::<GameServerSet>::builder(Api::all(client.clone())).build();
    let of_servers =
        Informer::<GameServer>::builder(Api::all(client.clone())).indexers(index_by_set()).build();
    let set: GameServerSet = arg(&case.input["gameServerSet"]);
    let key = set.key().unwrap();
    of_sets.lister().store().insert(key.clone(), set.into());
    for server in servers(&case.input["gameServers"]) {
        of_servers.lister().store().insert(server.key().unwrap(), server);
    }
    let counts = PerNodeCounter::of(arg(&case.input["nodeCounts"]));
    let events = Recorder::new("test", drop);
    let sets = Arc::new(Writes::new(client.clone(), &of_sets));
    let servers = Arc::new(Writes::new(client, &of_servers));
    let mut context = SetContext::new(sets, servers, counts, &events);
    context.gates = gates(case);
    let limits = &case.input;
    let limit = |field: &str, default: usize| {
        limits[field].as_u64().map_or(default, |limit| usize::try_from(limit).unwrap())
    };
    context.limits = Limits {
        max_creations: limit("maxCreations", 64),
        max_deletions: limit("maxDeletions", 64),
        max_pending: limit("maxPending", 5_000),
    };
    context.sync(&key).await.is_err()
}

#[test]
fn vectors_gss_validate() {
    vectors::run("agones/gss_validate", DIFFERENCES, |case| {
        let set: GameServerSet = arg(&case.input["gameServerSet"]);
        let errors = match &case.input["old"] {
            Value::Null => validation::game_server_set(&set, gates(case)),
            old => validation::game_server_set_update(&arg(old), &set),
        };
        same_errors(&errors, &case.want)
    });
}
