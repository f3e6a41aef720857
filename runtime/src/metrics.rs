//! What is counted, under the names that Go programs have for it.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use http::Method;
use lariat_api::ObjectKey;
use lariat_reflector::ReflectorError;
use lariat_workqueue::Queue;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, EncodeMetric, LabelSetEncoder, prometheus_text,
};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use crate::controller::cache::CacheState;
use crate::limits::PRIORITIES;

mod both;

use both::Both;

/// All metrics of one program.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    controllers: ControllerFamilies,
    queues: Arc<QueueFamilies>,
    informers: Arc<InformerFamilies>,
    client: Arc<ClientFamilies>,
    leader: Gauges,
    slow_path: Counters,
    /// Those of shared controllers, if there are any.
    lasso: OnceLock<Arc<LassoFamilies>>,
    /// Who else is told.
    observer: Option<Arc<dyn Observer>>,
}

/// Is told what clients, informers and queues do.
pub(crate) trait Observer:
    lariat_client::Metrics + lariat_reflector::Metrics + lariat_workqueue::Metrics
{
}

impl<T: lariat_client::Metrics + lariat_reflector::Metrics + lariat_workqueue::Metrics> Observer for T {}

/// The labels of a metric. One type for all metrics: for each other one, families would be compiled anew.
#[derive(Clone, Debug, Default)]
struct Labels {
    /// The same in all of a family.
    names: &'static [&'static str],
    /// Those that have no name are empty.
    values: [String; 3],
}

const NAME: &[&str] = &["name"];
const CONTROLLER: &[&str] = &["controller"];
const CONTROLLER_RESULT: &[&str] = &["controller", "result"];
const QUEUE: &[&str] = &["name", "controller"];
const QUEUE_PRIORITY: &[&str] = &["name", "controller", "priority"];
const REQUEST: &[&str] = &["code", "method", "host"];
const VERB: &[&str] = &["verb", "host"];
const CALLED: &[&str] = &["controller_name", "handler_name"];
const EXECUTED: &[&str] = &["controller_name", "handler_name", "has_error"];

type Counters = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

struct ControllerFamilies {
    total: Counters,
    errors: Counters,
    terminal: Counters,
    panics: Counters,
    timeouts: Counters,
    seconds: Histograms,
    max_concurrent: Gauges,
    active: Gauges,
}

struct QueueFamilies {
    depth: Gauges,
    adds: Counters,
    retries: Counters,
    waited: Histograms,
    worked: Histograms,
    /// The priorities that are told apart.
    priorities: Mutex<Vec<i32>>,
}

struct InformerFamilies {
    lists: Counters,
    listed_seconds: Histograms,
    watches: Counters,
    events: Counters,
    bytes: Counters,
    relists: Counters,
    errors: Counters,
    panics: Counters,
    latency: Histograms,
    version: Family<Labels, Gauge<f64, AtomicU64>>,
    /// When each last heard of its server.
    heard: Mutex<HashMap<String, Instant, FixedState>>,
}

struct ClientFamilies {
    requests: Counters,
    retries: Counters,
    seconds: Histograms,
}

/// Lasso's.
pub(crate) struct LassoFamilies {
    executions: Counters,
    seconds: Histograms,
}

/// How a run of a handler is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Result {
    Success,
    Requeue,
    RequeueAfter,
    Error,
    Terminal,
    Panic,
    Timeout,
}

/// The metrics of one controller.
#[derive(Clone)]
pub(crate) struct ControllerMetrics {
    metrics: Arc<Metrics>,
    label: Labels,
    active: Gauge<i64, AtomicI64>,
}

/// A run of a handler that goes on.
pub(crate) struct Active(Gauge<i64, AtomicI64>);

