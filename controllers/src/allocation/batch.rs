//! Those who ask at about the same time are answered together (AL-6).

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat::api::{Clock, Randomness};
use lariat::client::Error;
use lariat::prelude::*;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::find::{before, find, sort};
use super::{ActionErrors, apply};
use crate::events::Recorder;
use crate::gameservers::order::NodeCounts;
use crate::gameservers::{PerNodeCounter, Writes};
use crate::gates::FeatureGates;
use crate::time::rfc3339;
use crate::types::{AllocationSpec, GameServer, GameServerState};

/// One who asks.
pub(super) struct Asked {
    pub(super) spec: AllocationSpec,
    pub(super) namespace: String,
    pub(super) reply: oneshot::Sender<Outcome>,
}

/// What became of who asked.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// The server as it was written.
    Given(Arc<GameServer>),
    /// There is none.
    Nothing,
    /// Somebody else was quicker, or is about to be.
    Contention,
    /// A request failed.
    Failed(Arc<Error>),
}

/// The work of an [`Allocator`](super::Allocator).
pub struct Batches {
    asked: mpsc::Receiver<Asked>,
    pool: Arc<Pool>,
    wait: Duration,
}

/// How many are answered together before servers are listed anew.
const BATCH: usize = 100;

/// How many servers are written at once.
const WRITES: usize = 100;

/// The servers that can be given.
pub(super) struct Pool {
    servers: Arc<Writes<GameServer>>,
    counts: PerNodeCounter,
    gates: FeatureGates,
    events: Recorder,
    randomness: Randomness,
    clock: Arc<dyn Clock>,
    out: Mutex<Out>,
}

/// Servers that are not to be given, by uid.
#[derive(Default)]
struct Out {
    /// Those that are being written, as they will be.
    busy: BTreeMap<String, Arc<GameServer>>,
    /// Those of which the cache has a version that is not the newest.
    stale: BTreeMap<String, String>,
}

/// Those who are answered together.
struct Batch {
    /// The servers as those before have left them, in the order in which they are given.
    servers: Vec<Arc<GameServer>>,
    counts: NodeCounts,
    /// Whose order that is.
    order: AllocationSpec,
    given: BTreeMap<String, Vec<Taker>>,
    size: usize,
}

/// Who is given a server, and what could not be done to it.
struct Taker {
    reply: oneshot::Sender<Outcome>,
    failed: ActionErrors,
}

impl Batches {
    pub(super) fn new(asked: mpsc::Receiver<Asked>, pool: Pool, wait: Duration) -> Self {
        Self { asked, pool: Arc::new(pool), wait }
    }

