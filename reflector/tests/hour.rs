//! An hour in the life of an informer, with all that ordinarily happens in it, in virtual time.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lariat_api::{DynamicObject, Kind, ManualClock, Object, ObjectKey, Randomness};
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
use lariat_client::{Api, Client, Config, DeleteParams};
use lariat_reflector::{HandlerFns, Informer, InitialList, Metrics};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, copy_bidirectional, duplex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");
const DEFINITIONS: Kind =
    Kind::cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
const RESOURCE: &str = "widgets.example.dev";

/// Versions by key.
type Known = BTreeMap<String, String>;

/// Connections that can be cut.
#[derive(Clone)]
struct Lines {
    server: ApiServer,
    lines: Arc<Mutex<JoinSet<()>>>,
}

impl Lines {
    fn connect(&self) -> io::Result<DuplexStream> {
        let mut far = self.server.try_connect()?;
        let (near, mut middle) = duplex(64 << 10);
        let mut lines = self.lines.lock().unwrap();
        while lines.try_join_next().is_some() {}
        lines.spawn(async move { drop(copy_bidirectional(&mut middle, &mut far).await) });
        Ok(near)
    }

    /// The server goes, and comes again after that time.
    async fn restart(&self, away: Duration) {
        self.server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::refuse())));
        self.lines.lock().unwrap().abort_all();
        sleep(away).await;
        self.server.heal();
    }

    fn client(&self) -> Client {
        let config = Config::new("http://in-process".parse().unwrap()).unwrap();
        let lines = self.clone();
        let connector = move |_: &http::Uri| std::future::ready(lines.connect());
        Client::builder(config).connector(connector).build().unwrap()
    }
}

#[derive(Default)]
struct Counts(Mutex<Counted>);

#[derive(Debug, Default, Clone, Copy)]
struct Counted {
    lists: u32,
    watches: u32,
    longest: Duration,
    /// How often a version was told of without an event.
    bookmarks: u32,
    errors: u32,
}

impl Metrics for Counts {
    fn listed(&self, _informer: &str, _objects: usize, _took: Duration) {
        self.0.lock().unwrap().lists += 1;
    }

    fn watch_opened(&self, _informer: &str) {
        self.0.lock().unwrap().watches += 1;
    }

    fn watch_ended(&self, _informer: &str, _events: u64, took: Duration) {
        let mut counted = self.0.lock().unwrap();
        counted.longest = counted.longest.max(took);
    }

    fn bookmarked(&self, _informer: &str, _resource_version: &str) {
        self.0.lock().unwrap().bookmarks += 1;
    }

    fn failed(&self, _informer: &str, _error: &lariat_reflector::ReflectorError) {
        self.0.lock().unwrap().errors += 1;
    }
}

/// RF-2, RF-15, RF-40, RF-46, RF-49, RF-52 `[W]`, SI-17.
#[tokio::test(start_paused = true)]
async fn an_hour_with_lists() {
    live_through(InitialList::List).await;
}

/// RF-37, and as with lists.
#[tokio::test(start_paused = true)]
async fn an_hour_with_streaming_lists() {
    live_through(InitialList::Streaming).await;
}

