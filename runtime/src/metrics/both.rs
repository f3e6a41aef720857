use std::sync::Arc;
use std::time::Duration;

use http::Method;
use lariat_reflector::ReflectorError;

use super::Observer;

/// Tells two what happens.
pub(super) struct Both<M>(pub(super) Arc<M>, pub(super) Arc<dyn Observer>);

impl<M: lariat_client::Metrics> lariat_client::Metrics for Both<M> {
    fn answered(&self, method: &Method, host: &str, code: Option<u16>, took: Duration) {
        self.0.answered(method, host, code, took);
        lariat_client::Metrics::answered(&*self.1, method, host, code, took);
    }

    fn retried(&self, method: &Method, host: &str) {
        self.0.retried(method, host);
        lariat_client::Metrics::retried(&*self.1, method, host);
    }
}

impl<M: lariat_reflector::Metrics> lariat_reflector::Metrics for Both<M> {
    fn listed(&self, informer: &str, objects: usize, took: Duration) {
        self.0.listed(informer, objects, took);
        self.1.listed(informer, objects, took);
    }

    fn watch_opened(&self, informer: &str) {
        self.0.watch_opened(informer);
        self.1.watch_opened(informer);
    }

    fn watch_ended(&self, informer: &str, events: u64, took: Duration) {
        self.0.watch_ended(informer, events, took);
        self.1.watch_ended(informer, events, took);
    }

    fn applied(&self, informer: &str, events: usize, took: Duration) {
        self.0.applied(informer, events, took);
        self.1.applied(informer, events, took);
    }

    fn read(&self, informer: &str, bytes: u64) {
        self.0.read(informer, bytes);
        self.1.read(informer, bytes);
    }

    fn bookmarked(&self, informer: &str, resource_version: &str) {
        self.0.bookmarked(informer, resource_version);
        self.1.bookmarked(informer, resource_version);
    }

    fn failed(&self, informer: &str, error: &ReflectorError) {
        self.0.failed(informer, error);
        self.1.failed(informer, error);
    }

    fn handler_panicked(&self, informer: &str) {
        self.0.handler_panicked(informer);
        self.1.handler_panicked(informer);
    }
}

impl<M: lariat_workqueue::Metrics> lariat_workqueue::Metrics for Both<M> {
    fn added(&self, queue: &str, priority: i32) {
        self.0.added(queue, priority);
        self.1.added(queue, priority);
    }

    fn taken(&self, queue: &str, priority: i32, waited: Duration) {
        self.0.taken(queue, priority, waited);
        self.1.taken(queue, priority, waited);
    }

    fn raised(&self, queue: &str, from: i32, to: i32) {
        self.0.raised(queue, from, to);
        self.1.raised(queue, from, to);
    }

    fn done(&self, queue: &str, worked: Duration) {
        self.0.done(queue, worked);
        self.1.done(queue, worked);
    }

    fn retried(&self, queue: &str) {
        self.0.retried(queue);
        lariat_workqueue::Metrics::retried(&*self.1, queue);
    }
}
