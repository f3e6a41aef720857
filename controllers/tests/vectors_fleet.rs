//! What the Agones code answered about fleets (F-2 to F-12).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::sync::{Arc, Mutex};

use common::echo::EchoServer;
use common::{arg, gates, json_of, same_errors, same_object, untyped};
use lariat::prelude::*;
use lariat_controllers::events::{EventType, Recorder};
use lariat_controllers::fleets::{FleetContext, children, index_by_fleet, new_set, status, strategy};
use lariat_controllers::gameservers::Writes;
use lariat_controllers::types::{Fleet, GameServerSet};
use lariat_controllers::{defaults, validation};
use lariat_fixtures::vectors::{self, Case, Difference, same};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[
    Difference { file: "agones/fleet_active_set", case: "rnd-public-0001", reason: TWINS },
    Difference { file: "agones/fleet_active_set", case: "rnd-public-0006", reason: TWINS },
    Difference { file: "agones/fleet_active_set", case: "rnd-public-0009", reason: TWINS },
    Difference { file: "agones/fleet_active_set", case: "rnd-public-0011", reason: TWINS },
    Difference { file: "agones/fleet_active_set", case: "rnd-public-0016", reason: TWINS },
    Difference { file: "agones/fleet_active_set", case: "rnd-public-0027", reason: TWINS },
    Difference { file: "agones/fleet_strategy", case: "mix-57-fresh", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "mix-58-fresh", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "mix-59-fresh", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "type-RollingUpdate-allalloc", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "table-11", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0003", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0009", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0028", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0033", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0036", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0048", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0059", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0064", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0070", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0090", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0158", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0194", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0229", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0230", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0231", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0232", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0285", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0316", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0329", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0339", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0340", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0350", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0361", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "rnd-public-0424", reason: NEGATIVE },
    Difference { file: "agones/fleet_strategy", case: "mix-53-fresh", reason: DEFAULTS },
    Difference { file: "agones/fleet_strategy", case: "mix-54-fresh", reason: DEFAULTS },
    Difference { file: "agones/fleet_strategy", case: "mix-54-half", reason: DEFAULTS },
    Difference { file: "agones/fleet_strategy", case: "mix-55-fresh", reason: DEFAULTS },
    Difference { file: "agones/fleet_strategy", case: "mix-55-half", reason: DEFAULTS },
    Difference { file: "agones/fleet_strategy", case: "type--two", reason: DEFAULTS },
    Difference {
        file: "agones/fleet_sync",
        case: "priorities-and-replicas",
        reason: "both are written at once; in the original the second write brings the old size back",
    },
    Difference {
        file: "agones/fleet_sync",
        case: "overflow-only-change",
        reason: "a changed overflow reaches the set; in the original it never does",
    },
    Difference {
        file: "agones/fleet_sync",
        case: "two-matching-sets",
        reason: "the younger of two sets of the template is emptied; in the original it is forgotten",
    },
];

const TWINS: &str = "of several sets of the template the oldest is active and the others are emptied; in the original they are forgotten";
const NEGATIVE: &str = "more servers have players than the fleet is to have; the original asks for less than no servers (issue 2617)";
const DEFAULTS: &str =
    "a fleet that no webhook has seen has the defaults; the original does nothing for it, or crashes";

fn sets(value: &Value) -> Vec<Arc<GameServerSet>> {
    arg::<Vec<GameServerSet>>(value).into_iter().map(Arc::new).collect()
}

#[test]
fn vectors_fleet_active_set() {
    vectors::run("agones/fleet_active_set", DIFFERENCES, |case| {
        let owner = json!([{"apiVersion": "agones.dev/v1", "kind": "Fleet", "name": "f", "uid": "u", "controller": true}]);
        let fleet: Fleet = arg(&json!({
            "metadata": {"name": "f", "uid": "u"}, "spec": {"template": case.input["fleetTemplate"]},
        }));
        let templates = case.input["setTemplates"].as_array().cloned().unwrap_or_default();
        let sets = templates.iter().enumerate().map(|(index, template)| {
            let meta = json!({
                "name": index.to_string(), "labels": {"agones.dev/fleet": "f"}, "ownerReferences": owner,
            });
            Arc::new(arg::<GameServerSet>(&json!({"metadata": meta, "spec": {"template": template}})))
        });
        let children = children(&fleet, &sets.collect::<Vec<_>>());
        let index = |set: &Arc<GameServerSet>| set.name().parse::<i64>().unwrap();
        let got = json!({
            "activeIndex": children.active.as_ref().map_or(-1, index),
            "restIndexes": children.rest.iter().map(index).collect::<Vec<_>>(),
        });
        same_object("sets", &got, &case.want)
    });
}

#[test]
fn vectors_fleet_new_set() {
    vectors::run("agones/fleet_new_set", DIFFERENCES, |case| {
        let fleet: Fleet = arg(&case.input["fleet"]);
        same_object("set", &json_of(&new_set(&fleet, gates(case)).unwrap()), &case.want)
    });
}

#[test]
fn vectors_fleet_status() {
    vectors::run("agones/fleet_status", DIFFERENCES, |case| {
        let fleet: Fleet = arg(&case.input["fleet"]);
        let children = children(&fleet, &sets(&case.input["gameServerSets"]));
        let ours: Vec<_> = children.active.into_iter().chain(children.rest).collect();
        let got = status(&fleet, &ours, gates(case));
        same_object("status", &json_of(&got), &case.want)
    });
}

#[test]
fn vectors_fleet_strategy() {
    vectors::run("agones/fleet_strategy", DIFFERENCES, |case| {
        let fleet: Fleet = arg(&case.input["fleet"]);
        let active: GameServerSet = arg(&case.input["active"]);
        let rest = sets(&case.input["rest"]);
        let sizes = match strategy::sizes(&fleet, &active, &rest, gates(case)) {
            Ok(sizes) => sizes,
            Err(error) => return case.expect(Err(error)),
        };
        let mut last: Vec<i32> = rest.iter().map(|set| set.spec.replicas).collect();
        let mut events = Vec::new();
        for (place, size) in &sizes.rest {
            events.push(format!(
                "Normal ScalingGameServerSet Scaling inactive GameServerSet {} from {} to {size}",
                rest[*place].name(),
                last[*place]
            ));
            last[*place] = *size;
        }
        let shown = |(set, size): (&Arc<GameServerSet>, &i32)| json!({"name": set.name(), "replicas": size});
        let rest: Vec<Value> = rest.iter().zip(&last).map(shown).collect();
        let got = json!({"activeReplicas": sizes.active, "rest": rest, "events": events});
        let mut want = case.want.clone();
        want.as_object_mut().map(|want| want.remove("updates"));
        if case.error {
            return case.expect::<String>(Ok(got));
        }
        same_object("sizes", &got, &want)?;
        let updates = case.want["updates"].as_array().map_or(0, Vec::len);
        same("number of writes", &sizes.rest.len(), &updates)
    });
}

/// One look at a fleet: which sets are created, written and deleted, its status, and what users are told.
#[test]
fn vectors_fleet_sync() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    vectors::run("agones/fleet_sync", DIFFERENCES, |case| {
        let server = EchoServer::new(|write| {
            let mut made = write.body.clone();
            made["metadata"]["name"] = "fleet-1-new".into();
            (write.method == "POST").then_some((201, made))
        });
        let events = Arc::new(Mutex::new(Vec::new()));
        let result = runtime.block_on(look(case, &server, events.clone()));
        if case.error {
            return case.expect(if result { Err("an error") } else { Ok(json!("no error")) });
        }
        let writes = server.writes();
        let of = |method: &str, fits: &dyn Fn(&str) -> bool| -> Vec<Value> {
            let writes = writes.iter().filter(|write| write.method == method && fits(&write.path));
            writes.map(|write| untyped(write.body.clone())).collect()
        };
        let list = |field: &str| case.want[field].as_array().cloned().unwrap_or_default();
        let created = of("POST", &|path| path.ends_with("/gameserversets"));
        same_object("created", &json!({"l": created}), &json!({"l": list("created")}))?;
        let updated: Vec<Value> = of("PUT", &|path| path.contains("/gameserversets/") && !path.ends_with("/status"))
            .iter()
            .map(|set| json!({"name": set["metadata"]["name"], "replicas": set["spec"]["replicas"], "scheduling": set["spec"]["scheduling"]}))
            .collect();
        same_object("updates", &json!({"l": updated}), &json!({"l": list("updates")}))?;
        let deleted = writes.iter().filter(|write| write.method == "DELETE");
        let deleted: Vec<&str> = deleted.map(|write| write.path.rsplit('/').next().unwrap()).collect();
        same("deleted", &json!(deleted), &json!(list("deleted")))?;
        same("events", &json!(*events.lock().unwrap()), &json!(list("events")))?;
        same("err", &json!(result), &case.want["err"])?;
        // A status that is the same is not written.
        let status = of("PUT", &|path| path.contains("/fleets/") && path.ends_with("/status"));
        let status = status.first().map_or(&case.input["fleet"]["status"], |fleet| &fleet["status"]);
        if case.want["fleetStatus"].is_null() {
            Ok(())
        } else {
            same_object("status", status, &case.want["fleetStatus"])
        }
    });
}

