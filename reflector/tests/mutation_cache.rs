//! Own writes over an informer's cache.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{DynamicObject, Kind, Object, ObjectKey, Randomness};
use lariat_client::Api;
use lariat_fixtures::{ScriptedServer, Step};
use lariat_reflector::{Informer, InitialList, MutationCache};
use lariat_store::Indexers;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");

fn widget(name: &str, uid: &str, version: u64, colour: &str) -> Value {
    let version = version.to_string();
    json!({"metadata": {
        "name": name, "namespace": "n", "uid": uid, "resourceVersion": version, "labels": {"colour": colour},
    }})
}

fn object(value: &Value) -> DynamicObject {
    serde_json::from_value(value.clone()).unwrap()
}

fn event(event: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": event, "object": object}))
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("n", name)
}

fn shown(object: Option<Arc<DynamicObject>>) -> Option<String> {
    object.map(|object| format!("{}@{}", object.uid(), object.resource_version()))
}

fn all_shown(objects: Vec<Arc<DynamicObject>>) -> Vec<String> {
    let mut all: Vec<String> = objects.into_iter().filter_map(|object| shown(Some(object))).collect();
    all.sort();
    all
}

/// An informer that has listed, and follows a watch.
async fn informer(items: &[Value], watch: Step) -> Informer<DynamicObject> {
    let server = ScriptedServer::new([Step::list("10", items), watch.hold()]);
    let by_colour = Indexers::new().with("colour", |object: &DynamicObject, emit| {
        object.metadata.labels.get("colour").into_iter().for_each(|colour| emit(colour));
    });
    let informer = Informer::builder(Api::of_kind(server.client().unwrap(), WIDGETS, ""))
        .initial_list(InitialList::List)
        .randomness(Randomness::seeded(1))
        .indexers(by_colour)
        .build();
    let running = informer.clone();
    tokio::spawn(async move { running.run(std::future::pending()).await });
    informer.wait_for_sync().await;
    informer
}

/// FA-6: the newer of the two; what the store does not hold only if that is wanted.
#[tokio::test(start_paused = true)]
async fn the_newer_of_store_and_write_is_seen() {
    let informer = informer(&[widget("a", "a", 5, "red")], Step::watch(&[])).await;
    let cache = MutationCache::new(&informer);
    cache.mutated(object(&widget("a", "a", 11, "red"))).unwrap();
    cache.mutated(object(&widget("b", "b", 12, "red"))).unwrap();
    assert_eq!(shown(cache.get(&key("a"))).as_deref(), Some("a@11"));
    assert_eq!(shown(cache.get(&key("b"))), None);
    assert_eq!(all_shown(cache.list()), ["a@11"]);
    cache.mutated(object(&widget("a", "a", 4, "red"))).unwrap();
    assert_eq!(shown(cache.get(&key("a"))).as_deref(), Some("a@11"), "an answer that came late");

    let cache = MutationCache::new(&informer).include_adds(true);
    cache.mutated(object(&widget("a", "a", 4, "red"))).unwrap();
    cache.mutated(object(&widget("b", "b", 12, "red"))).unwrap();
    assert_eq!(all_shown(cache.list()), ["a@5", "b@12"]);
    assert!(cache.mutated(DynamicObject::default()).is_err(), "without a name");
}

/// FA-6: written objects are found under the values that they have now.
#[tokio::test(start_paused = true)]
async fn an_index_is_of_what_is_seen() {
    let stored = [widget("a", "a", 5, "red"), widget("b", "b", 6, "red"), widget("c", "c", 7, "blue")];
    let informer = informer(&stored, Step::watch(&[])).await;
    let cache = MutationCache::new(&informer).include_adds(true);
    assert_eq!(all_shown(cache.by_index("colour", "red").unwrap()), ["a@5", "b@6"]);
    cache.mutated(object(&widget("a", "a", 11, "blue"))).unwrap();
    cache.mutated(object(&widget("d", "d", 12, "red"))).unwrap();
    cache.deleted(&object(&stored[2])).unwrap();
    assert_eq!(all_shown(cache.by_index("colour", "red").unwrap()), ["b@6", "d@12"]);
    assert_eq!(all_shown(cache.by_index("colour", "blue").unwrap()), ["a@11"]);
    assert_eq!(all_shown(cache.by_index("namespace", "n").unwrap()), ["a@11", "b@6", "d@12"]);
    assert!(cache.by_index("shape", "round").is_err());
}

