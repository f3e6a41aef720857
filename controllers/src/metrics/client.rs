use std::time::Duration;

use lariat::client::Metrics as ClientMetrics;
use lariat::reflector::Metrics as ReflectorMetrics;
use lariat::workqueue::Metrics as QueueMetrics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::AgonesMetrics;

/// What the original counts of requests, caches and queues. Its label `endpoint` is left out: paths have names in them.
pub(super) struct ClientFamilies {
    requests: Family<Answered, Counter>,
    request_seconds: Histograms<Verb>,
    lists: Counter,
    list_seconds: Histogram,
    list_items: Histogram,
    watches: Counter,
    short_watches: Counter,
    watch_seconds: Histogram,
    watch_events: Histogram,
    version: Gauge<f64, std::sync::atomic::AtomicU64>,
    depth: Family<OfQueue, Gauge>,
    items: Family<OfQueue, Counter>,
    retries: Family<OfQueue, Counter>,
    waited: Histograms<OfQueue>,
    worked: Histograms<OfQueue>,
}

type Histograms<S> = Family<S, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: String,
    status_code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    verb: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQueue {
    queue_name: String,
}

/// client-go calls a watch short that ended within this time and brought nothing.
const SHORT: Duration = Duration::from_secs(1);

/// The original's buckets for what should take no more than seconds.
pub(super) fn seconds() -> Histogram {
    Histogram::new([0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0])
}

/// Where the original has but one bucket, and so only a sum and a count.
fn sums() -> Histogram {
    Histogram::new([0.0])
}

fn of(queue: &str) -> OfQueue {
    OfQueue { queue_name: queue.to_owned() }
}

impl ClientFamilies {
    pub(super) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("k8s_client");
        let help = "The total of HTTP requests to the Kubernetes API by status code";
        registry.register("http_request", help, self.requests.clone());
        let help = "The distribution of HTTP requests latencies to the Kubernetes API";
        registry.register("http_request_duration_seconds", help, self.request_seconds.clone());
        registry.register("cache_list", "The total number of list operations of caches", self.lists.clone());
        let help = "Duration of a Kubernetes list API call in seconds";
        registry.register("cache_list_duration_seconds", help, self.list_seconds.clone());
        let help = "Count of items in a list from the Kubernetes API";
        registry.register("cache_list_items", help, self.list_items.clone());
        let help = "The total number of watch operations of caches";
        registry.register("cache_watches", help, self.watches.clone());
        let help = "The total number of watches of caches that ended at once and brought nothing";
        registry.register("cache_short_watches", help, self.short_watches.clone());
        let help = "Duration of watches on the Kubernetes API";
        registry.register("cache_watch_duration_seconds", help, self.watch_seconds.clone());
        let help = "Number of items in watches on the Kubernetes API";
        registry.register("cache_watch_events", help, self.watch_events.clone());
        let help = "Last resource version from the Kubernetes API";
        registry.register("cache_last_resource_version", help, self.version.clone());
        registry.register("workqueue_depth", "Current depth of the work queue", self.depth.clone());
        let help = "Total number of items added to the work queue";
        registry.register("workqueue_items", help, self.items.clone());
        let help = "Total number of items retried to the work queue";
        registry.register("workqueue_retries", help, self.retries.clone());
        let help = "How long an item stays in the work queue";
        registry.register("workqueue_latency_seconds", help, self.waited.clone());
        let help = "How long processing an item from the work queue takes";
        registry.register("workqueue_work_duration_seconds", help, self.worked.clone());
    }
}

impl Default for ClientFamilies {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
            lists: Counter::default(),
            list_seconds: seconds(),
            list_items: sums(),
            watches: Counter::default(),
            short_watches: Counter::default(),
            watch_seconds: sums(),
            watch_events: sums(),
            version: Gauge::default(),
            depth: Family::default(),
            items: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(sums),
            worked: Family::new_with_constructor(sums),
        }
    }
}

impl ClientMetrics for AgonesMetrics {
    fn answered(&self, method: &http::Method, _host: &str, code: Option<u16>, took: Duration) {
        let status_code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let verb = method.as_str().to_owned();
        self.client.request_seconds.get_or_create(&Verb { verb: verb.clone() }).observe(took.as_secs_f64());
        self.client.requests.get_or_create(&Answered { verb, status_code }).inc();
    }
}

impl ReflectorMetrics for AgonesMetrics {
    fn listed(&self, _informer: &str, objects: usize, took: Duration) {
        self.client.lists.inc();
        self.client.list_seconds.observe(took.as_secs_f64());
        self.client.list_items.observe(objects as f64);
    }

    fn watch_opened(&self, _informer: &str) {
        self.client.watches.inc();
    }

    fn watch_ended(&self, _informer: &str, events: u64, took: Duration) {
        if events == 0 && took < SHORT {
            self.client.short_watches.inc();
        }
        self.client.watch_seconds.observe(took.as_secs_f64());
        self.client.watch_events.observe(events as f64);
    }

    fn bookmarked(&self, _informer: &str, resource_version: &str) {
        if let Ok(version) = resource_version.parse::<f64>() {
            self.client.version.set(version);
        }
    }
}

impl QueueMetrics for AgonesMetrics {
    fn added(&self, queue: &str, _priority: i32) {
        self.client.depth.get_or_create(&of(queue)).inc();
        self.client.items.get_or_create(&of(queue)).inc();
    }

    fn taken(&self, queue: &str, _priority: i32, waited: Duration) {
        self.client.depth.get_or_create(&of(queue)).dec();
        self.client.waited.get_or_create(&of(queue)).observe(waited.as_secs_f64());
    }

    fn done(&self, queue: &str, worked: Duration) {
        self.client.worked.get_or_create(&of(queue)).observe(worked.as_secs_f64());
    }

    fn retried(&self, queue: &str) {
        self.client.retries.get_or_create(&of(queue)).inc();
    }
}
