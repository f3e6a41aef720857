use std::any::TypeId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use lariat_api::ObjectKey;
use lariat_leaderelection::Leading;
use lariat_reflector::{InformerFactory, Stopped};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::cache::{Cache, is_same_resource};
use super::ledger::Ledger;
use super::source::{Begun, Part};
use super::worker::{Desk, Handler};
use super::writes::Writes;
use super::{Common, ReadyController, Settings};
use crate::env::Env;
use crate::manager::{Stop, Term};

/// A controller whose informers are made.
pub(crate) struct Prepared {
    pub(crate) desk: Arc<Desk>,
    handler: Handler,
    pub(crate) needs_leadership: bool,
    pub(crate) warm_up: bool,
    env: Arc<Env>,
    caches: Arc<[Arc<dyn Cache>]>,
    parts: Vec<Part>,
    cache_sync_timeout: Duration,
    sources: Sources,
}

/// What fills a queue, until it is dropped.
#[derive(Default)]
struct Sources {
    tasks: JoinSet<()>,
    handlers: Vec<(lariat_reflector::Registration, Box<dyn FnOnce() + Send + Sync>)>,
}

/// Why a controller has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("{0}")]
    Stopped(#[from] Stopped),
    #[error("caches have not synced after {waited:?}: {}", .kinds.join(", "))]
    NotSynced { waited: Duration, kinds: Vec<String> },
}

impl Prepared {
    /// Makes the informers that a controller needs.
    pub(crate) fn new(controller: ReadyController, env: &Arc<Env>, factory: &InformerFactory) -> Self {
        let ReadyController { settings, own, handler } = controller;
        let Settings {
            name,
            kind: _,
            sources,
            workers,
            late,
            limiter,
            time_limit,
            own_writes,
            cache_sync_timeout,
            needs_leadership,
            warm_up,
        } = settings;
        let parts: Vec<Part> =
            std::iter::once(own).chain(sources).map(|source| source.attach(factory)).collect();
        let mut caches: Vec<Arc<dyn Cache>> = Vec::new();
        for cache in parts.iter().filter_map(|part| part.cache.as_ref()) {
            let key = |cache: &Arc<dyn Cache>| -> TypeId { cache.object_type() };
            if !caches
                .iter()
                .any(|known| key(known) == key(cache) && is_same_resource(known.kind(), cache.kind()))
            {
                caches.push(cache.clone());
            }
        }
        env.remember(&caches);
        if let Some(limiter) = limiter {
            late.limiter.set(limiter);
        }
        late.metrics.tell(&name, env.metrics.queues());
        let desk = Desk {
            queue: late.trigger.0,
            ledger: Ledger::default(),
            writes: Arc::new(Writes::new(own_writes)),
            metrics: env.metrics.controller(&name),
            workers,
            time_limit,
            runs: AtomicU64::new(0),
            name,
        };
        let (desk, handler) = (Arc::new(desk), handler(&caches));
        env.employ(&desk);
        Self {
            desk,
            handler,
            needs_leadership,
            warm_up,
            env: env.clone(),
            caches: caches.into(),
            parts,
            cache_sync_timeout,
            sources: Sources::default(),
        }
    }

    /// Begins to fill the queue, unless that has happened, and waits until all that there is, is in it.
    pub(crate) async fn begin(&mut self) -> Result<(), RunError> {
        for part in self.parts.drain(..) {
            let Some(begin) = part.begin else { continue };
            match begin(self.desk.queue.clone())? {
                Begun::Handler { registration, remove } => self.sources.handlers.push((registration, remove)),
                Begun::Task(task) => drop(self.sources.tasks.spawn(task)),
            }
        }
        let synced = async {
            for cache in self.caches.iter() {
                cache.synced().await;
            }
            for (registration, _) in &self.sources.handlers {
                registration.wait_for_sync().await;
            }
        };
        let waited = self.cache_sync_timeout;
        if timeout(waited, synced).await.is_ok() {
            return Ok(());
        }
        let kinds = self.caches.iter().filter_map(|cache| cache.trouble()).collect();
        Err(RunError::NotSynced { waited, kinds })
    }

    /// Works until it is to stop, and then until what has begun is done.
    pub(crate) async fn run(mut self, term: Option<Term>, stop: Stop) -> Result<(), RunError> {
        tokio::select! {
            biased;
            () = stop.stopped() => return Ok(()),
            begun = self.begin() => begun?,
        }
        let client = self.env.client_of(&self.desk.name);
        let client = match term.as_ref().and_then(Term::token::<Leading>) {
            Some(leading) => client.fenced(Arc::new(leading.clone())),
            None => client,
        };
        let common = Arc::new(Common {
            name: self.desk.name.clone(),
            client,
            caches: self.caches.clone(),
            writes: self.desk.writes.clone(),
            recorder: self.env.recorder(&self.desk.name),
            clock: self.env.clock.clone(),
            trigger: super::Trigger(self.desk.queue.clone()),
            term,
            stop: stop.clone(),
        });
        tracing::info!(controller = &*self.desk.name, workers = self.desk.workers, "started");
        let work = self.desk.work(common, self.handler.clone());
        let stopping = async {
            stop.stopped().await;
            self.desk.queue.shut_down();
        };
        tokio::join!(work, stopping);
        tracing::info!(controller = &*self.desk.name, "stopped");
        Ok(())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Whatever happens, nobody adds to a queue that nobody takes from, and no worker waits for it.
        self.desk.queue.shut_down();
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        for (_, remove) in self.handlers.drain(..) {
            remove();
        }
    }
}

/// What a controller did not handle, once it is dropped.
pub(crate) async fn left(desk: &Desk) -> BTreeSet<ObjectKey> {
    // It is shut down, so this does not wait.
    while let Some(item) = desk.queue.get().await {
        desk.ledger.leave(&item);
    }
    desk.ledger.take_left()
}
