//! What the Agones code answered about fleet autoscalers (FAS-3 to FAS-9).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod common;
mod support;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use common::{arg, gates, json_of, same_errors, same_object};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use lariat_controllers::fleetautoscalers::{
    Counted, Hooks, PolicyError, Situation, Target, Verdict, answered, buffer, capacity, url,
};
use lariat_controllers::gameservers::order::NodeCounts;
use lariat_controllers::gates::Gate;
use lariat_controllers::schedule::is_active;
use lariat_controllers::types::{
    BufferPolicy, CapacityPolicy, Fleet, FleetAutoscaler, FleetAutoscalerPolicy, GameServer, SchedulePolicy,
    WebhookPolicy,
};
use lariat_controllers::{defaults, validation};
use lariat_fixtures::vectors::{self, Case, Difference, same};
use serde_json::{Value, json};
use tokio::net::TcpListener;

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
    Difference { file: "agones/fas_counter", case: "rnd-public-0007", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0022", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0023", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0041", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0051", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0056", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0066", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0068", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0076", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0082", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0084", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0087", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0097", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0099", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0101", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0102", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0108", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0117", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0126", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0129", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0142", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0145", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0148", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0153", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0159", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0190", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0197", reason: DELETABLE },
    Difference { file: "agones/fas_counter", case: "rnd-public-0209", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0009", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0012", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0038", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0040", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0051", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0092", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0096", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0100", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0118", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0126", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0132", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0140", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0148", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0170", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0180", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0181", reason: DELETABLE },
    Difference { file: "agones/fas_list", case: "rnd-public-0183", reason: DELETABLE },
    Difference { file: "agones/fas_chain", case: "single-inact", reason: INACTIVE },
    Difference { file: "agones/fas_chain", case: "single-future", reason: INACTIVE },
    Difference { file: "agones/fas_chain", case: "single-future-last-same", reason: INACTIVE },
    Difference { file: "agones/fas_chain", case: "all-inactive", reason: INACTIVE },
    Difference { file: "agones/fas_chain", case: "rnd-public-0025", reason: INACTIVE },
    Difference { file: "agones/fas_chain", case: "rnd-public-0031", reason: INACTIVE },
    Difference { file: "agones/fas_chain", case: "rnd-public-0099", reason: INACTIVE },
    Difference { file: "agones/fas_sync", case: "hand-13", reason: INACTIVE },
    Difference { file: "agones/fas_sync", case: "hand-28", reason: INACTIVE },
    Difference {
        file: "agones/fas_chain",
        case: "last-plain-chain",
        reason: "a status that names no policy of the chain is put right",
    },
    Difference {
        file: "agones/fas_schedule",
        case: "bad-duration",
        reason: "a duration that cannot be understood is an error; the original takes it for no time at all",
    },
    Difference { file: "agones/fas_counter", case: "hand-357", reason: "as 101 %" },
    Difference { file: "agones/fas_list", case: "hand-357", reason: "as 101 %" },
];

const DELETABLE: &str =
    "only servers without players can be taken away; the original counts on all and flaps (issue 4625)";
const INACTIVE: &str = "a schedule that is not active is no fault: the fleet stays as it is (trap 10)";

#[test]
fn vectors_fas_buffer() {
    vectors::run("agones/fas_buffer", DIFFERENCES, |case| {
        let fleet: Fleet = arg(&case.input["fleet"]);
        let policy: Option<BufferPolicy> = serde_json::from_value(case.input["policy"].clone()).unwrap();
        let answer = match policy {
            Some(policy) => buffer(&policy, &fleet),
            None => Err(PolicyError::NoSettings { kind: "Buffer", field: "buffer" }),
        };
        case.expect(answer.map(sized))
    });
}

#[test]
fn vectors_fas_counter() {
    vectors::run("agones/fas_counter", DIFFERENCES, |case| of_capacity(case, "counter", Counted::Counter));
}

#[test]
fn vectors_fas_list() {
    vectors::run("agones/fas_list", DIFFERENCES, |case| of_capacity(case, "list", Counted::List));
}

fn of_capacity(case: &Case, field: &str, counted: Counted) -> Result<(), String> {
    let policy: CapacityPolicy = serde_json::from_value(case.input[field].clone()).unwrap();
    let fleet: Fleet = arg(&case.input["fleet"]);
    let servers: Vec<GameServer> = arg(&case.input["gameServers"]);
    let ours = |server: &GameServer| {
        server.metadata.labels.get("agones.dev/fleet") == Some(&fleet.metadata.name.to_string())
    };
    let servers: Vec<Arc<GameServer>> = servers.into_iter().filter(ours).map(Arc::new).collect();
    let counts: NodeCounts = arg(&case.input["nodeCounts"]);
    if !gates(case).has(Gate::CountsAndLists) {
        return case.expect(Err::<Value, _>("the feature is off"));
    }
    case.expect(capacity(&policy, counted, &fleet, &servers, &counts).map(sized))
}

