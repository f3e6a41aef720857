//! The autoscaler loop against a server that answers from memory.

#![allow(dead_code, clippy::unwrap_used)] // each test file uses a part of it

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lariat::api::{ManualClock, Randomness};
use lariat::prelude::*;
use lariat_controllers::events::{EventType, Recorder};
use lariat_controllers::fleetautoscalers::{Decision, FleetAutoscalers};
use lariat_controllers::types::{Fleet, FleetAutoscaler};
use lariat_fixtures::{Exchange, Pace, Recording, ReplayServer, Seen};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The time of day in these tests.
pub(crate) const NOW: &str = "2026-07-01T12:00:00Z";
const NOW_UNIX: u64 = 1_782_907_200;

/// A server that lists one autoscaler and its fleet, if there is one, and then never sends an event.
pub(crate) fn server_of(autoscaler: &Value, fleet: &Value) -> ReplayServer {
    server_of_all(&[autoscaler], fleet)
}

/// As [`server_of`], with several autoscalers.
pub(crate) fn server_of_all(autoscalers: &[&Value], fleet: &Value) -> ReplayServer {
    let fleets: Vec<&Value> = if fleet.is_null() { vec![] } else { vec![fleet] };
    let exchanges = vec![
        list("/apis/agones.dev/v1/fleets", &fleets),
        list("/apis/autoscaling.agones.dev/v1/fleetautoscalers", autoscalers),
    ];
    ReplayServer::new(Recording { exchanges }, Pace::Unpaced)
}

/// A server that lists a fleet and no autoscaler, and then sends events of autoscalers, each at its millisecond.
pub(crate) fn server_of_events(fleet: &Value, events: &[(u64, Value)]) -> ReplayServer {
    let chunks: Vec<Value> =
        events.iter().map(|(at, event)| json!({"t": at, "data": format!("{event}\n")})).collect();
    let watch = json!({
        "name": "watch", "t": 0, "status": 200, "chunks": chunks, "end": "client-closed",
        "request": {"method": "GET", "target": "/apis/autoscaling.agones.dev/v1/fleetautoscalers?watch=true"},
    });
    let exchanges = vec![
        list("/apis/agones.dev/v1/fleets", &[fleet]),
        list("/apis/autoscaling.agones.dev/v1/fleetautoscalers", &[]),
        serde_json::from_value(watch).unwrap(),
    ];
    ReplayServer::new(Recording { exchanges }, Pace::Recorded)
}

/// Runs the loop against a server for a while and returns its writes.
pub(crate) async fn run(
    server: &ReplayServer,
    time: Duration,
    observer: impl Fn(&Decision) + Send + Sync + 'static,
) -> Vec<Seen> {
    run_telling(server, time, Arc::default(), observer).await
}

/// As [`run`], and notes what users are told.
pub(crate) async fn run_telling(
    server: &ReplayServer,
    time: Duration,
    events: Arc<Mutex<Vec<String>>>,
    observer: impl Fn(&Decision) + Send + Sync + 'static,
) -> Vec<Seen> {
    let recorder = Recorder::new("test", move |record| {
        let kind = if record.kind == EventType::Normal { "Normal" } else { "Warning" };
        events.lock().unwrap().push(format!("{kind} {} {}", record.reason, record.message));
    });
    let client = server.client().unwrap();
    let fleets =
        Informer::<Fleet>::builder(Api::all(client.clone())).randomness(Randomness::seeded(1)).build();
    let autoscalers = Informer::<FleetAutoscaler>::builder(Api::all(client.clone()))
        .randomness(Randomness::seeded(2))
        .build();
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_UNIX));
    let controller = FleetAutoscalers::new(client, fleets.clone(), autoscalers.clone())
        .unwrap()
        .clock(clock)
        .events(&recorder)
        .observe(observer);
    let (stop, stopped) = oneshot::channel::<()>();
    let follow = async {
        tokio::join!(fleets.run(tokio::time::sleep(time)), autoscalers.run(tokio::time::sleep(time)));
        drop(stop);
    };
    tokio::join!(follow, controller.run(async { drop(stopped.await) }));
    server.seen().into_iter().filter(|seen| seen.method != "GET").collect()
}

fn list(target: &str, items: &[&Value]) -> Exchange {
    let body = json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string();
    serde_json::from_value(json!({
        "name": "list", "t": 0, "request": {"method": "GET", "target": target}, "status": 200,
        "chunks": [{"t": 0, "data": body}], "end": "eof",
    }))
    .unwrap()
}
