//! Types of `k8s-openapi`, with and without kube.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lariat::api::labels::Selector;
use lariat::prelude::*;
use lariat::testing::TestCluster;
use serde_json::json;
use tokio::time::sleep;

#[test]
fn their_kinds_are_known() {
    assert_eq!(ConfigMap::KIND, Kind::namespaced("", "v1", "ConfigMap", "configmaps"));
    assert_eq!(Node::KIND, Kind::cluster("", "v1", "Node", "nodes"));
    assert_eq!(
        k8s_openapi::api::apps::v1::Deployment::KIND.collection_path("n"),
        "/apis/apps/v1/namespaces/n/deployments"
    );
}

#[tokio::test(start_paused = true)]
async fn they_are_followed_and_written() {
    let cluster = TestCluster::new();
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"role": "game"}, "finalizers": ["example.dev/f"]},
    });
    cluster.put("nodes", node);
    let manager = cluster.manager();
    manager
        .add(Controller::<Node>::new("nodes").filter(Predicate::labels_changed()).reads::<ConfigMap>().reconcile(
            |key, node, context: Context| async move {
                let Some(node) = node else { return Ok(Outcome::Done) };
                assert!(Finalizer::new("example.dev/f").holds(&*node));
                assert_eq!(context.lister::<Node>()?.list(&"role=game".parse::<Selector>()?).len(), 1);
                let map = ConfigMap {
                    metadata: ObjectMeta {
                        name: Some(key.name().to_owned()),
                        namespace: Some("default".to_owned()),
                        ..ObjectMeta::default()
                    },
                    ..ConfigMap::default()
                };
                context.api::<ConfigMap>().create_or_update(map, |map| map.immutable = Some(false)).await?;
                context.events().normal(&*node, "Seen", "hello");
                Ok(Outcome::Done)
            },
        ))
        .unwrap();
    let running = cluster.run(manager);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(cluster.stored("configmaps", "default/n").unwrap()["immutable"], false);
    running.stop().await.unwrap();
}
