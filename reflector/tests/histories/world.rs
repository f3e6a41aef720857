//! The server, the informer and its handlers, while a history happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle as Thread;
use std::time::{Duration, SystemTime};

use lariat_api::{DynamicObject, Kind, ManualClock, Object, Randomness};
use lariat_apiserver::ApiServer;
use lariat_client::{Api, Client, Config};
use lariat_reflector::{Event, FilteringHandler, Informer, InitialList, Metrics, Registration};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::history::{self, History, Listening, Step, Write};
use crate::story::Story;

const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");
const RESOURCE: &str = "widgets.example.dev";

/// How long a cache may take to be right, once the server is well again: the longest waits are a watch that is silent and
/// back-off at its cap, one after the other.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// How long it has to stay right: longer than a watch lasts.
const CALM: Duration = Duration::from_secs(11 * 60);

/// An object at one time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) value: u64,
}

/// What really happened.
#[derive(Default)]
pub(crate) struct Truth {
    /// What the informer should hold.
    objects: BTreeMap<String, State>,
    /// All states that there were.
    pub(crate) states: BTreeSet<State>,
    /// The uids of objects that were deleted, or are not followed any more.
    pub(crate) gone: BTreeSet<String>,
    /// Whether events came twice: an informer tells of each deletion that it hears of.
    pub(crate) duplicates: bool,
    version: u64,
    failures: Vec<String>,
}

/// What there was of that which makes a history worth something.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) relists: u64,
    pub(crate) tombstones: u64,
    /// Changes that were folded into others.
    pub(crate) coalesced: u64,
    /// How often the last plan of faults struck.
    pub(crate) struck: u64,
}

/// Counts lists.
#[derive(Default)]
struct Lists(AtomicU64);

pub(crate) struct World<'a> {
    history: &'a History,
    server: ApiServer,
    informer: Informer<DynamicObject>,
    truth: Arc<Mutex<Truth>>,
    handlers: Vec<Handler>,
    /// To give each object a uid and each state a value.
    writes: u64,
}

struct Handler {
    story: Story,
    source: Source,
}

enum Source {
    Registered(Registration),
    Task(JoinHandle<()>),
    Thread(Option<Thread<()>>),
}