impl Metrics {
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Arc<Self> {
        let mut registry = Registry::default();
        let controllers = ControllerFamilies {
            total: Family::default(),
            errors: Family::default(),
            terminal: Family::default(),
            panics: Family::default(),
            timeouts: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            max_concurrent: Family::default(),
            active: Family::default(),
        };
        controllers.register(&mut registry);
        let queues = QueueFamilies {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(queue_seconds),
            worked: Family::new_with_constructor(queue_seconds),
            priorities: Mutex::default(),
        };
        queues.register(&mut registry);
        let informers = InformerFamilies {
            lists: Family::default(),
            listed_seconds: Family::new_with_constructor(seconds),
            watches: Family::default(),
            events: Family::default(),
            bytes: Family::default(),
            relists: Family::default(),
            errors: Family::default(),
            panics: Family::default(),
            latency: Family::new_with_constructor(queue_seconds),
            version: Family::default(),
            heard: Mutex::default(),
        };
        informers.register(&mut registry);
        let client = ClientFamilies {
            requests: Family::default(),
            retries: Family::default(),
            seconds: Family::new_with_constructor(request_seconds),
        };
        client.register(&mut registry);
        let leader = Family::default();
        let help = "Whether this process leads: 1 if so, 0 if not";
        registry.register("leader_election_master_status", help, leader.clone());
        let slow_path = Family::default();
        let help = "Renewals of the Lease that had to read it first";
        registry.register("leader_election_slowpath", help, slow_path.clone());
        Arc::new(Self {
            registry: Mutex::new(registry),
            controllers,
            queues: Arc::new(queues),
            informers: Arc::new(informers),
            client: Arc::new(client),
            leader,
            slow_path,
            lasso: OnceLock::new(),
            observer,
        })
    }

    pub(crate) fn controller(self: &Arc<Self>, name: &str) -> ControllerMetrics {
        let label = Labels::new(CONTROLLER, [name]);
        // All are there from the start, so that nobody takes what is missing for zero.
        let families = &self.controllers;
        for result in ["success", "error", "requeue", "requeue_after"] {
            drop(families.total.get_or_create(&Labels::new(CONTROLLER_RESULT, [name, result])));
        }
        for counter in [&families.errors, &families.terminal, &families.panics, &families.timeouts] {
            drop(counter.get_or_create(&label));
        }
        let active = families.active.get_or_create_owned(&label);
        ControllerMetrics { metrics: self.clone(), label, active }
    }

    pub(crate) fn queues(&self) -> Arc<dyn lariat_workqueue::Metrics> {
        match &self.observer {
            None => self.queues.clone(),
            Some(observer) => Arc::new(Both(self.queues.clone(), observer.clone())),
        }
    }

    /// How long ago an informer heard of its server; none if it never did.
    pub(crate) fn silence_of(&self, informer: &str) -> Option<Duration> {
        let heard = self.informers.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(informer).map(|at| at.elapsed())
    }

    pub(crate) fn informers(&self) -> Arc<dyn lariat_reflector::Metrics> {
        match &self.observer {
            None => self.informers.clone(),
            Some(observer) => Arc::new(Both(self.informers.clone(), observer.clone())),
        }
    }

    pub(crate) fn client(&self) -> Arc<dyn lariat_client::Metrics> {
        match &self.observer {
            None => self.client.clone(),
            Some(observer) => Arc::new(Both(self.client.clone(), observer.clone())),
        }
    }

    pub(crate) fn lasso(&self) -> Arc<LassoFamilies> {
        let made = self.lasso.get_or_init(|| {
            let families = LassoFamilies {
                executions: Family::default(),
                seconds: Family::new_with_constructor(seconds),
            };
            self.with_registry(|registry| families.register(registry));
            Arc::new(families)
        });
        made.clone()
    }

    pub(crate) fn slow_path(&self, name: &str) {
        self.slow_path.get_or_create(&Labels::new(NAME, [name])).inc();
    }

    pub(crate) fn leads(&self, name: &str, leads: bool) {
        let name = Labels::new(NAME, [name]);
        self.leader.get_or_create(&name).set(leads.into());
        // So that it is there before it counts.
        drop(self.slow_path.get_or_create(&name));
    }

