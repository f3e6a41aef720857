//! The recorded autoscaler and ours on the same states of the fleet (acceptance of the recording, FAS-1, FAS-4, FAS-5).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat::api::{Object, ResourceVersion, WatchEvent};
use lariat::client::decode::WatchDecoder;
use lariat_controllers::fleetautoscalers::{Decision, buffer};
use lariat_controllers::types::{Fleet, FleetAutoscaler, FleetAutoscalerStatus};
use lariat_fixtures::{Pace, Recording, ReplayServer, recording_path};
use serde::de::DeserializeOwned;

fn recording() -> Recording {
    Recording::open(recording_path("agones-buffer-autoscale")).unwrap()
}

/// All states of the objects that a recorded watch showed, in order.
fn states<K: Object + DeserializeOwned>(recording: &Recording, name: &str) -> Vec<K> {
    let exchange = recording.exchanges.iter().find(|exchange| exchange.name == name).unwrap();
    let mut decoder = WatchDecoder::<K>::new();
    let mut states = Vec::new();
    for chunk in &exchange.chunks {
        decoder.push(chunk.data.clone());
        while let Some(event) = decoder.next().unwrap() {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) =
                event
            {
                states.push(object);
            }
        }
    }
    states
}

fn version(object: &impl Object) -> ResourceVersion {
    object.resource_version().parse().unwrap()
}

/// What the recorded autoscaler wrote, in order.
fn recorded_statuses(recording: &Recording) -> Vec<FleetAutoscaler> {
    let mut written: Vec<FleetAutoscaler> = states(recording, "fleetautoscalers watch");
    written.retain(|autoscaler| autoscaler.status != FleetAutoscalerStatus::default());
    written.dedup_by(|next, last| next.status == last.status);
    written
}

/// For every state of the fleet that the recorded autoscaler's status answers, our policy gives the recorded answer.
#[test]
fn replay_decides_as_recorded_on_every_state_of_the_fleet() {
    let recording = recording();
    let fleets: Vec<Fleet> = states(&recording, "fleets watch");
    let answers = recorded_statuses(&recording);
    assert_eq!(answers.len(), 8);
    for answer in answers {
        // The newest state that was there when the answer was written.
        let fleet = fleets.iter().rfind(|fleet| version(*fleet) < version(&answer)).unwrap();
        assert_eq!(
            fleet.status.replicas, answer.status.current_replicas,
            "it is the state that was answered"
        );
        let target = buffer(answer.spec.policy.buffer.as_ref().unwrap(), fleet).unwrap();
        assert_eq!(
            (target.replicas, target.limited),
            (answer.status.desired_replicas, answer.status.scaling_limited),
            "at {}",
            answer.resource_version()
        );
    }
}

/// The whole loop, at the recorded pace in virtual time, writes what the recorded controller wrote, in the same order.
#[tokio::test(start_paused = true)]
async fn replay_of_the_whole_loop_writes_what_was_recorded() {
    let recording = recording();
    let statuses = recorded_statuses(&recording);
    let server = ReplayServer::new(recording.clone(), Pace::Recorded);
    let decisions = Arc::new(Mutex::new(Vec::<Decision>::new()));
    let seen = decisions.clone();
    let observer = move |decision: &Decision| seen.lock().unwrap().push(decision.clone());
    let writes = support::run(&server, recording.duration() + Duration::from_secs(1), observer).await;

    let (status_writes, fleet_writes): (Vec<_>, Vec<_>) =
        writes.iter().partition(|write| write.target.ends_with("/status"));
    let shown = |status: &FleetAutoscalerStatus| {
        (status.current_replicas, status.desired_replicas, status.scaling_limited, status.able_to_scale)
    };
    let written: Vec<_> = status_writes
        .iter()
        .map(|write| shown(&serde_json::from_value(write.body["status"].clone()).unwrap()))
        .collect();
    let recorded: Vec<_> = statuses.iter().map(|answer| shown(&answer.status)).collect();
    assert_eq!(written, recorded);

    let scaled: Vec<_> =
        fleet_writes.iter().map(|write| write.body["spec"]["replicas"].as_i64().unwrap()).collect();
    assert_eq!(scaled, [5, 6, 9, 6]);
    let fleet = &fleet_writes[0].body;
    assert_eq!(fleet["spec"]["template"]["spec"]["ports"][0]["containerPort"], 7654, "the template survives");
    assert_eq!((&fleet["apiVersion"], &fleet["kind"]), (&"agones.dev/v1".into(), &"Fleet".into()));
    assert_eq!(fleet["metadata"]["resourceVersion"], "17986", "the version that the decision was made on");

    // From 7.6 s, 200 ms after the autoscaler appeared, every 2 s until it was deleted at 54.1 s.
    let decisions = decisions.lock().unwrap();
    assert_eq!(decisions.len(), 24);
    assert_eq!(decisions[3].autoscaler.as_str(), "default/simple-fleet-autoscaler");
    assert_eq!((decisions[3].allocated, decisions[3].current, decisions[3].desired), (2, 3, 5));
}