impl World<'_> {
    pub(crate) async fn run(history: &History) -> Result<Tally, String> {
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let server = ApiServer::builder()
            .clock(clock)
            .randomness(Randomness::seeded(1))
            .event_window(history.window)
            .watch_buffer(history.buffer)
            .remember_requests(false)
            .build();
        define(&server);
        let lists = Arc::new(Lists::default());
        let informer = informer(&server, history, lists.clone());
        let mut world =
            World { history, server, informer, truth: Arc::default(), handlers: Vec::new(), writes: 0 };
        world.add(Listening::Calls);
        let (stop, stopped) = oneshot::channel::<()>();
        let runner = world.informer.clone();
        let running = tokio::spawn(async move { runner.run(async { drop(stopped.await) }).await });
        for step in &history.steps {
            world.step(step).await?;
        }
        world.server.heal();
        world.wait_until_right().await?;
        let coalesced = world.informer.coalesced();
        let struck = world.server.faults_struck().iter().map(|struck| struck.happened).sum();
        drop(stop);
        running.await.map_err(|error| error.to_string())?;
        let lists = lists.0.load(Ordering::Relaxed);
        let tombstones = world.check(lists)?;
        Ok(Tally { relists: lists - 1, tombstones, coalesced, struck })
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Write { object, write } => self.write(object, write),
            Step::Burst { writes, seed } => {
                let random = Randomness::seeded(seed);
                for _ in 0..writes {
                    let write = match random.below(8) {
                        0 => Write::Delete,
                        1 => Write::Recreate,
                        number => Write::Put { labelled: number > 3 },
                    };
                    self.write(random.below(8) as u8, write);
                }
            }
            Step::Compact => self.server.compact(),
            Step::Advance(writes) => self.server.advance(writes),
            Step::Wait(wait) => sleep(wait).await,
            Step::Break { seed, ref troubles } => {
                let duplicates = troubles.iter().any(|one| matches!(one.kind, history::Kind::Duplicate));
                self.truth.lock().unwrap().duplicates |= duplicates;
                self.server.set_faults(history::plan(seed, troubles));
            }
            Step::Heal => self.server.heal(),
            Step::Add(listening) => self.add(listening),
            // The first handler stays.
            Step::Remove(number) if self.handlers.len() > 1 => {
                let number = 1 + usize::from(number) % (self.handlers.len() - 1);
                self.remove(number);
            }
            Step::Remove(_) => {}
        }
        self.truth.lock().unwrap().see_version(&self.informer.last_sync_resource_version())?;
        Ok(())
    }

    fn write(&mut self, object: u8, write: Write) {
        // Two objects have one name, in two namespaces.
        let (namespace, name) = (format!("n{}", object % 2), format!("o{}", object / 2));
        let key = format!("{namespace}/{name}");
        let stored = self.server.stored(RESOURCE, &key);
        let uid = stored.as_ref().and_then(|stored| stored["metadata"]["uid"].as_str()).map(str::to_owned);
        let mut truth = self.truth.lock().unwrap();
        self.writes += 1;
        let labelled = match write {
            Write::Put { labelled } => labelled,
            Write::Recreate => true,
            Write::Delete => false,
        };
        let mut kept_uid = uid.clone();
        if !matches!(write, Write::Put { .. }) {
            self.server.delete(RESOURCE, &key);
            truth.objects.remove(&key);
            truth.gone.extend(uid);
            kept_uid = None;
        }
        if matches!(write, Write::Delete) {
            return;
        }
        let uid = kept_uid.unwrap_or_else(|| format!("uid-{}", self.writes));
        let labels = if labelled { json!({"followed": "yes"}) } else { json!({}) };
        let value = self.writes;
        self.server.put(
            RESOURCE,
            json!({
                "apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"value": value},
                "metadata": {"namespace": namespace, "name": name, "uid": uid, "labels": labels},
            }),
        );
        if self.history.selects && !labelled {
            if truth.objects.remove(&key).is_some() {
                truth.gone.insert(uid);
            }
            return;
        }
        let state = State { version: self.server.resource_version(), uid, value };
        truth.states.insert(state.clone());
        truth.objects.insert(key, state);
    }

    fn add(&mut self, listening: Listening) {
        let resyncs = !self.history.resync.is_zero();
        let story = Story::new(self.handlers.len(), listening, resyncs, self.truth.clone(), &self.informer);
        let heard = story.clone();
        let source = match listening {
            Listening::Calls => Source::Registered(self.informer.add_handler(heard).unwrap()),
            Listening::Filtered => {
                let handler =
                    FilteringHandler::new(|object: &DynamicObject| State::of(object).passes(), heard);
                Source::Registered(self.informer.add_handler(handler).unwrap())
            }
            Listening::Futures | Listening::Slowly(_) => {
                let takes = match listening {
                    Listening::Slowly(milliseconds) => Duration::from_millis(milliseconds),
                    _ => Duration::ZERO,
                };
                let handler = move |event: Event<DynamicObject>| {
                    heard.hear(&event);
                    async move {
                        if !takes.is_zero() {
                            sleep(takes).await;
                        }
                    }
                };
                Source::Registered(self.informer.add_async_handler(handler).unwrap())
            }
            Listening::Stream => {
                let mut events = self.informer.subscribe().unwrap();
                Source::Task(tokio::spawn(async move {
                    while let Some(event) = events.next().await {
                        heard.hear(&event);
                    }
                }))
            }
            Listening::Channel => {
                let events = self.informer.subscribe_channel(4).unwrap();
                Source::Thread(Some(std::thread::spawn(move || {
                    for event in events {
                        if heard.is_over() {
                            return;
                        }
                        heard.hear(&event);
                    }
                })))
            }
        };
        self.handlers.push(Handler { story, source });
    }

    fn remove(&self, number: usize) {
        let Handler { story, source } = &self.handlers[number];
        match source {
            Source::Registered(registration) => self.informer.remove_handler(registration),
            Source::Task(task) => task.abort(),
            Source::Thread(_) => {}
        }
        story.end();
    }

    async fn wait_until_right(&self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = self.compare() {
            if Instant::now() > deadline {
                return Err(format!("after {PATIENCE:?} without faults: {error}"));
            }
            sleep(Duration::from_secs(1)).await;
        }
        let deadline = Instant::now() + CALM;
        while Instant::now() < deadline {
            sleep(Duration::from_secs(10)).await;
            self.compare().map_err(|error| format!("after it was right: {error}"))?;
        }
        Ok(())
    }

    /// Compares the cache with the server.
    fn compare(&self) -> Result<(), String> {
        let mut truth = self.truth.lock().unwrap();
        let version = truth.see_version(&self.informer.last_sync_resource_version())?;
        let stored = self.stored();
        if stored != truth.objects {
            return Err(format!("at {version} the cache holds {stored:?}, the server {:?}", truth.objects));
        }
        Ok(())
    }

    /// Looks at all stories; how many tombstones were in them.
    fn check(mut self, lists: u64) -> Result<u64, String> {
        let mut tombstones = 0;
        self.compare()?;
        let stored = self.stored();
        for Handler { story, source } in &mut self.handlers {
            if let Source::Thread(thread) = source
                && !story.is_over()
            {
                thread.take().unwrap().join().map_err(|_| "a thread panicked".to_owned())?;
            }
            if story.is_over() {
                continue;
            }
            tombstones += story.check(&stored, lists)?;
            if let Source::Registered(registration) = source
                && !registration.has_synced()
            {
                return Err("a handler has not synced".into());
            }
        }
        match self.truth.lock().unwrap().failures.first() {
            Some(failure) => Err(failure.clone()),
            None => Ok(tombstones),
        }
    }

    fn stored(&self) -> BTreeMap<String, State> {
        let objects = self.informer.lister().store().list();
        objects.iter().map(|object| (object.key().unwrap().to_string(), State::of(object))).collect()
    }
}