fn sized(target: Target) -> Value {
    json!({"replicas": target.replicas, "limited": target.limited})
}

/// The original says of an inactive schedule that it failed, and how large the fleet is.
#[test]
fn vectors_fas_schedule() {
    let runtime = runtime();
    vectors::run("agones/fas_schedule", DIFFERENCES, |case| {
        let schedule: SchedulePolicy = arg(&case.input["schedule"]);
        let fleet: Fleet = arg(&case.input["fleet"]);
        let now: Timestamp = case.input["now"].as_str().unwrap().parse().unwrap();
        let active = is_active(&schedule, now).map_err(|error| error.to_string());
        let policy = FleetAutoscalerPolicy {
            kind: "Schedule".into(),
            schedule: Some(Box::new(schedule)),
            ..FleetAutoscalerPolicy::default()
        };
        let verdict = runtime.block_on(verdict(case, &policy, &fleet, now));
        let got = match (active, verdict) {
            (Err(error), _) => Err(error),
            (Ok(_), Err(error)) if case.error => Err(error.to_string()),
            (Ok(active), verdict) => Ok(with(&json!({"active": active}), outcome(&verdict, &fleet))),
        };
        case.expect(got)
    });
}

#[test]
fn vectors_fas_chain() {
    let runtime = runtime();
    vectors::run("agones/fas_chain", DIFFERENCES, |case| {
        let autoscaler: FleetAutoscaler = arg(&case.input["fleetAutoscaler"]);
        let fleet: Fleet = arg(&case.input["fleet"]);
        let now: Timestamp = case.input["now"].as_str().unwrap().parse().unwrap();
        let verdict = runtime.block_on(verdict(case, &autoscaler.spec.policy, &fleet, now));
        if case.error {
            return case.expect(verdict.map(|verdict| json!(format!("{verdict:?}"))));
        }
        let applied = match &verdict {
            Ok(Verdict::Size(_, applied)) => applied.clone(),
            _ => autoscaler.status.last_applied_policy,
        };
        let mut got = with(&json!({"lastAppliedPolicy": applied}), outcome(&verdict, &fleet));
        let mut want = case.want.clone();
        // Events are those of a whole look; the size beside an error means nothing.
        want.as_object_mut().unwrap().remove("events");
        if want["err"] == true {
            want["replicas"] = got["replicas"].clone();
        }
        if matches!(verdict, Ok(Verdict::Inactive)) {
            got["err"] = false.into();
        }
        same_object("outcome", &got, &want)
    });
}

async fn verdict(
    case: &Case,
    policy: &FleetAutoscalerPolicy,
    fleet: &Fleet,
    now: Timestamp,
) -> Result<Verdict, PolicyError> {
    let hooks = Hooks::default();
    let situation = Situation {
        autoscaler: "u",
        fleet,
        servers: &Vec::new,
        counts: &NodeCounts::new(),
        now,
        gates: gates(case),
        hooks: &hooks,
        request_uid: "r",
    };
    situation.verdict(policy).await
}

fn outcome(verdict: &Result<Verdict, PolicyError>, fleet: &Fleet) -> Value {
    match verdict {
        Ok(Verdict::Size(target, _)) => with(&sized(*target), json!({"err": false})),
        Ok(Verdict::Inactive) => json!({"replicas": fleet.status.replicas, "limited": false, "err": true}),
        Err(_) => json!({"replicas": 0, "limited": false, "err": true}),
    }
}

fn with(one: &Value, other: Value) -> Value {
    let mut all = one.clone();
    all.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    all
}

#[test]
fn vectors_fas_url() {
    vectors::run("agones/fas_url", DIFFERENCES, |case| {
        let webhook: WebhookPolicy = arg(&case.input["webhook"]);
        case.expect(url(&webhook).map(|url| json!({"url": url})))
    });
}

/// Each case against a server of its own on loopback, through the real client.
#[test]
fn vectors_fas_webhook() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    vectors::run("agones/fas_webhook", DIFFERENCES, |case| runtime.block_on(ask(case)));
}

