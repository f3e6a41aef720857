use std::time::Duration;

use crate::error::ReflectorError;

/// Is told what an informer does, for counters and gauges. Every method does nothing if it is not written.
///
/// The first argument is always the informer's name. The calls come from the paths from bytes to handlers, so they should be
/// as quick as an atomic addition. How many changes handlers have yet to hear of, client-go's `informer_queued_items`, is not
/// told but asked for: [`Informer::pending`](crate::Informer::pending).
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use lariat_reflector::Metrics;
///
/// #[derive(Default)]
/// struct Relists(AtomicU64);
///
/// impl Metrics for Relists {
///     fn listed(&self, _informer: &str, _objects: usize, _took: std::time::Duration) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
/// # Relists::default().listed("pods", 3, std::time::Duration::ZERO);
/// ```
pub trait Metrics: Send + Sync + 'static {
    /// A list, or the initial events of a streaming one, was applied to the store.
    fn listed(&self, informer: &str, objects: usize, took: Duration) {
        let _ = (informer, objects, took);
    }

    /// A watch was opened.
    fn watch_opened(&self, informer: &str) {
        let _ = informer;
    }

    /// A watch ended after so many events and so long.
    fn watch_ended(&self, informer: &str, events: u64, took: Duration) {
        let _ = (informer, events, took);
    }

    /// So many events of a watch, which were here together, were applied to the store, and all queues were told: client-go's
    /// `informer_processing_latency_seconds`.
    fn applied(&self, informer: &str, events: usize, took: Duration) {
        let _ = (informer, events, took);
    }

    /// So many bytes of lists and watches were read since the last call.
    fn read(&self, informer: &str, bytes: u64) {
        let _ = (informer, bytes);
    }

    /// The store holds everything up to this version: client-go's `informer_store_resource_version`.
    fn bookmarked(&self, informer: &str, resource_version: &str) {
        let _ = (informer, resource_version);
    }

    /// Something went wrong; lists again if [`ReflectorError::causes_relist`].
    fn failed(&self, informer: &str, error: &ReflectorError) {
        let _ = (informer, error);
    }

    /// A handler panicked.
    fn handler_panicked(&self, informer: &str) {
        let _ = informer;
    }
}

/// Tells nobody.
pub(crate) struct NoMetrics;

impl Metrics for NoMetrics {}
