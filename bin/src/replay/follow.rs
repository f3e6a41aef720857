//! Runs informers and the autoscaler against a replay server and counts what they see.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use lariat::api::Randomness;
use lariat::prelude::*;
use lariat_controllers::fleetautoscalers::{Decision, FleetAutoscalers};
use lariat_controllers::types::{Fleet, FleetAutoscaler};
use lariat_fixtures::{Pace, Recording, ReplayServer, RequestKind, Target};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::report::{Followed, Report};

/// How long after the last recorded moment everything has come to rest.
const SETTLE: Duration = Duration::from_secs(1);

/// The seed of all jitter, so that two replays are the same.
const SEED: u64 = 1;

pub(super) async fn follow(recording: &Recording, name: String) -> anyhow::Result<Report> {
    let kinds = recorded_kinds(recording);
    if kinds.is_empty() {
        bail!("recording {name} holds no list to begin from");
    }
    let server = ReplayServer::new(recording.clone(), Pace::Recorded);
    let client = server.client()?;
    let (stop, stopped) = watch::channel(false);
    let mut running = JoinSet::new();
    let mut followed: Vec<Box<dyn Follow>> = Vec::new();
    let (mut fleets, mut autoscalers) = (None, None);
    for kind in kinds {
        if same_resource(&kind, &Fleet::KIND) {
            fleets = Some(start(&client, kind, &stopped, &mut running, &mut followed)?);
        } else if same_resource(&kind, &FleetAutoscaler::KIND) {
            autoscalers = Some(start(&client, kind, &stopped, &mut running, &mut followed)?);
        } else {
            start::<DynamicObject>(&client, kind, &stopped, &mut running, &mut followed)?;
        }
    }

    let decisions = Arc::new(Mutex::new(Vec::<Decision>::new()));
    if let (Some(fleets), Some(autoscalers)) = (fleets, autoscalers) {
        let seen = decisions.clone();
        let controller = FleetAutoscalers::new(client, fleets, autoscalers)?.observe(move |decision| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let last = seen.iter().rfind(|earlier| earlier.autoscaler == decision.autoscaler);
            // An autoscaler looks at its fleet all the time; what is decided is what is new.
            if last != Some(decision) {
                seen.push(decision.clone());
            }
        });
        running.spawn(controller.run(is_set(stopped.clone())));
    }

    sleep(recording.duration() + SETTLE).await;
    stop.send_replace(true);
    while let Some(ended) = running.join_next().await {
        ended?;
    }
    let decisions = std::mem::take(&mut *decisions.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Report {
        recording: name,
        duration: recording.duration(),
        resources: followed.iter().map(|follow| follow.followed()).collect(),
        decisions,
    })
}

/// The kinds of which the recording has a list, in the order in which they were listed first.
fn recorded_kinds(recording: &Recording) -> Vec<Kind> {
    #[derive(Deserialize)]
    struct List {
        kind: String,
    }

    let mut kinds: Vec<Kind> = Vec::new();
    for exchange in recording.exchanges.iter().filter(|exchange| exchange.status == Some(200)) {
        let Some(target) = Target::parse(&exchange.request.method, &exchange.request.target) else {
            continue;
        };
        let resource = target.resource;
        let known = kinds.iter().any(|kind| kind.to_string() == resource.to_string());
        if target.kind != RequestKind::List || known {
            continue;
        }
        // The name of the kind is for people only; without it, that of the resource serves.
        let list = serde_json::from_slice::<List>(&exchange.body()).map(|list| list.kind).unwrap_or_default();
        let kind = list.strip_suffix("List").unwrap_or(&resource.plural).to_owned();
        kinds.push(Kind::new(resource.group, resource.version, kind, resource.plural, true));
    }
    kinds
}

fn same_resource(a: &Kind, b: &Kind) -> bool {
    (a.group(), a.version(), a.plural()) == (b.group(), b.version(), b.plural())
}

/// Starts an informer that counts, and returns it for those who want more of it.
fn start<K: Object + DeserializeOwned>(
    client: &Client,
    kind: Kind,
    stopped: &watch::Receiver<bool>,
    running: &mut JoinSet<()>,
    followed: &mut Vec<Box<dyn Follow>>,
) -> anyhow::Result<Informer<K>> {
    let api = Api::of_kind(client.clone(), kind, "");
    // As it was recorded.
    let informer =
        Informer::builder(api).initial_list(InitialList::List).randomness(Randomness::seeded(SEED)).build();
    let counts = Arc::new(Counts::default());
    informer.add_handler(Counter(counts.clone()))?;
    let (runner, stopped) = (informer.clone(), stopped.clone());
    running.spawn(async move { runner.run(is_set(stopped)).await });
    followed.push(Box::new((informer.clone(), counts)));
    Ok(informer)
}

/// An informer of whatever type, when all is over.
trait Follow {
    fn followed(&self) -> Followed;
}

impl<K: Object + DeserializeOwned> Follow for (Informer<K>, Arc<Counts>) {
    fn followed(&self) -> Followed {
        let (informer, counts) = self;
        let objects = informer.lister().store().list();
        Followed {
            name: informer.kind().to_string(),
            added: counts.added.load(Ordering::Relaxed),
            updated: counts.updated.load(Ordering::Relaxed),
            deleted: counts.deleted.load(Ordering::Relaxed),
            objects: objects
                .iter()
                .filter_map(|object| {
                    Some((object.key().ok()?.to_string(), object.resource_version().to_owned()))
                })
                .collect(),
            resource_version: informer.last_sync_resource_version(),
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    added: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

struct Counter(Arc<Counts>);

impl<K: Object> EventHandler<K> for Counter {
    fn on_add(&self, _object: &Arc<K>, _is_in_initial_list: bool) {
        self.0.added.fetch_add(1, Ordering::Relaxed);
    }

    fn on_update(&self, _old: &Arc<K>, _new: &Arc<K>) {
        self.0.updated.fetch_add(1, Ordering::Relaxed);
    }

    fn on_delete(&self, _deleted: &Deleted<K>) {
        self.0.deleted.fetch_add(1, Ordering::Relaxed);
    }
}

async fn is_set(mut flag: watch::Receiver<bool>) {
    // An error means that nobody is left to set it, and so that the replay is over.
    let _ = flag.wait_for(|set| *set).await;
}
