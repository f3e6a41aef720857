//! Kubernetes events: what a controller has to tell people about an object.

mod correlator;
mod event;
mod lru;

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use lariat_api::{Clock, Kind, ObjectKey, Randomness, Resource};
use lariat_client::{Api, Client, Error, Patch, PatchParams};
use tokio::sync::mpsc;
use tokio::time::sleep;

use self::correlator::{Action, Correlator, CorrelatorOptions, event_name};
pub use self::event::{EventType, ObjectReference};
use self::event::{Observed, Told, Written};
use crate::limits::{EVENT_ATTEMPTS, EVENT_QUEUE, EVENT_RETRY};
use crate::time::nanos;

const EVENTS: Kind = Kind::namespaced("", "v1", "Event", "events");

/// Tells people what happened to an object, by events that `kubectl describe` shows.
///
/// Nothing here waits or fails: an event is put into a queue of 1,000, and dropped if that is full. What is told again is
/// counted; what is similar is put together; and an object has at most 25 events of a type at once and then one each 5 minutes. A
/// [`Manager`](crate::Manager) sends them; what cannot be sent is logged.
///
/// # Example
///
/// ```
/// use lariat::prelude::*;
/// use lariat::{EventType, ObjectReference};
///
/// # fn run(context: &Context, node: &DynamicObject) {
/// let node = ObjectReference::of_kind(&Kind::cluster("", "v1", "Node", "nodes"), node);
/// context.events().event(node, EventType::Warning, "Smoking", "there is smoke coming out");
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    component: Arc<str>,
}

/// Where the events of all recorders go.
pub(crate) struct Broadcaster {
    shared: Arc<Shared>,
    client: Client,
    randomness: Randomness,
    /// Until it runs.
    told: Mutex<Option<mpsc::Receiver<Told>>>,
}

struct Shared {
    sender: mpsc::Sender<Told>,
    clock: Arc<dyn Clock>,
    dropped: AtomicU64,
    last_stamp: AtomicU64,
}

// === impl Recorder ===

impl Recorder {
    /// Something happened as it should.
    pub fn normal<K: Resource>(&self, object: &K, reason: impl Into<String>, message: impl Into<String>) {
        self.event(ObjectReference::of(object), EventType::Normal, reason, message);
    }

    /// Something happened that somebody should look at.
    pub fn warning<K: Resource>(&self, object: &K, reason: impl Into<String>, message: impl Into<String>) {
        self.event(ObjectReference::of(object), EventType::Warning, reason, message);
    }

    /// Something happened. The reason is one word in UpperCamelCase, for programs; the message is for people.
    pub fn event(
        &self,
        involved: ObjectReference,
        event_type: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        let at = self.shared.clock.wall();
        let stamp = self.shared.stamp(nanos(at));
        let told = Told {
            name: event_name(&involved.name, stamp),
            involved,
            event_type,
            reason: reason.into(),
            message: message.into(),
            component: self.component.to_string(),
            host: String::new(),
            at,
            stamp,
        };
        tracing::debug!(
            component = &*self.component, kind = told.involved.kind, namespace = told.involved.namespace,
            name = told.involved.name, %event_type, reason = told.reason, message = told.message, "event"
        );
        if self.shared.sender.try_send(told).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many events were dropped so far, by all recorders of the program, since too many waited to be sent.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Debug for Recorder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("component", &self.component).finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    /// The time in nanoseconds, or later if another event has it.
    fn stamp(&self, now: u64) -> u64 {
        let next = |last: u64| now.max(last.saturating_add(1));
        let before =
            self.last_stamp.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        // It never fails, since there always is a next one.
        next(before.unwrap_or_default())
    }
}

// === impl Broadcaster ===

impl Broadcaster {
    pub(crate) fn new(client: Client, clock: Arc<dyn Clock>, randomness: Randomness) -> Self {
        let (sender, told) = mpsc::channel(EVENT_QUEUE);
        let shared =
            Arc::new(Shared { sender, clock, dropped: AtomicU64::new(0), last_stamp: AtomicU64::new(0) });
        Self { shared, client, randomness, told: Mutex::new(Some(told)) }
    }

    pub(crate) fn recorder(&self, component: &str) -> Recorder {
        Recorder { shared: self.shared.clone(), component: component.into() }
    }

    /// Sends what recorders tell until it is to stop, and then what is left.
    pub(crate) async fn run(&self, stopped: impl Future<Output = ()>) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut told) = told else { return };
        let mut sender = Sender {
            api: Api::of_kind(self.client.clone(), EVENTS, ""),
            randomness: self.randomness.clone(),
            correlator: Correlator::new(CorrelatorOptions::default()),
        };
        let mut stopped = std::pin::pin!(stopped);
        loop {
            tokio::select! {
                biased;
                one = told.recv() => match one {
                    Some(one) => sender.send(one).await,
                    None => return,
                },
                () = &mut stopped => break,
            }
        }
        told.close();
        while let Some(one) = told.recv().await {
            sender.send(one).await;
        }
    }
}

struct Sender {
    api: Api<Written>,
    randomness: Randomness,
    correlator: Correlator,
}

impl Sender {
    async fn send(&mut self, told: Told) {
        let (event, is_known) = match self.correlator.correlate(told) {
            Action::Drop => return,
            Action::Create(event) => (event, false),
            Action::Patch(event) => (event, true),
        };
        for attempt in 1..=EVENT_ATTEMPTS {
            let error = match self.write(&event, is_known).await {
                Ok(()) => return,
                Err(error) => error,
            };
            let is_final = !matches!(error, Error::Transport { .. }) || attempt == EVENT_ATTEMPTS;
            let (kind, name) = (&event.told.involved.kind, &event.told.involved.name);
            if is_final {
                // Who deletes a namespace need not hear that its events are not wanted any more.
                tracing::warn!(kind, name, reason = event.told.reason, %error, "an event could not be sent");
                return;
            }
            tracing::debug!(kind, name, attempt, %error, "an event is sent again");
            // At first by chance, so that not all programs come back at once.
            let wait = if attempt == 1 { EVENT_RETRY.mul_f64(self.randomness.unit()) } else { EVENT_RETRY };
            sleep(wait).await;
        }
    }

    async fn write(&self, event: &Observed, is_known: bool) -> Result<(), Error> {
        if is_known {
            let key = ObjectKey::new(event.namespace(), &event.told.name);
            let patch = Patch::Strategic(event.change());
            match self.api.patch(&key, &patch, &PatchParams::default()).await {
                // It has been long, and servers forget events.
                Err(error) if error.is_not_found() => {}
                outcome => return outcome.map(drop),
            }
        }
        match self.api.create(&event.object()).await {
            Err(error) if error.is_already_exists() => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

impl Debug for Broadcaster {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcaster").finish_non_exhaustive()
    }
}