/// FA-6: a deletion hides what was deleted, but neither what came under its name later nor a later version.
#[tokio::test(start_paused = true)]
async fn a_tombstone_hides_what_was_deleted_only() {
    let stored = [widget("a", "a", 5, "red"), widget("b", "b", 6, "red")];
    let watch = Step::watch(&[])
        .then(Duration::from_secs(1), event("MODIFIED", &widget("a", "a", 11, "red")))
        .then(Duration::from_secs(1), event("DELETED", &widget("b", "b", 12, "red")))
        .then(Duration::from_secs(1), event("ADDED", &widget("b", "b2", 13, "red")));
    let informer = informer(&stored, watch).await;
    let cache = MutationCache::new(&informer);
    cache.deleted(&object(&stored[0])).unwrap();
    cache.deleted(&object(&stored[1])).unwrap();
    assert!(cache.list().is_empty());
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(all_shown(cache.list()), ["a@11"], "it was not gone after all");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(shown(cache.get(&key("b"))), None);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(all_shown(cache.list()), ["a@11", "b2@13"]);
}

/// FA-6: by its uid, where versions do not tell.
#[tokio::test(start_paused = true)]
async fn a_tombstone_hides_no_other_object() {
    let informer =
        informer(&[widget("a", "new", 5, "red"), widget("b", "b", 6, "red")], Step::watch(&[])).await;
    let cache = MutationCache::new(&informer);
    cache.deleted(&object(&widget("a", "old", 5, "red"))).unwrap();
    cache.deleted(&object(&widget("b", "b", 6, "red"))).unwrap();
    assert_eq!(all_shown(cache.list()), ["new@5"]);
}

/// FA-6: an object of which the cache has heard nothing yet stays deleted while its creation comes.
#[tokio::test(start_paused = true)]
async fn a_tombstone_hides_what_is_yet_to_come() {
    let created = widget("a", "a", 11, "red");
    let watch = Step::watch(&[])
        .then(Duration::from_secs(1), event("ADDED", &created))
        .then(Duration::from_secs(1), event("DELETED", &widget("a", "a", 12, "red")));
    let informer = informer(&[], watch).await;
    let cache = MutationCache::new(&informer).include_adds(true);
    cache.mutated(object(&created)).unwrap();
    cache.deleted(&object(&created)).unwrap();
    cache.mutated(object(&created)).unwrap();
    for _ in 0..5 {
        assert_eq!(shown(cache.get(&key("a"))), None);
        sleep(Duration::from_millis(500)).await;
    }
}

/// FA-6, and better than client-go: what somebody else deleted after the write does not come back.
#[tokio::test(start_paused = true)]
async fn a_write_does_not_outlive_its_object() {
    let watch = Step::watch(&[]).then(Duration::from_secs(1), event("DELETED", &widget("a", "a", 12, "red")));
    let informer = informer(&[widget("a", "a", 5, "red")], watch).await;
    let cache = MutationCache::new(&informer).include_adds(true);
    cache.mutated(object(&widget("a", "a", 11, "red"))).unwrap();
    assert_eq!(shown(cache.get(&key("a"))).as_deref(), Some("a@11"));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(shown(cache.get(&key("a"))), None);
}

/// FA-6: 100 writes for 5 minutes.
#[tokio::test(start_paused = true)]
async fn writes_are_kept_in_limits() {
    let informer = informer(&[], Step::watch(&[])).await;
    let cache = MutationCache::new(&informer).include_adds(true);
    for i in 0..100_u64 {
        cache.mutated(object(&widget(&format!("w{i}"), "u", 20 + i, "red"))).unwrap();
    }
    assert!(cache.get(&key("w0")).is_some());
    cache.mutated(object(&widget("more", "u", 200, "red"))).unwrap();
    assert!(cache.get(&key("w0")).is_some(), "it was used just now");
    assert!(cache.get(&key("w1")).is_none(), "it was not used for longest");
    tokio::time::advance(Duration::from_secs(300)).await;
    assert_eq!(cache.list().len(), 100, "exactly five minutes are not over");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(cache.list().is_empty());
}

