use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lariat_fixtures::vectors::{self, Case};
use serde_json::{Value, json};

use super::differences::DIFFERENCES;
use super::server::{OwnTime, Server};
use crate::candidate::{Attempt, Candidate};
use crate::config::ElectorConfig;
use crate::observer::Observer;
use crate::status::ElectorHandle;

/// LE-4, LE-10 to LE-17, LE-19, LE-21, LE-23: each attempt makes client-go's requests, and leaves client-go's Lease.
#[test]
fn attempts_do_what_client_go_does() {
    for file in ["client-go/leaderelection-steps", "client-go/leaderelection-crafted"] {
        vectors::run(file, DIFFERENCES, check);
    }
}

struct Replica {
    candidate: Candidate<Server>,
    time: OwnTime,
    rate: f64,
    reported: Arc<Reported>,
}

#[derive(Default)]
struct Reported(Mutex<Option<String>>);

impl Observer for Reported {
    fn new_leader(&self, _: &str, identity: &str) {
        *self.0.lock().unwrap() = Some(identity.to_owned());
    }
}

fn check(case: &Case) -> Result<(), String> {
    let server = Server::new();
    let start = humantime::parse_rfc3339(case.input["start"].as_str().unwrap()).unwrap();
    let start = start.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut replicas: BTreeMap<String, Replica> = BTreeMap::new();
    for elector in case.input["electors"].as_array().unwrap() {
        let identity = elector["identity"].as_str().unwrap().to_owned();
        replicas.insert(identity, replica(elector, start, &server));
    }
    for (nth, (op, want)) in case.trace().enumerate() {
        server.fail(&op["faults"]);
        let mut got = answer(op, &server, &mut replicas);
        if want.get("lease").is_some() {
            got["lease"] = server.shown();
        }
        vectors::same(format_args!("operation {nth}, {op}"), &got, want)?;
    }
    Ok(())
}

fn replica(elector: &Value, start: Duration, server: &Server) -> Replica {
    let ms = |field: &str| Duration::from_millis(elector[field].as_u64().unwrap());
    let offset = elector["clockOffsetMs"].as_i64().unwrap();
    let time = OwnTime(Arc::new(Mutex::new(moved(start, offset))));
    let reported = Arc::new(Reported::default());
    let labels = elector.get("labels").map(|labels| serde_json::from_value(labels.clone()).unwrap());
    let config = ElectorConfig {
        lease_duration: ms("leaseDurationMs"),
        renew_deadline: ms("renewDeadlineMs"),
        retry_period: ms("retryPeriodMs"),
        labels: labels.unwrap_or_default(),
        time: Arc::new(time.clone()),
        observer: reported.clone(),
        ..ElectorConfig::new(elector["identity"].as_str().unwrap())
    };
    let rate = elector["clockRate"].as_f64().unwrap();
    Replica { candidate: Candidate::new(server.clone(), config), time, rate, reported }
}

fn moved(time: Duration, ms: i64) -> Duration {
    let by = Duration::from_millis(ms.unsigned_abs());
    if ms < 0 { time - by } else { time + by }
}

fn answer(op: &Value, server: &Server, replicas: &mut BTreeMap<String, Replica>) -> Value {
    let ms = || op["ms"].as_i64().unwrap();
    match op["op"].as_str().unwrap() {
        "advance" => {
            for replica in replicas.values() {
                let nanos = ms() as f64 * replica.rate * 1e6;
                *replica.time.0.lock().unwrap() += Duration::from_nanos(nanos as u64);
            }
            return json!({});
        }
        "external" => {
            server.overwrite(&op["spec"]);
            return json!({});
        }
        "deleteLease" => {
            server.delete();
            return json!({});
        }
        _ => {}
    }
    let replica = replicas.get_mut(op["by"].as_str().unwrap()).unwrap();
    let mut got = json!({});
    match op["op"].as_str().unwrap() {
        "clockJump" => {
            let mut time = replica.time.0.lock().unwrap();
            *time = moved(*time, ms());
            return json!({});
        }
        "try" => {
            let attempt = now_or_never(replica.candidate.attempt());
            got["acquired"] = matches!(attempt, Attempt::Held(_)).into();
        }
        "release" => got["released"] = now_or_never(replica.candidate.release()).into(),
        "check" => {
            let tolerance = Duration::from_millis(op["toleranceMs"].as_u64().unwrap_or_default());
            let handle = ElectorHandle::new(replica.candidate.status.clone());
            got["checkError"] = handle.check(tolerance).is_err().into();
        }
        other => panic!("unknown operation {other}"),
    }
    replica.candidate.status.report();
    got["calls"] = server.take_calls().into();
    got["isLeader"] = replica.candidate.is_holder().into();
    got["leader"] = replica.candidate.holder().into();
    if let Some(identity) = replica.reported.0.lock().unwrap().take() {
        got["newLeaderReported"] = identity.into();
    }
    got
}

/// What a future gives that has nothing to wait for.
fn now_or_never<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits"),
    }
}
