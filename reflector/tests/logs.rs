//! What is logged. The only test of its process, since `tracing` remembers for all threads who is interested.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::fmt;
use std::sync::{Arc, Mutex};

use lariat_fixtures::Step;
use support::{Run, added, error, modified};

/// RF-7: a clean end is not worth a word, a broken connection and an expired version are ordinary, all else is a warning.
#[tokio::test(start_paused = true)]
async fn errors_are_logged_by_how_ordinary_they_are() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    Run::of([
        Step::list("10", &[]),
        Step::watch(&[added("a", 11)]),
        Step::watch(&[modified("a", 12)]).abort(),
        Step::watch(&[error(410, "Expired")]),
        Step::json(403, r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}"#),
        Step::list("20", &[]),
        Step::watch(&[]).hold(),
    ])
    .await;
    let lines = lines.0.lock().unwrap();
    let want = [["DEBUG", "lost its connection"], ["DEBUG", "expired version"], ["WARN", "403"]];
    assert_eq!(lines.len(), want.len(), "{lines:?}");
    for (line, parts) in lines.iter().zip(want) {
        assert!(
            line.contains("widgets.example.dev") && parts.iter().all(|part| line.contains(part)),
            "{line}"
        );
    }
}

/// A subscriber that writes each event as one line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("lariat_reflector")
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
