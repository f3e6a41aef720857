//! What the Agones code answered about allocations (AL-2 to AL-5, AL-10).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use common::echo::EchoServer;
use common::{arg, gates, json_of, same_errors, same_object};
use lariat::api::{ManualClock, Randomness};
use lariat::prelude::*;
use lariat_controllers::allocation::{
    AllocateError, Allocator, AllocatorSettings, apply, apply_actions, convert, defaults, find, matches, sort,
};
use lariat_controllers::events::Recorder;
use lariat_controllers::gameservers::{PerNodeCounter, Writes};
use lariat_controllers::types::{AllocationSpec, GameServer, GameServerAllocation, GameServerStatus};
use lariat_controllers::validation;
use lariat_fixtures::vectors::{self, Case, Difference, same};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[
    empty("bit-28-CountsAndLists=false"),
    empty("rnd-public-0052"),
    empty("rnd-public-0077"),
    empty("rnd-public-0140"),
];

/// What the feature gate is for is not asked for.
const fn empty(case: &'static str) -> Difference {
    Difference {
        file: "agones/gsa_validate",
        case,
        reason: "an empty list or map asks for nothing that the feature gate forbids",
    }
}

const NOW: &str = "{{NOW}}";

fn request(case: &Case) -> GameServerAllocation {
    let mut request: GameServerAllocation = arg(&case.input["gsa"]);
    defaults(&mut request.spec, gates(case));
    convert(&mut request.spec);
    request
}

fn servers(case: &Case) -> Vec<Arc<GameServer>> {
    arg::<Vec<GameServer>>(&case.input["gameServers"]).into_iter().map(Arc::new).collect()
}

#[test]
fn vectors_gsa_selector_matches() {
    vectors::run("agones/gsa_selector_matches", DIFFERENCES, |case| {
        let server: GameServer = arg(&case.input["gameServer"]);
        let Ok(selector) = serde_json::from_value(case.input["selector"].clone()) else {
            return case.expect(Err("no selector"));
        };
        if case.panic {
            // Validation refuses it before; here it matches nothing.
            return same("matches", &matches(&selector, &server, gates(case)), &false);
        }
        same("matches", &json!(matches(&selector, &server, gates(case))), &case.want["matches"])
    });
}

#[test]
fn vectors_gsa_defaults() {
    vectors::run("agones/gsa_defaults", DIFFERENCES, |case| {
        let mut request: GameServerAllocation = arg(&case.input["gsa"]);
        defaults(&mut request.spec, gates(case));
        same_object("after defaults", &spec_of(&request), &case.want["afterDefaults"]["spec"])?;
        convert(&mut request.spec);
        same_object("after conversion", &spec_of(&request), &case.want["afterConvert"]["spec"])
    });
}

fn spec_of(request: &GameServerAllocation) -> Value {
    json_of(&request.spec)
}

#[test]
fn vectors_gsa_validate() {
    vectors::run("agones/gsa_validate", DIFFERENCES, |case| {
        let mut request: GameServerAllocation = arg(&case.input["gsa"]);
        defaults(&mut request.spec, gates(case));
        same_errors(&validation::allocation(&request, gates(case)), &case.want)
    });
}

#[test]
fn vectors_gsa_actions() {
    vectors::run("agones/gsa_actions", DIFFERENCES, |case| {
        let spec = AllocationSpec {
            counters: arg(&case.input["counters"]),
            lists: arg(&case.input["lists"]),
            ..AllocationSpec::default()
        };
        let mut status: GameServerStatus = arg(&case.input["status"]);
        let errors = apply_actions(&spec, &mut status);
        let names =
            |errors: Vec<(String, _)>| errors.into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
        let got = json!({
            "countersWithErrors": names(errors.counters), "listsWithErrors": names(errors.lists),
            "counters": status.counters, "lists": status.lists,
        });
        same_object("outcome", &got, &case.want)
    });
}