impl Truth {
    /// Takes note of the version that the informer has come to, which never goes back.
    pub(crate) fn see_version(&mut self, version: &str) -> Result<u64, String> {
        let version = if version.is_empty() { 0 } else { version.parse().map_err(|_| version.to_owned())? };
        if version < self.version {
            return Err(format!("the version went back from {} to {version}", self.version));
        }
        self.version = version;
        Ok(version)
    }

    pub(crate) fn fail(&mut self, failure: String) {
        self.failures.push(failure);
    }
}

impl Metrics for Lists {
    fn listed(&self, _informer: &str, _objects: usize, _took: Duration) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn informer(server: &ApiServer, history: &History, lists: Arc<Lists>) -> Informer<DynamicObject> {
    let config = Config::new("http://in-process".parse().unwrap()).unwrap();
    let pipes = server.clone();
    let connector = move |_: &http::Uri| std::future::ready(pipes.try_connect());
    let client = Client::builder(config).connector(connector).build().unwrap();
    let initial_list = if history.streaming { InitialList::Streaming } else { InitialList::List };
    let mut builder = Informer::builder(Api::of_kind(client, WIDGETS, ""))
        .randomness(Randomness::seeded(1))
        .initial_list(initial_list)
        .page_size(history.page_size)
        .resync_period(history.resync)
        .metrics(lists);
    if history.selects {
        builder = builder.label_selector("followed=yes");
    }
    builder.build()
}

fn define(server: &ApiServer) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": RESOURCE},
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        },
    });
    server.define(definition).unwrap();
}

pub(crate) fn value(object: &DynamicObject) -> u64 {
    object.other["spec"]["value"].as_u64().unwrap()
}