/// Few requests, no task that is left, and the cache is right whenever it is quiet.
async fn live_through(initial_list: InitialList) {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
    let server = ApiServer::builder().clock(clock).randomness(Randomness::seeded(1)).build();
    server.define(definition()).unwrap();
    sleep(Duration::from_secs(1)).await;
    let tasks_before = Handle::current().metrics().num_alive_tasks();

    let lines = Lines { server: server.clone(), lines: Arc::default() };
    let counts = Arc::new(Counts::default());
    let informer = Informer::builder(Api::<DynamicObject>::of_kind(lines.client(), WIDGETS, ""))
        .randomness(Randomness::seeded(1))
        .initial_list(initial_list)
        .metrics(counts.clone())
        .build();
    let known = listen(&informer);
    let (stop, stopped) = oneshot::channel::<()>();
    let runner = informer.clone();
    let running = tokio::spawn(async move { runner.run(async { drop(stopped.await) }).await });

    let began = Instant::now();
    let minute = |minute: u64| sleep_until(began + Duration::from_secs(60 * minute));
    let random = Randomness::seeded(2);
    for now in 0..60 {
        minute(now).await;
        let is_defined = !(46..=47).contains(&now);
        for _ in 0..if is_defined { random.below(20) } else { 0 } {
            write(&server, &random);
        }
        // Others write, too, so that what is not watched on expires.
        server.advance(random.below(300));
        match now {
            // Nothing of what happened while it was away can be watched.
            10 | 38 => {
                lines.restart(Duration::from_secs(20)).await;
                write(&server, &random);
            }
            25 => {
                lines.server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::refuse())));
                lines.lines.lock().unwrap().abort_all();
                (0..20).for_each(|_| write(&server, &random));
                server.compact();
                sleep(Duration::from_secs(40)).await;
                server.heal();
            }
            17 | 33 => server.compact(),
            45 => undefine(&server).await,
            47 => server.define(definition()).unwrap(),
            // Not while there is no such resource, and back-off is over.
            _ if !(45..50).contains(&now) => {
                sleep(Duration::from_secs(50)).await;
                assert_eq!(versions(&informer), stored(&server), "minute {now}");
                assert_eq!(*known.lock().unwrap(), stored(&server), "minute {now}");
            }
            _ => {}
        }
    }
    minute(60).await;
    drop(stop);
    running.await.unwrap();
    assert_eq!(*known.lock().unwrap(), stored(&server));

    let counted = *counts.0.lock().unwrap();
    assert!(counted.longest <= Duration::from_secs(601), "{counted:?}");
    assert!(counted.bookmarks >= 50, "{counted:?}");
    assert!((2..=5).contains(&counted.lists), "{counted:?}");
    assert!((8..=25).contains(&counted.watches), "{counted:?}");
    let asked =
        server.seen().iter().filter(|seen| seen.method == "GET" && seen.target.contains("/widgets")).count();
    assert!(asked <= 40, "{asked} requests, {counted:?}");

    drop((informer, lines));
    sleep(Duration::from_secs(200)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks_before);
}

/// Adds a handler that knows what it was told of, and whose story has to hang together.
fn listen(informer: &Informer<DynamicObject>) -> Arc<Mutex<Known>> {
    let known: Arc<Mutex<Known>> = Arc::default();
    let (added, updated, deleted) = (known.clone(), known.clone(), known.clone());
    // A panic of a handler is caught, so what is wrong is left in what it knows.
    let check = |known: &Mutex<Known>, holds: bool, what: String| {
        if !holds {
            known.lock().unwrap().insert(format!("wrong: {what}"), String::new());
        }
    };
    let handler = HandlerFns::new()
        .on_add(move |object: &Arc<DynamicObject>, _| {
            let before = added.lock().unwrap().insert(key(object), object.resource_version().to_owned());
            check(&added, before.is_none(), format!("added twice: {}", key(object)));
        })
        .on_update(move |old, new| {
            let before = updated.lock().unwrap().insert(key(new), new.resource_version().to_owned());
            check(
                &updated,
                before.as_deref() == Some(old.resource_version()),
                format!("old of {}", key(new)),
            );
        })
        .on_delete(move |gone| {
            let before = deleted.lock().unwrap().remove(gone.key().as_str());
            check(&deleted, before.is_some(), format!("deleted unknown: {}", gone.key()));
        });
    informer.add_handler(handler).unwrap();
    known
}

fn write(server: &ApiServer, random: &Randomness) {
    let name = format!("w{}", random.below(30));
    if random.below(4) == 0 {
        server.delete(RESOURCE, &format!("n/{name}"));
        return;
    }
    let stored = server.stored(RESOURCE, &format!("n/{name}"));
    let uid = stored.map_or_else(
        || json!(format!("{:x}", random.below(u64::MAX))),
        |stored| stored["metadata"]["uid"].clone(),
    );
    server.put(
        RESOURCE,
        json!({
            "apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"value": random.below(1_000)},
            "metadata": {"namespace": "n", "name": name, "uid": uid},
        }),
    );
}

fn definition() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": RESOURCE},
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        },
    })
}

/// Removes the resource and with it all of its objects.
async fn undefine(server: &ApiServer) {
    let lines = Lines { server: server.clone(), lines: Arc::default() };
    let definitions = Api::<DynamicObject>::of_kind(lines.client(), DEFINITIONS, "");
    definitions.delete(&ObjectKey::new("", RESOURCE), &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stored(server), Known::new(), "the objects go with their definition");
}

fn stored(server: &ApiServer) -> Known {
    let objects = (0..30).filter_map(|number| {
        let key = format!("n/w{number}");
        let stored = server.stored(RESOURCE, &key)?;
        Some((key, stored["metadata"]["resourceVersion"].as_str()?.to_owned()))
    });
    objects.collect()
}

fn versions(informer: &Informer<DynamicObject>) -> Known {
    let objects = informer.lister().store().list();
    objects.iter().map(|object| (key(object), object.resource_version().to_owned())).collect()
}

fn key(object: &DynamicObject) -> String {
    object.key().unwrap().to_string()
}