/// What the server did, one change for each version.
struct Change {
    name: &'static str,
    /// What is under the name from then on.
    object: Option<Value>,
    /// The event, and when the cache hears of it.
    event: String,
    heard: Duration,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const COLOURS: [&str; 2] = ["red", "blue"];
const LISTED: u64 = 10;

/// A change each second, told up to `lag` seconds later, in order.
fn history(random: &Randomness, changes: usize, lag: u64) -> Vec<Change> {
    let mut live = BTreeMap::<&str, String>::new();
    let mut heard = Duration::ZERO;
    (0..changes)
        .map(|i| {
            let version = LISTED + 1 + i as u64;
            let name = NAMES[random.below(4) as usize];
            let colour = COLOURS[random.below(2) as usize];
            let second = i as u64 + 1;
            heard = heard.max(Duration::from_secs(second + random.below(lag))) + Duration::from_millis(1);
            let (kind, uid) = match live.get(name) {
                None => ("ADDED", format!("{name}{version}")),
                Some(uid) if random.below(3) == 0 => ("DELETED", uid.clone()),
                Some(uid) => ("MODIFIED", uid.clone()),
            };
            let object = widget(name, &uid, version, colour);
            let event = event(kind, &object);
            let object = (kind != "DELETED").then_some(object);
            match &object {
                Some(_) => drop(live.insert(name, uid)),
                None => drop(live.remove(name)),
            }
            Change { name, object, event, heard }
        })
        .collect()
}

/// What the cache should be: of each own write it knows the version, and so whether the store has heard of it.
struct Model<'a> {
    history: &'a [Change],
    include_adds: bool,
    capacity: usize,
    ttl: Duration,
    /// The changes of ours, when they were noted, in the order of their use.
    own: Vec<(usize, Duration)>,
}

impl Model<'_> {
    fn note(&mut self, change: usize, now: Duration) {
        self.own.retain(|(own, _)| self.history[*own].name != self.history[change].name);
        self.own.push((change, now));
        if self.own.len() > self.capacity {
            self.own.remove(0);
        }
    }

    /// What the store holds that has heard of so many changes.
    fn stored(&self, name: &str, heard: usize) -> Option<&Value> {
        self.history[..heard].iter().rev().find(|change| change.name == name)?.object.as_ref()
    }

    fn get(&mut self, name: &str, now: Duration) -> Option<&Value> {
        let heard = self.history.iter().filter(|change| change.heard <= now).count();
        let Some(place) = self.own.iter().position(|(own, _)| self.history[*own].name == name) else {
            return self.stored(name, heard);
        };
        let (own, noted) = self.own.remove(place);
        if own < heard || now > noted + self.ttl {
            return self.stored(name, heard);
        }
        self.own.push((own, noted));
        let is_stored = self.stored(name, heard).is_some();
        self.history[own].object.as_ref().filter(|_| is_stored || self.include_adds)
    }
}

/// FA-6: against a naive model, on random histories of own and foreign writes.
#[tokio::test(start_paused = true)]
async fn random_histories_agree_with_a_model() {
    let (mut overlaid, mut evicted) = (0, 0);
    for seed in 0..150 {
        let random = Randomness::seeded(seed);
        let history = history(&random, 60, 1 + random.below(12));
        let mut watch = Step::watch(&[]);
        let mut last = Duration::ZERO;
        for change in &history {
            watch = watch.then(change.heard - last, change.event.clone());
            last = change.heard;
        }
        let informer = informer(&[], watch).await;
        let began = Instant::now();
        let (capacity, ttl) = (1 + random.below(4) as usize, Duration::from_secs(2 + random.below(8)));
        let include_adds = random.below(4) > 0;
        let cache = MutationCache::new(&informer).capacity(capacity).ttl(ttl).include_adds(include_adds);
        let mut model = Model { history: &history, include_adds, capacity, ttl, own: Vec::new() };
        let mut before = BTreeMap::<&str, DynamicObject>::new();
        for (i, change) in history.iter().enumerate() {
            // Between the moments at which the cache hears of something.
            let now = Duration::from_millis(1_000 * (i as u64 + 1) + 500);
            sleep_until(began + now).await;
            if random.below(2) == 0 {
                match &change.object {
                    Some(written) => cache.mutated(object(written)).unwrap(),
                    None => cache.deleted(&before[change.name]).unwrap(),
                }
                evicted += usize::from(model.own.len() == capacity);
                model.note(i, now);
            }
            match &change.object {
                Some(written) => drop(before.insert(change.name, object(written))),
                None => drop(before.remove(change.name)),
            }
            let mut all = Vec::new();
            for name in NAMES {
                let seen = cache.get(&key(name));
                let want = model.get(name, now).map(object);
                assert_eq!(seen.as_deref(), want.as_ref(), "seed {seed}, change {i}, {name}");
                let stored = informer.lister().get(&key(name)).ok();
                overlaid += usize::from(shown(stored) != shown(seen));
                all.extend(want.map(Arc::new));
            }
            assert_eq!(all_shown(cache.list()), all_shown(all.clone()), "seed {seed}, change {i}");
            for colour in COLOURS {
                let found = cache.by_index("colour", colour).unwrap();
                let of_colour = all.iter().filter(|one| one.metadata.labels["colour"] == colour);
                assert_eq!(
                    all_shown(found),
                    all_shown(of_colour.cloned().collect()),
                    "seed {seed}, change {i}"
                );
            }
        }
    }
    assert!(overlaid > 1_000 && evicted > 100, "{overlaid} {evicted}");
}