    /// Has what is only known when it is asked for be asked for.
    pub(crate) fn ask(&self, collector: impl Collector) {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner).register_collector(Box::new(collector));
    }

    /// Adds what else is to be seen.
    pub(crate) fn with_registry(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Only a writer that fails makes it fail, and a string does not.
        let _ =
            prometheus_text::encode(&mut text, &self.registry.lock().unwrap_or_else(PoisonError::into_inner));
        text
    }
}

impl Debug for Metrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

// === impl Labels ===

impl Labels {
    fn new<const N: usize>(names: &'static [&'static str], values: [&str; N]) -> Self {
        let mut labels = Self { names, ..Self::default() };
        for (label, value) in labels.values.iter_mut().zip(values) {
            value.clone_into(label);
        }
        labels
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values.hash(state);
    }
}

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        for (name, value) in self.names.iter().zip(&self.values) {
            (*name, value.as_str()).encode(encoder.encode_label())?;
        }
        Ok(())
    }
}

// === impl ControllerMetrics ===

impl ControllerMetrics {
    pub(crate) fn max_concurrent(&self, workers: usize) {
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        self.metrics.controllers.max_concurrent.get_or_create(&self.label).set(workers);
    }

    pub(crate) fn begin(&self) -> Active {
        self.active.inc();
        Active(self.active.clone())
    }

    pub(crate) fn handled(&self, result: Result, took: Duration) {
        let families = &self.metrics.controllers;
        let label = &self.label;
        let name = match result {
            Result::Success => "success",
            Result::Requeue => "requeue",
            Result::RequeueAfter => "requeue_after",
            Result::Error | Result::Terminal | Result::Panic | Result::Timeout => "error",
        };
        let [controller, ..] = &label.values;
        families.total.get_or_create(&Labels::new(CONTROLLER_RESULT, [controller, name])).inc();
        if name == "error" {
            families.errors.get_or_create(label).inc();
        }
        match result {
            Result::Terminal => drop(families.terminal.get_or_create(label).inc()),
            Result::Panic => drop(families.panics.get_or_create(label).inc()),
            Result::Timeout => drop(families.timeouts.get_or_create(label).inc()),
            _ => {}
        }
        families.seconds.get_or_create(label).observe(took.as_secs_f64());
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

// === Families ===

impl ControllerFamilies {
    fn register(&self, registry: &mut Registry) {
        let mut counter = |name: &str, help: &str, family: &Counters| {
            registry.register(format!("controller_runtime_{name}"), help, family.clone());
        };
        counter("reconcile_errors", "Runs of handlers that failed", &self.errors);
        counter("terminal_reconcile_errors", "Runs of handlers that failed for good", &self.terminal);
        counter("reconcile_panics", "Runs of handlers that panicked", &self.panics);
        counter("reconcile_timeouts", "Runs of handlers that took too long", &self.timeouts);
        registry.register(
            "controller_runtime_reconcile",
            "Runs of handlers, by their result",
            self.total.clone(),
        );
        let help = "How long runs of handlers took";
        registry.register("controller_runtime_reconcile_time_seconds", help, self.seconds.clone());
        let help = "How many keys are handled at once at most";
        registry.register("controller_runtime_max_concurrent_reconciles", help, self.max_concurrent.clone());
        let help = "How many keys are handled now";
        registry.register("controller_runtime_active_workers", help, self.active.clone());
    }
}

impl QueueFamilies {
    fn register(&self, registry: &mut Registry) {
        registry.register("workqueue_depth", "How many keys are queued", self.depth.clone());
        registry.register("workqueue_adds", "How many keys were added", self.adds.clone());
        registry.register("workqueue_retries", "How many keys were added for later", self.retries.clone());
        let help = "How long keys were queued";
        registry.register("workqueue_queue_duration_seconds", help, self.waited.clone());
        let help = "How long keys were processed";
        registry.register("workqueue_work_duration_seconds", help, self.worked.clone());
    }

    fn depth(&self, queue: &str, priority: i32, by: i64) {
        let priority = {
            let mut known = self.priorities.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() < PRIORITIES && !known.contains(&priority) {
                known.push(priority);
            }
            if known.contains(&priority) { priority.to_string() } else { "overflow".to_owned() }
        };
        let label = Labels { names: QUEUE_PRIORITY, values: [queue.to_owned(), queue.to_owned(), priority] };
        self.depth.get_or_create(&label).inc_by(by);
    }
}

fn queue_name(queue: &str) -> Labels {
    Labels::new(QUEUE, [queue, queue])
}

impl lariat_workqueue::Metrics for QueueFamilies {
    fn added(&self, queue: &str, priority: i32) {
        self.depth(queue, priority, 1);
        self.adds.get_or_create(&queue_name(queue)).inc();
    }

    fn taken(&self, queue: &str, priority: i32, waited: Duration) {
        self.depth(queue, priority, -1);
        self.waited.get_or_create(&queue_name(queue)).observe(waited.as_secs_f64());
    }

    fn raised(&self, queue: &str, from: i32, to: i32) {
        self.depth(queue, from, -1);
        self.depth(queue, to, 1);
    }

    fn done(&self, queue: &str, worked: Duration) {
        self.worked.get_or_create(&queue_name(queue)).observe(worked.as_secs_f64());
    }

    fn retried(&self, queue: &str) {
        self.retries.get_or_create(&queue_name(queue)).inc();
    }
}

impl InformerFamilies {
    fn register(&self, registry: &mut Registry) {
        let mut counter = |name: &str, help: &str, family: &Counters| {
            registry.register(name, help, family.clone());
        };
        counter("reflector_lists", "Lists that were applied", &self.lists);
        counter("reflector_watches", "Watches that were opened", &self.watches);
        counter("reflector_relists", "Errors that made the objects be listed again", &self.relists);
        counter("reflector_errors", "What went wrong while a server was followed", &self.errors);
        counter("informer_events", "Events of watches that were applied", &self.events);
        counter("informer_read_bytes", "Bytes of lists and watches that were read", &self.bytes);
        counter("informer_handler_panics", "Calls of event handlers that panicked", &self.panics);
        let help = "How long lists took";
        registry.register("reflector_list_duration_seconds", help, self.listed_seconds.clone());
        let help = "How long it took to apply events";
        registry.register("informer_processing_latency_seconds", help, self.latency.clone());
        let help = "Up to which version the cache follows the server";
        registry.register("informer_store_resource_version", help, self.version.clone());
    }
}

impl InformerFamilies {
    fn hear(&self, informer: &str) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match heard.get_mut(informer) {
            Some(at) => *at = Instant::now(),
            None => drop(heard.insert(informer.to_owned(), Instant::now())),
        }
    }
}

fn name_of(informer: &str) -> Labels {
    Labels::new(NAME, [informer])
}

impl lariat_reflector::Metrics for InformerFamilies {
    fn listed(&self, informer: &str, _objects: usize, took: Duration) {
        self.lists.get_or_create(&name_of(informer)).inc();
        self.listed_seconds.get_or_create(&name_of(informer)).observe(took.as_secs_f64());
    }