    /// Answers until `shutdown` is ready or there is no [`Allocator`](super::Allocator) any more. Who is being given a server then is
    /// still told; all others hear that the allocator has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves it open whether servers that are being written were given.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut writes = JoinSet::new();
        loop {
            let first = tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = writes.join_next() => continue,
                asked = self.asked.recv() => asked,
            };
            let Some(first) = first else { break };
            self.answer_all(first, &mut writes).await;
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = tokio::time::sleep(self.wait) => {}
            }
        }
        drop(self.asked);
        while writes.join_next().await.is_some() {}
    }

    /// Answers who waits, and who comes meanwhile.
    async fn answer_all(&mut self, first: Asked, writes: &mut JoinSet<()>) {
        let mut batch = self.pool.batch(&first.spec);
        let mut next = Some(first);
        while let Some(asked) = next {
            if batch.size == BATCH {
                self.write(&mut batch, writes).await;
                batch = self.pool.batch(&asked.spec);
            }
            self.pool.give(&mut batch, asked);
            next = self.asked.try_recv().ok();
        }
        self.write(&mut batch, writes).await;
    }

    async fn write(&self, batch: &mut Batch, writes: &mut JoinSet<()>) {
        for server in &batch.servers {
            let Some(takers) = batch.given.remove(server.uid()) else { continue };
            while writes.len() >= WRITES {
                writes.join_next().await;
            }
            self.pool.out().busy.insert(server.uid().to_owned(), server.clone());
            let (pool, server) = (self.pool.clone(), server.clone());
            writes.spawn(async move { pool.write(&server, takers).await });
        }
    }
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("wait", &self.wait).finish_non_exhaustive()
    }
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(
        servers: Arc<Writes<GameServer>>,
        counts: PerNodeCounter,
        gates: FeatureGates,
        events: Recorder,
        randomness: Randomness,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { servers, counts, gates, events, randomness, clock, out: Mutex::default() }
    }

    /// Lists what can be given, in the order that the first who asks wants.
    fn batch(&self, order: &AllocationSpec) -> Batch {
        let mut out = self.out();
        // What the watch has brought since is newest as far as anybody knows.
        let known = |uid: &str, at: &str, servers: &[Arc<GameServer>]| {
            servers.iter().any(|server| server.uid() == uid && server.metadata.resource_version == at)
        };
        let mut servers = self.servers.list();
        out.stale.retain(|uid, at| known(uid, at, &servers));
        servers.retain(|server| {
            matches!(server.status.state, GameServerState::Ready | GameServerState::Allocated)
                && !server.is_being_deleted()
                && !out.busy.contains_key(server.uid())
                && !out.stale.contains_key(server.uid())
        });
        drop(out);
        let counts = self.counts.counts();
        sort(&mut servers, order, &counts, self.gates);
        Batch { servers, counts, order: order.clone(), given: BTreeMap::new(), size: 0 }
    }

    /// Gives one who asks a server, which is written later, or says that there is none.
    fn give(&self, batch: &mut Batch, asked: Asked) {
        let Asked { spec, namespace, reply } = asked;
        // Who has gone away takes no server with him.
        if reply.is_closed() {
            return;
        }
        batch.size += 1;
        if (&spec.scheduling, &spec.priorities) != (&batch.order.scheduling, &batch.order.priorities) {
            sort(&mut batch.servers, &spec, &batch.counts, self.gates);
            batch.order = spec.clone();
        }
        let found = find(&batch.servers, &spec, &namespace, self.gates, &self.randomness);
        let Some(place) =
            found.and_then(|found| batch.servers.iter().position(|one| Arc::ptr_eq(one, found)))
        else {
            let out = self.out();
            let busy: Vec<Arc<GameServer>> = out.busy.values().cloned().collect();
            let is_coming = find(&busy, &spec, &namespace, self.gates, &self.randomness).is_some();
            // Who has gone away meanwhile need not hear it.
            drop(reply.send(if is_coming { Outcome::Contention } else { Outcome::Nothing }));
            return;
        };
        let chosen = batch.servers.remove(place);
        let (given, failed) = apply(&chosen, &spec, &rfc3339(self.clock.wall()), self.gates);
        let given = Arc::new(given);
        batch.given.entry(given.uid().to_owned()).or_default().push(Taker { reply, failed });
        // Others who can do with a server that has players may share it (issue 3992).
        let is_after = |other: &Arc<GameServer>| before(&given, other, &spec, &batch.counts, self.gates);
        let place = batch.servers.iter().position(is_after).unwrap_or(batch.servers.len());
        batch.servers.insert(place, given);
    }

    /// Writes a server that was given, and tells those who share it.
    async fn write(&self, given: &GameServer, takers: Vec<Taker>) {
        let result = self.servers.update(given).await;
        self.out().busy.remove(given.uid());
        let outcome = match result {
            Ok(written) => {
                for taker in &takers {
                    for (_, error) in &taker.failed.counters {
                        self.events.warning(&*written, "CounterActionError", error.to_string());
                    }
                    for (_, error) in &taker.failed.lists {
                        self.events.warning(&*written, "ListActionError", error.to_string());
                    }
                }
                self.events.normal(&*written, "Allocated", "Allocated");
                Outcome::Given(written)
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {
                let at = given.metadata.resource_version.to_string();
                self.out().stale.insert(given.uid().to_owned(), at);
                Outcome::Contention
            }
            Err(error) => Outcome::Failed(Arc::new(error)),
        };
        for taker in takers {
            // Who has gone away meanwhile is not told.
            drop(taker.reply.send(outcome.clone()));
        }
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
