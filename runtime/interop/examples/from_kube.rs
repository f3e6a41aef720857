//! A controller that was written for kube-rs, moved over: `cargo run --manifest-path runtime/interop/Cargo.toml --example from_kube`.
//!
//! The types are as they were. Of the loop, what was
//!
//! ```ignore
//! Controller::new(Api::<Shop>::all(client), Default::default())
//!     .owns(Api::<ConfigMap>::all(client), Default::default())
//!     .run(reconcile, error_policy, context)
//! ```
//!
//! is now in [`controller`], and the error policy is gone: delays grow by key. `Action::requeue(d)` is `Outcome::RequeueAfter(d)`,
//! `Action::await_change()` is `Outcome::Done`. The handler is called for a shop that is gone, too.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResource;
use lariat::api::kube_kind;
use lariat::client::{Patch, PatchParams};
use lariat::owner_reference;
use lariat::prelude::*;
use lariat::testing::TestCluster;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "example.dev", version = "v1", kind = "Shop", namespaced, status = "ShopStatus", schema = "disabled")]
pub struct ShopSpec {
    pub sign: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShopStatus {
    pub signs: u32,
}

async fn reconcile(key: ObjectKey, shop: Option<Arc<Shop>>, context: Context) -> Result<Outcome, Failure> {
    let Some(shop) = shop else { return Ok(Outcome::Done) };
    let owner = lariat::api::OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..owner_reference(&kube_kind::<Shop>(), &*shop)
    };
    let sign = ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("{}-sign", key.name())),
            namespace: Some(key.namespace().to_owned()),
            owner_references: Some(vec![owner.into()]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("sign".to_owned(), shop.spec.sign.clone())])),
        ..ConfigMap::default()
    };
    context.api::<ConfigMap>().apply(&sign, "shops").await?;
    if shop.status.as_ref().is_none_or(|status| status.signs != 1) {
        let patch = Patch::Merge(json!({"status": ShopStatus { signs: 1 }}));
        let shops = context.api_of::<Shop>(kube_kind::<Shop>());
        shops.patch_subresource(&key, "status", &patch, &PatchParams::default()).await?;
    }
    Ok(Outcome::RequeueAfter(Duration::from_secs(300)))
}

pub fn controller() -> lariat::ReadyController {
    Controller::<Shop>::of_kind("shops", kube_kind::<Shop>()).owns::<ConfigMap>().reconcile(reconcile)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = TestCluster::new();
    lariat::install_crd(&cluster.client(), definition(), Duration::from_secs(10)).await?;
    let shops = Api::<Shop>::of_kind(cluster.client(), kube_kind::<Shop>(), "default");
    shops.create(&Shop::new("bakery", ShopSpec { sign: "fresh bread".to_owned() })).await?;

    let manager = cluster.manager();
    manager.add(controller())?;
    let running = cluster.run(manager);
    let key = ObjectKey::new("default", "bakery");
    let has_sign = |shop: Option<&Shop>| shop.is_some_and(|shop| shop.status.is_some());
    let shop = lariat::wait_for(&shops, &key, Duration::from_secs(10), has_sign).await?;
    println!("{:?}", shop.map(|shop| shop.status.clone()));
    running.stop().await?;
    Ok(())
}

pub fn definition() -> serde_json::Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}
