//! Adding and removing handlers, events, relists and the shutdown in any order of their steps, under a model checker.
//!
//! It decides at each lock which thread goes on. The store's own lock is never held for longer than one call, so it is no
//! point at which threads change.

use std::collections::BTreeMap;
use std::sync::Mutex as Plain;

use lariat_api::DynamicObject;
use lariat_client::{Client, Config};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Runner, future, thread};

use super::*;
use crate::cache::Change;
use crate::delivery::{Delivery, Event, Handler, Subscription};
use crate::handler::Deleted;
use crate::metrics::NoMetrics;
use crate::relist::Relist;
use crate::sync::modelled::within_model;

const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");

/// What a handler knows: versions by name.
type Known = BTreeMap<String, u32>;

/// SI-5, SI-7, SI-8, SI-17, Q-10, Q-20, Q-22: whoever comes, goes and stops when, nobody misses a change or hears it twice.
#[test]
fn no_interleaving_loses_or_doubles_a_change() {
    explore(RandomScheduler::new_from_seed(1, 1_500));
    explore(PctScheduler::new_from_seed(2, 3, 1_500));
}

fn explore(scheduler: impl Scheduler + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 19;
    within_model(|| {
        Runner::new(scheduler, config).run(model);
    });
}

fn model() {
    let informer = informer();
    let early = informer.subscribe().unwrap();
    let writer = thread::spawn({
        let informer = informer.clone();
        move || write(&informer)
    });
    let late = thread::spawn({
        let informer = informer.clone();
        move || informer.subscribe().ok().map(|events| future::block_on(hear_all(events)))
    });
    let leaving = thread::spawn({
        let informer = informer.clone();
        move || {
            // Dropped after two events, whatever is in its queue.
            let Ok(mut events) = informer.subscribe() else { return };
            let mut known = Known::new();
            for _ in 0..2 {
                if let Some(event) = future::block_on(events.next()) {
                    hear(&mut known, &event).unwrap();
                }
            }
        }
    });
    let removed = thread::spawn({
        let informer = informer.clone();
        move || call_and_shut_down(&informer)
    });
    let stopping = thread::spawn({
        let informer = informer.clone();
        move || {
            // Sometimes all is written before.
            let is_written = shuttle::rand::Rng::r#gen::<bool>(&mut shuttle::rand::thread_rng());
            if is_written {
                writer.join().unwrap();
            }
            drop(informer.0.stop());
            is_written
        }
    });
    let known = future::block_on(hear_all(early));
    if let Some(late) = late.join().unwrap() {
        assert_eq!(late, known, "both heard until the same end");
    }
    leaving.join().unwrap();
    removed.join().unwrap();
    if stopping.join().unwrap() {
        let objects = informer.0.cache.store().list();
        let stored = objects.iter().map(|object| (object.name().to_owned(), version(object)));
        assert_eq!(known, stored.collect());
    }
}

/// A list, changes, and a list that finds a deletion; the version never passes what is in the store.
fn write(informer: &Informer<DynamicObject>) {
    let cache = &informer.0.cache;
    let put = |name, version| {
        let fresh = cache.prepare(object(name, version)).unwrap();
        Change::Put { fresh, version_counts: true }
    };
    let list = |objects: &[(&str, u32)], version| {
        let mut relist = Relist::new(cache);
        for (name, version) in objects {
            relist.take(cache.prepare(object(name, *version)).unwrap(), cache);
        }
        cache.finish_relist(relist, version);
    };
    list(&[("a", 1), ("b", 2)], "2");
    cache.apply([put("a", 3)]);
    cache.apply([put("c", 4), Change::Delete(cache.prepare_deletion(object("b", 5)).unwrap())]);
    list(&[("a", 3), ("d", 6)], "7");
    cache.apply([put("d", 8)]);
}

/// A handler that is called, and not any more once it was shut down.
fn call_and_shut_down(informer: &Informer<DynamicObject>) {
    #[derive(Default)]
    struct Heard {
        known: Known,
        is_over: bool,
        failures: Vec<String>,
    }
    let heard: Arc<Plain<Heard>> = Arc::default();
    let handler = {
        let heard = heard.clone();
        let listen = move |event: &Event<DynamicObject>| {
            let mut heard = heard.lock().unwrap();
            let failure = if heard.is_over {
                Err("heard after the end".to_owned())
            } else {
                hear(&mut heard.known, event)
            };
            heard.failures.extend(failure.err());
        };
        crate::handler::HandlerFns::new()
            .on_add({
                let listen = listen.clone();
                move |object: &Arc<DynamicObject>, is_in_initial_list| {
                    listen(&Event::Added { object: object.clone(), is_in_initial_list });
                }
            })
            .on_update({
                let listen = listen.clone();
                move |old, new| listen(&Event::Updated { old: old.clone(), new: new.clone() })
            })
            .on_delete(move |deleted: &Deleted<DynamicObject>| listen(&Event::Deleted(deleted.clone())))
    };
    let mut tasks = informer.0.tasks();
    if matches!(tasks.state, State::Stopped) {
        return;
    }
    tasks.state = State::Running(JoinSet::new());
    let (registration, ends, listener) = informer.listener(&mut tasks, Duration::ZERO);
    let delivery = Delivery { ends, handler: Handler::Sync(Arc::new(handler)), metrics: Arc::new(NoMetrics) };
    let delivering = future::spawn(delivery.run());
    informer.listen(listener);
    drop(tasks);
    future::block_on(informer.shut_down_handler(&registration));
    heard.lock().unwrap().is_over = true;
    future::block_on(delivering).unwrap();
    assert_eq!(heard.lock().unwrap().failures, [""; 0]);
}

async fn hear_all(mut events: Subscription<DynamicObject>) -> Known {
    let mut known = Known::new();
    while let Some(event) = events.next().await {
        hear(&mut known, &event).unwrap();
    }
    known
}

fn hear(known: &mut Known, event: &Event<DynamicObject>) -> Result<(), String> {
    let (before, want) = match event {
        Event::Added { object, .. } => (known.insert(object.name().to_owned(), version(object)), None),
        Event::Updated { old, new } => {
            (known.insert(new.name().to_owned(), version(new)), Some(version(old)))
        }
        Event::Deleted(deleted) => {
            let before = known.remove(deleted.object().name());
            (before, before.or(Some(version(deleted.object()))))
        }
        Event::Synced => return Ok(()),
    };
    if before == want { Ok(()) } else { Err(format!("{event:?} after {before:?}")) }
}

fn informer() -> Informer<DynamicObject> {
    let config = Config::new("http://nowhere".parse().unwrap()).unwrap();
    let refuse =
        |_: &_| std::future::ready(Err::<tokio::io::DuplexStream, _>(std::io::ErrorKind::NotFound.into()));
    let client = Client::builder(config).connector(refuse).build().unwrap();
    Informer::builder(Api::of_kind(client, WIDGETS, "")).randomness(Randomness::seeded(1)).build()
}

fn object(name: &str, version: u32) -> DynamicObject {
    let mut object = DynamicObject::default();
    object.metadata.name = name.into();
    object.metadata.resource_version = version.to_string().into();
    object
}

fn version(object: &DynamicObject) -> u32 {
    object.resource_version().parse().unwrap()
}