#[test]
fn vectors_gsa_apply() {
    vectors::run("agones/gsa_apply", DIFFERENCES, |case| {
        let server: GameServer = arg(&case.input["gameServer"]);
        let (given, errors) = apply(&server, &request(case).spec, NOW, gates(case));
        same_object("game server", &json_of(&given), &case.want["gameServer"])?;
        let mut events = Vec::new();
        events.extend(errors.counters.iter().map(|_| "Warning CounterActionError"));
        events.extend(errors.lists.iter().map(|_| "Warning ListActionError"));
        events.push("Normal Allocated");
        // There is one event for all errors of a kind.
        events.dedup();
        same("events", &json!(events), &case.want["events"])
    });
}

#[test]
fn vectors_gsa_sort() {
    vectors::run("agones/gsa_sort", DIFFERENCES, |case| {
        let mut servers = servers(case);
        let counts = arg(&case.input["nodeCounts"]);
        sort(&mut servers, &request(case).spec, &counts, gates(case));
        if case.want["ambiguous"] == true {
            return Ok(());
        }
        let order: Vec<&str> = servers.iter().map(|server| server.name()).collect();
        same("order", &json!(order), &case.want["order"])
    });
}

#[test]
fn vectors_gsa_find() {
    vectors::run("agones/gsa_find", DIFFERENCES, |case| {
        let mut servers = servers(case);
        let request = request(case);
        let counts = arg(&case.input["nodeCounts"]);
        sort(&mut servers, &request.spec, &counts, gates(case));
        let randomness = Randomness::seeded(1);
        let found = find(&servers, &request.spec, &request.metadata.namespace, gates(case), &randomness);
        let found = found.map(|server| server.name().to_owned());
        let one_of: Vec<String> = arg(&case.want["oneOf"]);
        let fits = match &found {
            Some(name) => one_of.contains(name),
            None => one_of.is_empty(),
        };
        if fits { Ok(()) } else { Err(format!("{found:?}\n    want one of {one_of:?}")) }
    });
}

/// Requests one after the other, through the allocator and its cache.
#[test]
fn vectors_gsa_sequence() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    vectors::run("agones/gsa_sequence", DIFFERENCES, |case| {
        let got = runtime.block_on(allocate_all(case));
        let want = case.want["results"].as_array().unwrap();
        for (index, (got, want)) in got.iter().zip(want).enumerate() {
            if want["kind"] == "Status" {
                same(format!("result {index}"), &got["invalid"], &json!(true))?;
                continue;
            }
            let shown = |result: &Value| {
                let mut status = result["status"].clone();
                if let Some(at) = status["metadata"]["annotations"].get_mut("agones.dev/last-allocated") {
                    *at = NOW.into();
                }
                json!({"name": result["metadata"]["name"], "status": status})
            };
            same_object(&format!("result {index}"), &shown(got), &shown(want))?;
        }
        same("number of results", &got.len(), &want.len())
    });
}

async fn allocate_all(case: &Case) -> Vec<Value> {
    let version = AtomicUsize::new(1_001);
    let server = EchoServer::new(move |write| {
        let mut written = write.body.clone();
        written["metadata"]["resourceVersion"] = version.fetch_add(1, Ordering::Relaxed).to_string().into();
        Some((200, written))
    });
    let informer = Informer::<GameServer>::builder(Api::all(server.client())).build();
    for server in servers(case) {
        informer.lister().store().insert(server.key().unwrap(), server);
    }
    let events = Arc::new(Mutex::new(0));
    let recorder = Recorder::new("test", move |_| *events.lock().unwrap() += 1);
    let (allocator, batches) = Allocator::new(
        Arc::new(Writes::new(server.client(), &informer)),
        PerNodeCounter::of(arg(&case.input["nodeCounts"])),
        AllocatorSettings { gates: gates(case), ..AllocatorSettings::default() },
        &recorder,
        Randomness::seeded(1),
        Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH)),
    );
    let batches = tokio::spawn(batches.run(std::future::pending()));
    let mut results = Vec::new();
    for request in case.input["gsas"].as_array().unwrap() {
        results.push(match allocator.allocate(arg(request)).await {
            Ok(answer) => json_of(&answer),
            Err(AllocateError::Invalid(_)) => json!({"invalid": true}),
            Err(error) => json!({"error": error.to_string()}),
        });
    }
    batches.abort();
    results
}
