use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_api::{Clock, ObjectKey, Randomness};
use lariat_client::Client;
use lariat_workqueue::Queue;

use crate::controller::cache::{Cache, CacheState, is_same_resource};
use crate::controller::worker::Desk;
use crate::events::{Broadcaster, Recorder};
use crate::metrics::{Asked, Metrics};

/// What all controllers of a program share.
pub(crate) struct Env {
    pub(crate) client: Client,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) broadcaster: Broadcaster,
    /// Those that somebody uses.
    caches: Mutex<Vec<Arc<dyn Cache>>>,
    /// Of all controllers that were prepared, the last one of each name.
    desks: Mutex<Vec<Arc<Desk>>>,
    /// Those that no controller has.
    queues: Mutex<Vec<Queue<ObjectKey>>>,
}

impl Env {
    pub(crate) fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        randomness: Randomness,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let broadcaster = Broadcaster::new(client.clone(), clock.clone(), randomness);
        let env = Arc::new(Self {
            client,
            clock,
            metrics,
            broadcaster,
            caches: Mutex::default(),
            desks: Mutex::default(),
            queues: Mutex::default(),
        });
        let (of_queues, of_caches) = (Arc::downgrade(&env), Arc::downgrade(&env));
        env.metrics.ask(Asked {
            queues: Box::new(move || {
                let Some(env) = of_queues.upgrade() else { return Vec::new() };
                let mut queues = env.queues();
                queues.extend(env.desks().iter().map(|desk| desk.queue.clone()));
                queues
            }),
            caches: Box::new(move || of_caches.upgrade().map(|env| env.caches()).unwrap_or_default()),
        });
        env
    }

    /// The client of a controller, which says so in its requests.
    pub(crate) fn client_of(&self, controller: &str) -> Client {
        let user_agent = format!("{} {controller}", self.client.user_agent());
        // A name that no header can carry is left out.
        self.client.with_user_agent(&user_agent).unwrap_or_else(|_| self.client.clone())
    }

    pub(crate) fn recorder(&self, controller: &str) -> Recorder {
        self.broadcaster.recorder(controller)
    }

    pub(crate) fn remember(&self, new: &[Arc<dyn Cache>]) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        for cache in new {
            // One that was made anew takes the place of the former one.
            caches.retain(|known| {
                known.object_type() != cache.object_type() || !is_same_resource(known.kind(), cache.kind())
            });
            caches.push(cache.clone());
        }
    }

    pub(crate) fn employ(&self, desk: &Arc<Desk>) {
        let mut desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        desks.retain(|known| known.name != desk.name);
        desks.push(desk.clone());
    }

    pub(crate) fn desks(&self) -> Vec<Arc<Desk>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn show_queue(&self, queue: &Queue<ObjectKey>) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).push(queue.clone());
    }

    pub(crate) fn queues(&self) -> Vec<Queue<ObjectKey>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn forget(&self, kind: &lariat_api::Kind) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.retain(|cache| !is_same_resource(cache.kind(), kind));
    }

    pub(crate) fn caches(&self) -> Vec<CacheState> {
        let caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let inspect = |cache: &Arc<dyn Cache>| {
            let mut state = cache.inspect();
            state.silent_seconds = self.metrics.silence_of(&state.name).map(|silence| silence.as_secs_f64());
            state
        };
        caches.iter().map(inspect).collect()
    }
}

impl Debug for Env {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("client", &self.client).finish_non_exhaustive()
    }
}
