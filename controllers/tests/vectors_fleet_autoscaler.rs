//! What the Agones autoscaler answered (FAS-3, FAS-4, FAS-5).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat_controllers::fleetautoscalers::{PolicyError, buffer};
use lariat_controllers::types::{BufferPolicy, Fleet};
use lariat_fixtures::vectors::{self, Difference, LATER, same};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[
    Difference {
        file: "agones/fas_buffer",
        case: "*-buf100%-*",
        reason: "a buffer of the whole fleet divides by zero in the original; here it is an error",
    },
    Difference {
        file: "agones/fas_buffer",
        case: "*-buf101%-*",
        reason: "a buffer of more than the fleet gives a negative size in the original; here it is an error",
    },
    Difference { file: "agones/fas_buffer", case: "*-buf150%-*", reason: "as 101 %" },
    Difference { file: "agones/fas_buffer", case: "*-buf200%-*", reason: "as 101 %" },
    Difference {
        file: "agones/fas_buffer",
        case: "alloc21474836*-buf*-max2147483647",
        reason: "the sum overflows 32 bits in the original and scales down to the minimum; here it ends at the maximum",
    },
    Difference {
        file: "agones/fas_buffer",
        case: "alloc30000000-buf*%-min*-max2147483647",
        reason: "the product overflows 32 bits in the original; here it is computed in 64",
    },
];

#[test]
fn vectors_fas_buffer() {
    vectors::run("agones/fas_buffer", DIFFERENCES, |case| {
        let fleet: Fleet = serde_json::from_value(case.input["fleet"].clone()).unwrap();
        let policy: Option<BufferPolicy> = serde_json::from_value(case.input["policy"].clone()).unwrap();
        let answer = match policy {
            Some(policy) => buffer(&policy, &fleet),
            None => Err(PolicyError::NoSettings { kind: "Buffer", field: "buffer" }),
        };
        case.expect(answer.map(|target| json!({"replicas": target.replicas, "limited": target.limited})))
    });
}

/// The whole loop on one autoscaler and its fleet: what is written.
///
/// Cases with other policies than Buffer wait for those policies.
#[test]
fn vectors_fas_sync() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    vectors::run("agones/fas_sync", DIFFERENCES, |case| {
        if case.input["fleetAutoscaler"]["spec"]["policy"]["type"] != "Buffer" {
            return Err(LATER.to_owned());
        }
        let server = support::server_of(&case.input["fleetAutoscaler"], &case.input["fleet"]);
        // The first look is 200 ms after the autoscaler appeared, the next one seconds later.
        let written = runtime.block_on(support::run(&server, Duration::from_millis(300), |_| {}));
        let body =
            |part: &str| written.iter().find(|put| put.target.contains(part)).map(|put| put.body.clone());
        let replicas = body("/fleets/").map_or(Value::Null, |fleet| fleet["spec"]["replicas"].clone());
        let mut status = body("/status").map_or(Value::Null, |autoscaler| autoscaler["status"].clone());
        if case.want["lastScaleTimeIsNow"] == true {
            same("lastScaleTime", &status["lastScaleTime"], &support::NOW.into())?;
            status["lastScaleTime"] = Value::Null;
        }
        same("fleet's replicas", &replicas, &case.want["fleetReplicasWritten"])?;
        same("status", &status, &case.want["statusWritten"])
    });
}
