//! What is logged. The only test of its process, since `tracing` remembers for all threads who is interested.
#![allow(clippy::unwrap_used)] // clippy knows tests by their attribute, and takes their helpers for production code

use std::fmt;
use std::sync::{Arc, Mutex};

use lariat_workqueue::{Queue, Workers};

#[tokio::test(start_paused = true)]
async fn failures_and_panics_are_logged_with_queue_key_and_cause() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let queue = Queue::builder().name("fleets").build();
    let workers =
        Workers::with_log_key(queue.clone(), 1, |item| format!("ns/{item}")).run(|item: u32| async move {
            assert!(item != 8, "eight");
            Err::<(), _>("seven")
        });
    queue.add(7);
    queue.add(8);
    queue.shut_down();
    workers.await;
    let lines = lines.0.lock().unwrap();
    for (line, parts) in lines.iter().zip([["WARN", "ns/7", "seven"], ["ERROR", "ns/8", "eight"]]) {
        assert!(line.contains("fleets") && parts.iter().all(|part| line.contains(part)), "{line}");
    }
    assert_eq!(lines.len(), 2);
}

/// A subscriber that writes each event as one line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("lariat_workqueue")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut |field: &tracing::field::Field, value: &dyn fmt::Debug| {
            line.push_str(&format!(" {field}={value:?}"));
        });
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