    fn watch_opened(&self, informer: &str) {
        self.watches.get_or_create(&name_of(informer)).inc();
    }

    fn applied(&self, informer: &str, events: usize, took: Duration) {
        let name = name_of(informer);
        self.events.get_or_create(&name).inc_by(u64::try_from(events).unwrap_or(u64::MAX));
        self.latency.get_or_create(&name).observe(took.as_secs_f64());
    }

    fn read(&self, informer: &str, bytes: u64) {
        self.hear(informer);
        self.bytes.get_or_create(&name_of(informer)).inc_by(bytes);
    }

    fn bookmarked(&self, informer: &str, resource_version: &str) {
        if let Ok(version) = resource_version.parse::<f64>() {
            self.version.get_or_create(&name_of(informer)).set(version);
        }
    }

    fn failed(&self, informer: &str, error: &ReflectorError) {
        self.errors.get_or_create(&name_of(informer)).inc();
        if error.causes_relist() {
            self.relists.get_or_create(&name_of(informer)).inc();
        }
    }

    fn handler_panicked(&self, informer: &str) {
        self.panics.get_or_create(&name_of(informer)).inc();
    }
}

impl ClientFamilies {
    fn register(&self, registry: &mut Registry) {
        let help = "Requests to the API server, by method and code";
        registry.register("rest_client_requests", help, self.requests.clone());
        let help = "Requests that were sent again";
        registry.register("rest_client_request_retries", help, self.retries.clone());
        let help = "How long answers to requests took to begin";
        registry.register("rest_client_request_duration_seconds", help, self.seconds.clone());
    }
}

impl lariat_client::Metrics for ClientFamilies {
    fn answered(&self, method: &Method, host: &str, code: Option<u16>, took: Duration) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let method = method.as_str();
        self.seconds.get_or_create(&Labels::new(VERB, [method, host])).observe(took.as_secs_f64());
        self.requests.get_or_create(&Labels::new(REQUEST, [&code, method, host])).inc();
    }

