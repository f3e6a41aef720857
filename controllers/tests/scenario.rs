//! The recorded scenario on the embedded server with our loops: fleet of 3, autoscaler, 3 and 3 allocations, 3 shutdowns, another
//! template, deletion. Every state of fleet and autoscaler that is watched is compared with the recorded ones, repeats removed; where
//! they differ, [`DIFFERENCES`] says why.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod cluster;

use std::sync::{Arc, Mutex};
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

type FleetStates = &'static [[i64; 4]];

/// States that are between two steps of several loops, and are other ones here: what was recorded, what is here, and why.
const DIFFERENCES: [(FleetStates, FleetStates, &str); 3] = [
    (
        &[[3, 2, 0, 3]],
        &[],
        "the pods of the recording do not start all at once, and the set was looked at between the second and the third",
    ),
    (
        &[[5, 1, 3, 5]],
        &[[5, 3, 2, 5]],
        "the original looks at a fleet 200 ms after it changed, so that the third player comes before the servers; here the servers do",
    ),
    (
        &[[8, 3, 3, 9]],
        &[[7, 3, 4, 9], [8, 5, 3, 9]],
        "three servers end within 166 ms: the original looks at their set at each, here the changes of 150 ms are looked at together",
    ),
];

/// The recorded states with those of [`DIFFERENCES`] put in their places.
fn as_here(mut states: Vec<State>) -> Vec<State> {
    for (recorded, here, reason) in DIFFERENCES {
        let places: Vec<usize> = (0..states.len())
            .filter(|place| {
                states[*place..].iter().zip(recorded).filter(|(one, other)| one[..] == other[..]).count()
                    == recorded.len()
            })
            .collect();
        let [place] = places[..] else { panic!("{recorded:?} is not there once: {places:?}; {reason}") };
        states.splice(place..place + recorded.len(), here.iter().map(|state| state.to_vec()));
    }
    states
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
    let (fleets_seen, autoscalers_seen) = (Seen::new(start, of_fleet), Seen::new(start, of_autoscaler));
    let (fleet_states, autoscaler_states) = (fleets_seen.0.clone(), autoscalers_seen.0.clone());
    let fleets_informer = Informer::<Fleet>::builder(Api::all(cluster.client.clone())).build();
    let autoscalers_informer = Informer::<FleetAutoscaler>::builder(Api::all(cluster.client.clone())).build();
    fleets_informer.add_handler(fleets_seen).unwrap();
    autoscalers_informer.add_handler(autoscalers_seen).unwrap();
    let watching = tokio::spawn(async move {
        let end = || sleep_until(start + Duration::from_millis(54_000));
        tokio::join!(fleets_informer.run(end()), autoscalers_informer.run(end()));
    });

    at(1_306).await;
    cluster.create_fleet(3).await;
    at(7_360).await;
    let autoscaler: FleetAutoscaler = serde_json::from_value(autoscaler()).unwrap();
    Api::<FleetAutoscaler>::namespaced(cluster.client.clone(), "default").create(&autoscaler).await.unwrap();
    for moment in [12_785, 13_285, 13_785, 22_298, 22_800, 23_300] {
        at(moment).await;
        move_one(&cluster, &GameServerState::Ready, GameServerState::Allocated).await;
    }
    for moment in [31_879, 31_931, 32_045] {
        at(moment).await;
        move_one(&cluster, &GameServerState::Allocated, GameServerState::Shutdown).await;
    }
    at(40_077).await;
    cluster.change_label("game", "other").await;
    at(54_000).await;
    watching.await.unwrap();
    let states = (fleet_states.lock().unwrap().clone(), autoscaler_states.lock().unwrap().clone());
    let players: Vec<_> = distinct(&fleets).into_iter().filter(|state| state[0] == state[3]).collect();
    assert!(players.contains(&vec![9, 3, 6, 9]), "what the recording has: {players:?}");
    assert_eq!(distinct(&states.0), as_here(distinct(&fleets)), "fleet: {:?}", states.0);
    assert_eq!(distinct(&states.1), distinct(&autoscalers), "autoscaler: {:?}", states.1);

    let api = Api::<Fleet>::namespaced(cluster.client.clone(), "default");
    let params = DeleteParams { propagation: Some(Propagation::Background), ..DeleteParams::default() };
    api.delete(&ObjectKey::new("default", "simple"), &params).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!((cluster.servers().await.len(), cluster.pods().await), (0, 0), "all go with the fleet");
    running.stop().await;
}

/// The states without repeats.
fn distinct(states: &[(u64, State)]) -> Vec<State> {
    let mut distinct: Vec<State> = states.iter().map(|(_, state)| state.clone()).collect();
    distinct.dedup();
    distinct
}

/// All states that were ever watched, with the milliseconds since which they were.
struct Seen<K>(Arc<Mutex<Vec<(u64, State)>>>, Instant, fn(&K) -> State);

impl<K> Seen<K> {
    fn new(start: Instant, state: fn(&K) -> State) -> Self {
        Self(Arc::default(), start, state)
    }

    fn note(&self, object: &K) {
        let now = u64::try_from(self.1.elapsed().as_millis()).unwrap();
        self.0.lock().unwrap().push((now, (self.2)(object)));
    }
}

impl<K: Send + Sync + 'static> EventHandler<K> for Seen<K> {
    fn on_add(&self, object: &Arc<K>, _is_in_initial_list: bool) {
        self.note(object);
    }

    fn on_update(&self, _old: &Arc<K>, new: &Arc<K>) {
        self.note(new);
    }

    fn on_delete(&self, _deleted: &Deleted<K>) {}
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
