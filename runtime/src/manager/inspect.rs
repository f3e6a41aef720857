use lariat_api::ObjectKey;
use lariat_workqueue::Queue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Shared;
use crate::controller::ledger::Stage;
use crate::controller::worker::Desk;
use crate::limits::SHOWN_KEYS;

impl Shared {
    /// What goes on inside, for people.
    pub(super) fn state_of_all(&self) -> Value {
        let (stage, leads, names) = {
            let state = self.state();
            (format!("{:?}", state.stage).to_lowercase(), state.leads, state.names.clone())
        };
        let desks = self.env.desks();
        let now = Instant::now();
        json!({
            "stage": stage,
            "leads": leads,
            "components": names,
            "queues": self.env.queues().iter().map(queue).collect::<Vec<_>>(),
            "controllers": desks.iter().map(|desk| state_of(desk, now)).collect::<Vec<_>>(),
            "informers": self.env.caches(),
        })
    }
}

fn queue(queue: &Queue<ObjectKey>) -> Value {
    let stuck = queue.stuck().into_iter().take(SHOWN_KEYS);
    json!({
        "name": queue.name(),
        "length": queue.len(),
        "shuttingDown": queue.is_shutting_down(),
        "longestRunningSeconds": queue.longest_running().as_secs_f64(),
        "stuck": stuck
            .map(|(key, since)| json!({"key": key.as_str(), "seconds": since.as_secs_f64()}))
            .collect::<Vec<_>>(),
    })
}

fn state_of(desk: &Desk, now: Instant) -> Value {
    let worker = |held: Option<(ObjectKey, Instant)>| match held {
        None => Value::Null,
        Some((key, since)) => {
            json!({"key": key.as_str(), "seconds": now.saturating_duration_since(since).as_secs_f64()})
        }
    };
    let pending: Vec<Value> = desk
        .ledger
        .pending(SHOWN_KEYS)
        .into_iter()
        .map(|(key, pending)| {
            json!({
                "key": key.as_str(),
                "waitsForOwnWrites": pending.stage == Stage::Waiting,
                "failures": pending.failures,
                "lastError": pending.last_error,
            })
        })
        .collect();
    json!({
        "name": &*desk.name,
        "queue": {"length": desk.queue.len(), "shuttingDown": desk.queue.is_shutting_down()},
        "workers": desk.ledger.workers().into_iter().map(worker).collect::<Vec<_>>(),
        "pending": pending,
        "pendingTotal": desk.ledger.len(),
        "keysWithOwnWrites": desk.writes.len(),
    })
}