    fn retried(&self, method: &Method, host: &str) {
        self.retries.get_or_create(&Labels::new(REQUEST, ["", method.as_str(), host])).inc();
    }
}

impl LassoFamilies {
    fn register(&self, registry: &mut Registry) {
        let help = "Calls of the handlers of shared controllers";
        registry.register("lasso_controller_total_handler_execution", help, self.executions.clone());
        let help = "How long calls of the handlers of shared controllers took";
        registry.register("lasso_controller_reconcile_time_seconds", help, self.seconds.clone());
    }

    pub(crate) fn executed(&self, controller: &str, handler: &str, has_error: bool, took: Duration) {
        self.seconds.get_or_create(&Labels::new(CALLED, [controller, handler])).observe(took.as_secs_f64());
        let has_error = if has_error { "true" } else { "false" };
        self.executions.get_or_create(&Labels::new(EXECUTED, [controller, handler, has_error])).inc();
    }
}

// === What is asked for ===

/// What can be asked of queues and caches.
pub(crate) struct Asked {
    pub(crate) queues: Box<dyn Fn() -> Vec<Queue<ObjectKey>> + Send + Sync>,
    pub(crate) caches: Box<dyn Fn() -> Vec<CacheState> + Send + Sync>,
}

impl Collector for Asked {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let queues = (self.queues)();
        let seconds = |encoder: &mut DescriptorEncoder<'_>,
                       name: &str,
                       help: &str,
                       of: fn(&Queue<ObjectKey>) -> Duration| {
            let kind = prometheus_client::metrics::MetricType::Gauge;
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for queue in &queues {
                let label = queue_name(queue.name().unwrap_or_default());
                ConstGauge::new(of(queue).as_secs_f64()).encode(family.encode_family(&label)?)?;
            }
            Ok(())
        };
        let help = "How long the keys that are processed have been so, together";
        seconds(&mut encoder, "workqueue_unfinished_work_seconds", help, Queue::unfinished_work)?;
        let help = "How long the key that has been processed longest has been so";
        seconds(&mut encoder, "workqueue_longest_running_processor_seconds", help, Queue::longest_running)?;

        let caches = (self.caches)();
        let counts =
            |encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, of: fn(&CacheState) -> usize| {
                let kind = prometheus_client::metrics::MetricType::Gauge;
                let mut family = encoder.encode_descriptor(name, help, None, kind)?;
                for cache in &caches {
                    let count = i64::try_from(of(cache)).unwrap_or(i64::MAX);
                    ConstGauge::new(count).encode(family.encode_family(&name_of(&cache.name))?)?;
                }
                Ok(())
            };
        let help = "How many changes the handler that is furthest behind has yet to hear of";
        counts(&mut encoder, "informer_queued_items", help, |cache| cache.pending)?;
        counts(&mut encoder, "informer_objects", "How many objects the cache holds", |cache| cache.objects)
    }
}

impl Debug for Asked {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Asked")
    }
}

// === Buckets, as the Go programs have them ===

fn seconds() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0,
        40.0, 50.0, 60.0,
    ])
}

fn queue_seconds() -> Histogram {
    Histogram::new(exponential_buckets(1e-8, 10.0, 10))
}

fn request_seconds() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0])
}
