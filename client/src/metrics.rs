use std::time::Duration;

use http::Method;

/// Is told what a client does, for counters and histograms. Every method does nothing if it is not written.
///
/// `host` is the server's address. The calls come from the tasks that send requests, so they should be quick.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::time::Duration;
/// use lariat_client::Metrics;
///
/// #[derive(Default)]
/// struct Requests(AtomicU64);
///
/// impl Metrics for Requests {
///     fn answered(&self, _method: &http::Method, _host: &str, _code: Option<u16>, _took: Duration) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
/// # Requests::default().answered(&http::Method::GET, "localhost", Some(200), Duration::ZERO);
/// ```
#[allow(unused_variables, reason = "the names say what is told")]
pub trait Metrics: Send + Sync + 'static {
    /// A request was answered so long after it was sent, with an HTTP code, or failed without one: client-go's
    /// `rest_client_requests_total` and `rest_client_request_duration_seconds`.
    fn answered(&self, method: &Method, host: &str, code: Option<u16>, took: Duration) {}

    /// A request is sent again: client-go's `rest_client_request_retries_total`.
    fn retried(&self, method: &Method, host: &str) {}
}

/// Tells nobody.
pub(crate) struct NoMetrics;

impl Metrics for NoMetrics {}
