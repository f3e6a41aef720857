use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use lariat::api::{Clock, DynamicObject, Kind};
use lariat::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::fold::{Folded, Folder, GATHER};
use super::record::{EventRecord, EventType, Recorder};

const EVENTS: Kind = Kind::namespaced("", "v1", "Event", "events");

/// How many records may wait to be written. More are dropped: Events are for reading, and never hold up work.
const WAITING: usize = 10_000;

/// Writes Events to an API server.
pub struct EventWriter {
    records: mpsc::Receiver<EventRecord>,
    api: Api<DynamicObject>,
    clock: Arc<dyn Clock>,
    number: AtomicU64,
}

impl EventWriter {
    /// A writer, and a recorder that hands over to it.
    pub fn new(client: Client, component: &'static str, clock: Arc<dyn Clock>) -> (Self, Recorder) {
        let (sender, records) = mpsc::channel(WAITING);
        let recorder = Recorder::new(component, move |record| {
            if sender.try_send(record).is_err() {
                tracing::debug!("an event was dropped: too many wait to be written");
            }
        });
        let api = Api::of_kind(client, EVENTS, "");
        (Self { records, api, clock, number: AtomicU64::new(0) }, recorder)
    }

    /// Writes until `shutdown` is ready, and then what is left.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses what was not written.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut folder = Folder::new(Instant::now());
        let mut ticks = interval(GATHER);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                _ = ticks.tick() => {
                    for folded in folder.flush() {
                        self.write(folded).await;
                    }
                }
                record = self.records.recv() => {
                    let Some(record) = record else { break };
                    if let Some(single) = folder.take(record, Instant::now(), self.clock.wall()) {
                        self.write(single).await;
                    }
                }
            }
        }
        while let Ok(record) = self.records.try_recv() {
            if let Some(single) = folder.take(record, Instant::now(), self.clock.wall()) {
                self.write(single).await;
            }
        }
        for folded in folder.flush() {
            self.write(folded).await;
        }
    }

    async fn write(&self, folded: Folded) {
        let Folded { record, count, first, last } = folded;
        let regarding = &record.regarding;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let nanos = last.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let namespace = if regarding.namespace.is_empty() { "default" } else { &regarding.namespace };
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("{}.{nanos:x}{number:x}", regarding.name), "namespace": namespace},
            "involvedObject": {
                "apiVersion": regarding.api_version, "kind": regarding.kind, "namespace": regarding.namespace,
                "name": regarding.name, "uid": regarding.uid, "resourceVersion": regarding.resource_version,
            },
            "type": match record.kind { EventType::Normal => "Normal", EventType::Warning => "Warning" },
            "reason": record.reason, "message": record.message, "count": count,
            "firstTimestamp": crate::time::rfc3339(first), "lastTimestamp": crate::time::rfc3339(last),
            "source": {"component": record.component}, "reportingComponent": record.component, "reportingInstance": "",
        });
        let written = match serde_json::from_value::<DynamicObject>(event) {
            Ok(event) => self.api.create(&event).await.map(drop).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = written {
            tracing::debug!(%error, object = %record.regarding.name, "an event was not written");
        }
    }
}

impl std::fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventWriter").field("api", &self.api).finish_non_exhaustive()
    }
}
