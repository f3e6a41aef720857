//! Several handlers of one kind that know nothing of each other, in the manner of Lasso: `cargo run -p lariat --example shared`.

#![allow(clippy::print_stdout)] // it speaks

use std::time::Duration;

use lariat::client::{Patch, PatchParams};
use lariat::prelude::*;
use lariat::shared::SharedControllerFactory;
use lariat::testing::TestCluster;
use serde_json::json;

const MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");

/// Registers what any part of a program may register: one labels, the other one counts what has a label.
pub(crate) fn register(
    factory: &SharedControllerFactory,
    say: impl Fn(String) + Clone + Send + Sync + 'static,
) {
    let maps = factory.dynamic(MAPS);
    maps.register("labels", |key, map, context| async move {
        let Some(_) = map.filter(|map| map.metadata.labels.is_empty()) else { return Ok(None) };
        let patch = Patch::Merge(json!({"metadata": {"labels": {"tidy": "yes"}}}));
        let maps = context.api_of::<DynamicObject>(MAPS);
        let labelled = maps.patch(&key, &patch, &PatchParams::default()).await?;
        // What is returned the next handler gets: it need not wait for the cache.
        Ok(Some(Arc::new(labelled)))
    });
    maps.register("says", move |key, map, _| {
        let is_tidy = |map: &Arc<DynamicObject>| map.metadata.labels.contains_key("tidy");
        say(format!("{key} is {}", map.map_or("gone", |map| if is_tidy(&map) { "tidy" } else { "untidy" })));
        async { Ok(None) }
    });
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = TestCluster::new();
    let map = serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "default"}}))?;
    Api::<DynamicObject>::of_kind(cluster.client(), MAPS, "").create(&map).await?;
    let factory = SharedControllerFactory::new(cluster.client());
    register(&factory, |line| println!("{line}"));
    factory.start(2).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    factory.shutdown().await;
    Ok(())
}
