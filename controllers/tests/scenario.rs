//! The recorded scenario on the embedded server with our loops: fleet of 3, autoscaler, 3 and 3 allocations, 3 shutdowns, another
//! template, deletion. Every state of fleet and autoscaler that lasted is compared with the recorded ones.
//!
//! States of a second or less are between two steps of several loops, and which of them are seen depends on whose step is first.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::time::Duration;

use cluster::Cluster;
use lariat::api::WatchEvent;
use lariat::client::decode::WatchDecoder;
use lariat::client::{DeleteParams, Propagation};
use lariat::prelude::*;
use lariat_controllers::types::{Fleet, FleetAutoscaler, GameServer, GameServerState};
use lariat_fixtures::{Recording, recording_path};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

/// How long a state lasts that counts.
const LASTING: u64 = 3_000;

/// A state: replicas, ready, allocated, desired of a fleet; current and desired of an autoscaler.
type State = Vec<i64>;

fn of_fleet(fleet: &Fleet) -> State {
    let status = &fleet.status;
    let numbers = [status.replicas, status.ready_replicas, status.allocated_replicas, fleet.spec.replicas];
    numbers.into_iter().map(i64::from).collect()
}

fn of_autoscaler(autoscaler: &FleetAutoscaler) -> State {
    let status = &autoscaler.status;
    [status.current_replicas, status.desired_replicas].into_iter().map(i64::from).collect()
}

/// The states that lasted, without repeats, of states and the milliseconds since which they were.
fn lasting(states: &[(u64, State)], end: u64) -> Vec<State> {
    let mut lasting: Vec<State> = Vec::new();
    let mut distinct = states.to_vec();
    distinct.dedup_by(|next, last| next.1 == last.1);
    for (place, (since, state)) in distinct.iter().enumerate() {
        let until = distinct.get(place + 1).map_or(end, |(next, _)| *next);
        if until.saturating_sub(*since) >= LASTING && lasting.last() != Some(state) {
            lasting.push(state.clone());
        }
    }
    lasting
}

fn recorded<K: Object + DeserializeOwned>(
    recording: &Recording,
    name: &str,
    state: fn(&K) -> State,
) -> Vec<(u64, State)> {
    let exchange = recording.exchanges.iter().find(|exchange| exchange.name == name).unwrap();
    let mut decoder = WatchDecoder::<K>::new();
    let mut states = Vec::new();
    for chunk in &exchange.chunks {
        decoder.push(chunk.data.clone());
        while let Some(event) = decoder.next().unwrap() {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
                states.push((u64::try_from(chunk.at.as_millis()).unwrap(), state(&object)));
            }
        }
    }
    states
}

#[tokio::test(start_paused = true)]
async fn replay_of_the_scenario_goes_through_the_recorded_states() {
    let recording = Recording::open(recording_path("agones-buffer-autoscale")).unwrap();
    let fleets = recorded::<Fleet>(&recording, "fleets watch", of_fleet);
    let autoscalers = recorded::<FleetAutoscaler>(&recording, "fleetautoscalers watch", of_autoscaler);

    let cluster = Cluster::new(20);
    let running = cluster.control(cluster::settings());
    let start = Instant::now();
    let at = |millis: u64| sleep_until(start + Duration::from_millis(millis));
    let watching = tokio::spawn(watch(cluster.server.clone(), start));

    at(1_400).await;
    cluster.create_fleet(3).await;
    at(7_400).await;
    let autoscaler: FleetAutoscaler = serde_json::from_value(autoscaler()).unwrap();
    Api::<FleetAutoscaler>::namespaced(cluster.client.clone(), "default").create(&autoscaler).await.unwrap();
    for moment in [13_000, 13_500, 13_700, 22_500, 23_000, 23_500] {
        at(moment).await;
        move_one(&cluster, &GameServerState::Ready, GameServerState::Allocated).await;
    }
    for moment in [32_000, 32_010, 32_020] {
        at(moment).await;
        move_one(&cluster, &GameServerState::Allocated, GameServerState::Shutdown).await;
    }
    at(40_500).await;
    cluster.change_label("game", "other").await;
    at(54_000).await;
    let states = watching.await.unwrap();

    let wanted: [State; 4] = [vec![3, 3, 0, 3], vec![6, 3, 3, 6], vec![9, 3, 6, 9], vec![6, 3, 3, 6]];
    assert_eq!(lasting(&fleets, 54_000), wanted, "what the recording has");
    assert_eq!(lasting(&states.0, 54_000), lasting(&fleets, 54_000), "fleet: {:?}", states.0);
    assert_eq!(lasting(&states.1, 54_000), lasting(&autoscalers, 54_000), "autoscaler: {:?}", states.1);

    let api = Api::<Fleet>::namespaced(cluster.client.clone(), "default");
    let params = DeleteParams { propagation: Some(Propagation::Background), ..DeleteParams::default() };
    api.delete(&ObjectKey::new("default", "simple"), &params).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!((cluster.servers().await.len(), cluster.pods().await), (0, 0), "all go with the fleet");
    running.stop().await;
}

/// What fleet and autoscaler are, every 10 ms until 54 s.
async fn watch(
    server: lariat_apiserver::ApiServer,
    start: Instant,
) -> (Vec<(u64, State)>, Vec<(u64, State)>) {
    let (mut fleets, mut autoscalers) = (Vec::new(), Vec::new());
    while start.elapsed() < Duration::from_secs(54) {
        let now = u64::try_from(start.elapsed().as_millis()).unwrap();
        if let Some(fleet) = server.stored("fleets.agones.dev", "default/simple") {
            fleets.push((now, of_fleet(&serde_json::from_value(fleet).unwrap())));
        }
        if let Some(autoscaler) = server.stored("fleetautoscalers.autoscaling.agones.dev", "default/simple") {
            autoscalers.push((now, of_autoscaler(&serde_json::from_value(autoscaler).unwrap())));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (fleets, autoscalers)
}

async fn move_one(cluster: &Cluster, from: &GameServerState, to: GameServerState) {
    let api = Api::<GameServer>::namespaced(cluster.client.clone(), "default");
    let mut server = cluster.servers().await.into_iter().find(|server| server.status.state == *from).unwrap();
    server.status.state = to;
    api.update(&server).await.unwrap();
}

fn autoscaler() -> Value {
    json!({
        "apiVersion": "autoscaling.agones.dev/v1", "kind": "FleetAutoscaler",
        "metadata": {"name": "simple", "namespace": "default"},
        "spec": {
            "fleetName": "simple",
            "policy": {"type": "Buffer", "buffer": {"bufferSize": 3, "minReplicas": 3, "maxReplicas": 10}},
            "sync": {"type": "FixedInterval", "fixedInterval": {"seconds": 2}},
        },
    })
}
