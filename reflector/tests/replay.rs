//! What a real API server sent, through the real stack, whatever the bytes are cut into.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::{DynamicObject, Kind, Object, Randomness};
use lariat_client::Api;
use lariat_fixtures::{Pace, Recording, ReplayServer, recording_path};
use lariat_reflector::{Deleted, EventHandler, Informer, InitialList};

/// What the handlers saw of one kind: the events with key and versions, then the store.
type Story = (Vec<String>, BTreeMap<String, String>, String);

const KINDS: [Kind; 6] = [
    Kind::namespaced("agones.dev", "v1", "Fleet", "fleets"),
    Kind::namespaced("agones.dev", "v1", "GameServerSet", "gameserversets"),
    Kind::namespaced("agones.dev", "v1", "GameServer", "gameservers"),
    Kind::namespaced("autoscaling.agones.dev", "v1", "FleetAutoscaler", "fleetautoscalers"),
    Kind::namespaced("", "v1", "Pod", "pods"),
    Kind::cluster("", "v1", "Node", "nodes"),
];

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl EventHandler<DynamicObject> for Log {
    fn on_add(&self, object: &Arc<DynamicObject>, _is_in_initial_list: bool) {
        self.push(format!("add {} {}", object.key().unwrap(), object.resource_version()));
    }

    fn on_update(&self, old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) {
        let (old, version) = (old.resource_version(), new.resource_version());
        self.push(format!("update {} {old} {version}", new.key().unwrap()));
    }

    fn on_delete(&self, deleted: &Deleted<DynamicObject>) {
        assert!(!deleted.is_tombstone(), "all deletions were watched");
        self.push(format!("delete {}", deleted.key()));
    }
}

async fn stories(server: &ReplayServer, time: Duration) -> Vec<Story> {
    let mut stories = Vec::new();
    for kind in KINDS {
        let api = Api::<DynamicObject>::of_kind(server.client().unwrap(), kind, "");
        let informer = Informer::builder(api)
            .initial_list(InitialList::List)
            .randomness(Randomness::seeded(1))
            .on_error(|name, error| panic!("{name}: {error}"))
            .build();
        let log = Log::default();
        informer.add_handler(log.clone()).unwrap();
        informer.run(tokio::time::sleep(time)).await;
        let objects = informer.lister().store().list();
        let stored = objects
            .iter()
            .map(|object| (object.key().unwrap().to_string(), object.resource_version().to_owned()));
        let events = log.0.lock().unwrap().clone();
        stories.push((events, stored.collect(), informer.last_sync_resource_version()));
    }
    stories
}

fn count(story: &Story, event: &str) -> usize {
    story.0.iter().filter(|line| line.starts_with(event)).count()
}

#[tokio::test(start_paused = true)]
async fn replay_in_small_chunks_tells_the_same_story() {
    let recording = Recording::open(recording_path("agones-buffer-autoscale")).unwrap();
    let recorded = ReplayServer::new(recording.clone(), Pace::Recorded);
    let want = stories(&recorded, recording.duration() + Duration::from_secs(1)).await;
    let counts: Vec<_> = want
        .iter()
        .map(|story| (count(story, "add"), count(story, "update"), count(story, "delete"), story.1.len()))
        .collect();
    assert_eq!(
        counts,
        [(1, 22, 1, 0), (2, 50, 2, 0), (15, 105, 15, 0), (1, 8, 1, 0), (15, 60, 15, 0), (20, 0, 0, 20)]
    );

    for cut in [1, 2, 3, 7, 1000] {
        let server = ReplayServer::cut_into(recording.clone(), Pace::Unpaced, cut);
        assert!(stories(&server, Duration::from_secs(1)).await == want, "in chunks of {cut}");
    }
}

/// Each update's old version is the version of the event before it for that object.
#[tokio::test(start_paused = true)]
async fn replay_tells_one_story_for_each_object() {
    let recording = Recording::open(recording_path("agones-buffer-autoscale")).unwrap();
    let server = ReplayServer::new(recording, Pace::Unpaced);
    for (events, ..) in stories(&server, Duration::from_secs(1)).await {
        let mut versions = BTreeMap::<String, String>::new();
        for event in events {
            let words: Vec<&str> = event.split(' ').collect();
            let before = match words[..] {
                ["add", key, version] => {
                    assert_eq!(versions.insert(key.into(), version.into()), None, "{event}");
                    continue;
                }
                ["update", key, old, new] => {
                    assert_eq!(versions.insert(key.into(), new.into()).as_deref(), Some(old), "{event}");
                    continue;
                }
                ["delete", key] => versions.remove(key),
                _ => panic!("{event}"),
            };
            assert!(before.is_some(), "{event}");
        }
    }
}
