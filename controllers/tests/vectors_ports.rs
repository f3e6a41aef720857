//! What the Agones port allocator did (reference 2.4).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;

use std::collections::BTreeMap;

use common::{arg, gates};
use lariat::api::{Object, Randomness};
use lariat_controllers::gameservers::ports::{PortAllocator, PortRange};
use lariat_controllers::gates::Gate;
use lariat_controllers::types::{GameServer, GameServerPort, Node};
use lariat_fixtures::vectors::{self, Difference, same};
use serde_json::{Map, Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[
    Difference { file: "agones/ports_sequence", case: "rnd-public-0044", reason: OWN_TABLE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0121", reason: OWN_TABLE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0237", reason: OWN_TABLE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0276", reason: OWN_TABLE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0051", reason: ONCE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0089", reason: ONCE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0124", reason: ONCE },
    Difference { file: "agones/ports_sequence", case: "rnd-public-0215", reason: ONCE },
    Difference { file: "agones/ports_sequence", case: "existing-no-nodes", reason: KEPT },
    Difference { file: "agones/ports_sequence", case: "existing-node-gone", reason: KEPT },
];

const OWN_TABLE: &str =
    "a port is given back to the table that it came from, not to the first one where it is taken";
const ONCE: &str =
    "a port over TCP and UDP is given back once; in the original the second time takes another server's";
const KEPT: &str = "ports of servers that no table has room for get a table of their own; in the original they are forgotten";

#[test]
fn vectors_ports_sequence() {
    vectors::run("agones/ports_sequence", DIFFERENCES, |case| {
        let input = &case.input;
        let ranges: BTreeMap<String, PortRange> = arg(&input["ranges"]);
        let ports =
            PortAllocator::new(ranges.clone(), Randomness::seeded(1)).map_err(|error| error.to_string())?;
        let ports = if gates(case).has(Gate::PortRanges) { ports } else { ports.ignoring_names() };
        let nodes: Vec<Node> = arg(&input["nodes"]);
        let existing: Vec<GameServer> = arg(&input["existingGameServers"]);
        ports.sync(&nodes, &existing);
        let mut uids: BTreeMap<String, String> =
            existing.iter().map(|server| (server.name().to_owned(), server.uid().to_owned())).collect();
        let wants = case.want["afterStartAndEachStep"].as_array().unwrap();
        compare("start", &ports, None, &wants[0], &ranges)?;
        for (index, step) in input["steps"].as_array().into_iter().flatten().enumerate() {
            let name = step["name"].as_str().unwrap();
            let at = format!("step {index}, {} {name}", step["op"]);
            let mut server: GameServer = arg(&step["gameServer"]);
            let shown = if step["op"] == "allocate" {
                uids.insert(name.to_owned(), server.uid().to_owned());
                ports.allocate(&mut server);
                Some(&server.spec.ports)
            } else {
                if let Some(uid) = uids.get(name) {
                    ports.deallocate(uid);
                }
                None
            };
            compare(&at, &ports, shown, &wants[index + 1], &ranges)?;
        }
        Ok(())
    });
}

fn compare(
    at: &str,
    ports: &PortAllocator,
    given: Option<&Vec<GameServerPort>>,
    want: &Value,
    ranges: &BTreeMap<String, PortRange>,
) -> Result<(), String> {
    for (name, usage) in ports.usage() {
        let want = &want["ranges"][&name];
        let taken: usize = usage.taken.iter().sum();
        let got = json!({
            "tables": usage.taken.len(), "taken": taken, "free": usage.taken.len() * usage.size - taken,
            "registered": usage.servers,
        });
        let fields = ["tables", "taken", "free", "registered"];
        let want_counts: Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), want[*field].clone())).collect();
        same(format!("{at}: range {name}"), &got, &want_counts.into())?;
        if want["takenPerTable"].is_array() {
            same(format!("{at}: tables of {name}"), &json!(usage.taken), &want["takenPerTable"])?;
        }
    }
    let Some(given) = given else { return Ok(()) };
    let twin =
        |port: &GameServerPort| given.iter().find(|other| other.name == port.name.replace("-udp", "-tcp"));
    let shown: Vec<Value> = given
        .iter()
        .map(|port| {
            let range = ranges.get(&port.range);
            let in_range = range.is_some_and(|range| (range.min..=range.max).contains(&port.host_port));
            let is_passed = port.port_policy == "Passthrough";
            let mut shown = json!({
                "name": port.name, "range": port.range, "portPolicy": port.port_policy, "protocol": port.protocol,
                "hasHostPort": port.host_port != 0, "hostPortInRange": in_range,
                "containerPortEqualsHostPort": port.container_port == port.host_port,
                "containerPort": if is_passed { 0 } else { port.container_port },
            });
            if port.name.ends_with("-udp") {
                let same = twin(port).is_some_and(|twin| twin.host_port == port.host_port);
                shown["sameHostPortAsTcpTwin"] = same.into();
            }
            shown
        })
        .collect();
    let want = want["ports"].as_array().cloned().unwrap_or_default();
    same(format!("{at}: ports"), &shown, &want)
}
