//! A Lease in memory, with faults, and clocks of one's own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http::Method;
use lariat_api::Status;
use lariat_client::Error;
use serde_json::{Value, json};

use crate::coordination::LeaseCandidate;
use crate::lease::Lease;
use crate::lock::Lock;
use crate::time::{Sleep, Time};

/// The Lease, and what was asked of it.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Lease>,
    version: u64,
    candidates: BTreeMap<String, LeaseCandidate>,
    /// The next call of a verb fails in this way.
    faults: Vec<(String, String)>,
    windows: Vec<Window>,
    latency: Duration,
    start: Option<tokio::time::Instant>,
    calls: Vec<Value>,
}

/// Calls of a verb that start within it fail.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) verb: String,
    pub(super) error: String,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// A call that has yet to end.
struct Call {
    server: Server,
    verb: &'static str,
    ms: Option<u64>,
    result: &'static str,
}

impl Server {
    pub(super) fn new() -> Self {
        let server = Self::default();
        server.0.lock().unwrap().version = 10;
        server
    }

    pub(super) fn timed(latency: Duration, windows: Vec<Window>) -> Self {
        let server = Self::new();
        {
            let mut state = server.0.lock().unwrap();
            (state.latency, state.windows, state.version) = (latency, windows, 5);
            state.start = Some(tokio::time::Instant::now());
        }
        server
    }

    /// Somebody writes the Lease without asking.
    pub(super) fn overwrite(&self, spec: &Value) {
        let mut state = self.0.lock().unwrap();
        let lease = json!({"metadata": {"name": "lock", "namespace": "default"}, "spec": spec});
        state.put(serde_json::from_value(lease).unwrap());
    }

    pub(super) fn steal(&self, holder: &str) {
        let mut state = self.0.lock().unwrap();
        let mut lease = state.lease.clone().unwrap();
        lease.spec.holder_identity = Some(holder.to_owned());
        state.put(lease);
    }

    /// Lets the server write something into a LeaseCandidate.
    pub(super) fn with_candidate<T>(&self, name: &str, run: impl FnOnce(&mut LeaseCandidate) -> T) -> T {
        run(self.0.lock().unwrap().candidates.get_mut(name).unwrap())
    }

    pub(super) fn delete(&self) {
        self.0.lock().unwrap().lease = None;
    }

    pub(super) fn fail(&self, faults: &Value) {
        let faults = faults.as_array().map_or(&[][..], Vec::as_slice);
        let of = |fault: &Value, field| fault[field].as_str().unwrap().to_owned();
        self.0.lock().unwrap().faults =
            faults.iter().map(|fault| (of(fault, "verb"), of(fault, "err"))).collect();
    }

    pub(super) fn take_calls(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap().calls)
    }

    /// The Lease as the vectors show it.
    pub(super) fn shown(&self) -> Value {
        match &self.0.lock().unwrap().lease {
            None => Value::Null,
            Some(lease) => {
                let mut shown = json!({
                    "resourceVersion": lease.metadata.resource_version,
                    "spec": serde_json::to_value(&lease.spec).unwrap(),
                });
                if !lease.metadata.labels.is_empty() {
                    shown["labels"] = json!(&*lease.metadata.labels);
                }
                shown
            }
        }
    }

    async fn call(
        &self,
        verb: &'static str,
        run: impl FnOnce(&mut State) -> Result<Lease, &'static str>,
    ) -> Result<Lease, Error> {
        let (latency, start) = {
            let state = self.0.lock().unwrap();
            (state.latency, state.start)
        };
        let ms = start.map(|start| u64::try_from(start.elapsed().as_millis()).unwrap());
        let mut call = Call { server: self.clone(), verb, ms, result: "contextDone" };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let outcome = {
            let mut state = self.0.lock().unwrap();
            match state.fault(verb, ms) {
                Some(fault) => Err(fault),
                None => run(&mut state),
            }
        };
        call.result = *outcome.as_ref().err().unwrap_or(&"ok");
        outcome.map_err(error)
    }
}

impl State {
    fn put(&mut self, mut lease: Lease) -> Lease {
        self.version += 1;
        lease.metadata.resource_version = self.version.to_string().into();
        self.lease = Some(lease.clone());
        lease
    }

    fn fault(&mut self, verb: &str, ms: Option<u64>) -> Option<&'static str> {
        let in_window = |window: &&Window| {
            window.verb == verb && ms.is_some_and(|ms| window.from <= ms && ms < window.to)
        };
        if let Some(window) = self.windows.iter().find(in_window) {
            return Some(known(&window.error));
        }
        let at = self.faults.iter().position(|(faulty, _)| faulty == verb)?;
        Some(known(&self.faults.remove(at).1))
    }
}

fn known(error: &str) -> &'static str {
    ["notFound", "alreadyExists", "conflict", "forbidden", "internal", "timeout", "network"]
        .into_iter()
        .find(|known| *known == error)
        .unwrap_or_else(|| panic!("unknown fault {error}"))
}

fn error(fault: &'static str) -> Error {
    let (code, reason) = match fault {
        "notFound" => (404, "NotFound"),
        "alreadyExists" => (409, "AlreadyExists"),
        "conflict" => (409, "Conflict"),
        "forbidden" => (403, "Forbidden"),
        "timeout" => (504, "Timeout"),
        _ => (500, "InternalError"),
    };
    let status = Status { code, reason_text: reason.into(), ..Status::default() };
    Error::Status { method: Method::GET, target: "/lease".to_owned(), status: Box::new(status) }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut call = json!({"verb": self.verb, "result": self.result});
        if let Some(ms) = self.ms {
            call["ms"] = ms.into();
        }
        self.server.0.lock().unwrap().calls.push(call);
    }
}

impl Lock for Server {
    async fn get(&self) -> Result<Lease, Error> {
        self.call("get", |state| state.lease.clone().ok_or("notFound")).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, Error> {
        let lease = lease.clone();
        self.call(
            "create",
            |state| if state.lease.is_some() { Err("alreadyExists") } else { Ok(state.put(lease)) },
        )
        .await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, Error> {
        let lease = lease.clone();
        self.call("update", |state| match &state.lease {
            None => Err("notFound"),
            Some(kept) if kept.metadata.resource_version != lease.metadata.resource_version => {
                Err("conflict")
            }
            Some(_) => Ok(state.put(lease)),
        })
        .await
    }

    async fn candidate(&self, name: &str) -> Result<LeaseCandidate, Error> {
        self.0.lock().unwrap().candidates.get(name).cloned().ok_or_else(|| error("notFound"))
    }

    async fn announce(&self, candidate: &LeaseCandidate) -> Result<LeaseCandidate, Error> {
        let mut candidate = candidate.clone();
        let mut state = self.0.lock().unwrap();
        state.version += 1;
        candidate.metadata.resource_version = state.version.to_string().into();
        state.candidates.insert(candidate.metadata.name.to_string(), candidate.clone());
        Ok(candidate)
    }

    fn name(&self) -> &str {
        "lock"
    }
}

/// A clock that goes when it is told to, at its own rate.
#[derive(Clone)]
pub(super) struct OwnTime(pub(super) Arc<Mutex<Duration>>);

impl Time for OwnTime {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, _: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.now()
    }
}