async fn look(case: &Case, server: &EchoServer, events: Arc<Mutex<Vec<String>>>) -> bool {
    let client = server.client();
    let of_fleets = Informer::<Fleet>::builder(Api::all(client.clone())).build();
    let of_sets =
        Informer::<GameServerSet>::builder(Api::all(client.clone())).indexers(index_by_fleet()).build();
    let fleet: Fleet = arg(&case.input["fleet"]);
    let key = fleet.key().unwrap();
    of_fleets.lister().store().insert(key.clone(), fleet.into());
    for set in sets(&case.input["gameServerSets"]) {
        of_sets.lister().store().insert(set.key().unwrap(), set);
    }
    let events = Recorder::new("test", move |record| {
        let kind = if record.kind == EventType::Normal { "Normal" } else { "Warning" };
        events.lock().unwrap().push(format!("{kind} {} {}", record.reason, record.message));
    });
    let context = FleetContext {
        gates: gates(case),
        fleets: Arc::new(Writes::new(client.clone(), &of_fleets)),
        sets: Arc::new(Writes::new(client, &of_sets)),
        events,
    };
    context.sync(&key).await.is_err()
}

#[test]
fn vectors_fleet_defaults() {
    vectors::run("agones/fleet_defaults", DIFFERENCES, |case| {
        let mut fleet: Fleet = arg(&case.input["fleet"]);
        defaults::fleet(&mut fleet);
        same_object("fleet", &json_of(&fleet), &case.want)
    });
}

#[test]
fn vectors_fleet_validate() {
    vectors::run("agones/fleet_validate", DIFFERENCES, |case| {
        let mut fleet: Fleet = match serde_json::from_value(case.input["fleet"].clone()) {
            Ok(fleet) => fleet,
            Err(error) => return case.expect(Err(error)),
        };
        if case.input["applyDefaultsFirst"] == true {
            defaults::fleet(&mut fleet);
        }
        let errors = validation::fleet(&fleet, gates(case));
        if case.panic {
            return if errors.is_empty() { Err("no error".to_owned()) } else { Ok(()) };
        }
        same_errors(&errors, &case.want)
    });
}