async fn ask(case: &Case) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = tokio::spawn(serve(listener, case.input.clone(), seen.clone()));
    let path = case.input["path"].as_str().unwrap();
    let policy = WebhookPolicy { url: Some(format!("http://{address}{path}")), ..WebhookPolicy::default() };
    let fleet: Fleet = arg(&case.input["fleet"]);
    let hooks = Hooks::default();
    let answer = hooks.ask("u", &policy, &fleet, "{{UID}}", gates(case)).await;
    server.abort();
    if case.error {
        return case.expect(answer.map(sized));
    }
    let got = match &answer {
        Ok(target) => with(&sized(*target), json!({"err": false})),
        Err(_) => json!({"replicas": 0, "limited": false, "err": true}),
    };
    let request = seen.lock().unwrap().first().cloned().unwrap_or_default();
    same_object("outcome", &with(&got, json!({"request": request})), &case.want)
}

async fn serve(listener: TcpListener, input: Value, seen: Arc<Mutex<Vec<Value>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (input, seen) = (input.clone(), seen.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (input, seen) = (input.clone(), seen.clone());
            async move {
                let mut noted = json!({
                    "method": request.method().as_str(), "path": request.uri().path_and_query().unwrap().as_str(),
                    "contentType": request.headers()["content-type"].to_str().unwrap(),
                });
                let body = request.into_body().collect().await.unwrap().to_bytes();
                noted["body"] = String::from_utf8(body.to_vec()).unwrap().into();
                seen.lock().unwrap().push(noted);
                let status = u16::try_from(input["responseStatus"].as_u64().unwrap()).unwrap();
                let body = Bytes::from(input["responseBody"].as_str().unwrap().to_owned());
                let body = if status == 204 { Bytes::new() } else { body };
                Ok::<_, Infallible>(Response::builder().status(status).body(Full::new(body)).unwrap())
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// FAS-6 [X]: the answers that crash the original are errors, and nothing else happens.
#[test]
fn an_answer_without_a_response_is_an_error() {
    for body in ["{}", "null", r#"{"response":null}"#] {
        assert!(answered(body.as_bytes(), &Fleet::default()).is_err(), "{body}");
    }
}

#[test]
fn vectors_fas_defaults() {
    vectors::run("agones/fas_defaults", DIFFERENCES, |case| {
        let mut autoscaler: FleetAutoscaler = arg(&case.input["fleetAutoscaler"]);
        defaults::fleet_autoscaler(&mut autoscaler, gates(case));
        same_object("autoscaler", &json_of(&autoscaler), &case.want)
    });
}

#[test]
fn vectors_fas_validate() {
    let now = support::NOW.parse().unwrap();
    vectors::run("agones/fas_validate", DIFFERENCES, |case| {
        let decoded: Result<FleetAutoscaler, _> =
            serde_json::from_value(case.input["fleetAutoscaler"].clone());
        let mut autoscaler = match decoded {
            Ok(autoscaler) => autoscaler,
            Err(error) => return case.expect(Err(error)),
        };
        if case.input["applyDefaultsFirst"] == true {
            defaults::fleet_autoscaler(&mut autoscaler, gates(case));
        }
        let errors = validation::fleet_autoscaler(&autoscaler, gates(case), now);
        if case.panic {
            return if errors.is_empty() { Err("no error".to_owned()) } else { Ok(()) };
        }
        same_errors(&errors, &case.want)
    });
}

/// The whole loop on one autoscaler and its fleet: what is written and told.
#[test]
fn vectors_fas_sync() {
    let runtime = runtime();
    vectors::run("agones/fas_sync", DIFFERENCES, |case| {
        let server = support::server_of(&case.input["fleetAutoscaler"], &case.input["fleet"]);
        let events = Arc::new(Mutex::new(Vec::new()));
        // The first look is 200 ms after the autoscaler appeared, the next one after a failure 400 ms later.
        let run = support::run_telling(&server, Duration::from_millis(300), events.clone(), |_| {});
        let written = runtime.block_on(run);
        let body =
            |part: &str| written.iter().find(|put| put.target.contains(part)).map(|put| put.body.clone());
        let replicas = body("/fleets/").map_or(Value::Null, |fleet| fleet["spec"]["replicas"].clone());
        let mut status = body("/status").map_or(Value::Null, |autoscaler| autoscaler["status"].clone());
        if case.want["lastScaleTimeIsNow"] == true {
            same("lastScaleTime", &status["lastScaleTime"], &support::NOW.into())?;
            status["lastScaleTime"] = Value::Null;
        }
        same("fleet's replicas", &replicas, &case.want["fleetReplicasWritten"])?;
        same("status", &status, &case.want["statusWritten"])?;
        // What an error says is our own.
        let short = |event: &str| event.split(" Error: ").next().unwrap_or_default().to_owned();
        let got: Vec<String> = events.lock().unwrap().iter().map(|event: &String| short(event)).collect();
        let want: Vec<String> = arg(&case.want["events"]);
        same("events", &got, &want.iter().map(|event| short(event)).collect())
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}
