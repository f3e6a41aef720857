//! What is logged. The only test of its process, since `tracing` remembers for all threads who is interested.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::fmt;
use std::time::Duration;

use lariat::client::{Patch, PatchParams};
use lariat::prelude::*;
use serde_json::json;
use support::{Log, Shop, cluster, shop};
use tokio::time::sleep;

/// CR-5, LA-12: each failure is logged once, in one line with controller, key and cause: a retried one as a warning, one for good and a
/// panic as an error, and conflicts and what is ignored only for who debugs.
#[tokio::test(start_paused = true)]
async fn each_failure_is_logged_once() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let cluster = cluster();
    for name in ["conflict", "ignored", "panics", "retried", "terminal"] {
        cluster.put("shops.example.dev", shop(name));
    }
    let log = Log::default();
    let controller = Controller::<Shop>::new("shops").reconcile(move |key, _, context: Context| {
        let first = !log.lines().contains(&key.to_string());
        log.push(key.as_str());
        async move {
            match key.name() {
                _ if !first => Ok(Outcome::Done),
                "conflict" => {
                    let stale = Patch::Merge(json!({"metadata": {"resourceVersion": "1"}}));
                    context.api::<Shop>().patch(&key, &stale, &PatchParams::default()).await?;
                    Ok(Outcome::Done)
                }
                "ignored" => Err(Failure::ignore("no matter")),
                "panics" => panic!("as it may"),
                "terminal" => Err(Failure::terminal("for good")),
                _ => Err("x".parse::<u32>().unwrap_err().into()),
            }
        }
    });
    let manager = cluster.manager();
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    sleep(Duration::from_secs(5)).await;
    running.stop().await.unwrap();
    let lines = lines.0.lines();
    let of = |name: &str| -> Vec<&String> {
        lines.iter().filter(|line| line.contains(&format!("key=default/{name} "))).collect()
    };
    for (name, level, cause) in [
        ("conflict", "DEBUG", "409"),
        ("ignored", "DEBUG", "no matter"),
        ("panics", "ERROR", "as it may"),
        ("retried", "WARN", "invalid digit"),
        ("terminal", "ERROR", "for good"),
    ] {
        let [line] = of(name)[..] else { panic!("{name}: {:?}\n{lines:#?}", of(name)) };
        assert!(
            line.starts_with(level) && line.contains(cause) && line.contains("controller=\"shops\""),
            "{line}"
        );
    }
}

/// A subscriber that writes each event as one line.
#[derive(Clone, Default)]
struct Lines(Log);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("lariat::controller")
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
        line.push(' ');
        self.0.push(line);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
