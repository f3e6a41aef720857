//! A custom resource with status, finalizer and owned ConfigMaps: `cargo run -p lariat --example crd`.
//!
//! A shop wants so many signs; each is a ConfigMap that it owns. Its status says how many there are, and since when that is enough.
//! Before a shop goes, its permit is given back.

#![allow(clippy::print_stdout)] // it speaks

use std::collections::BTreeMap;
use std::time::Duration;

use lariat::api::labels::Selector;
use lariat::prelude::*;
use lariat::testing::TestCluster;
use lariat::{install_crd, wait_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

lariat::object! {
    /// A shop.
    pub(crate) struct Shop: namespaced "example.dev" "v1" "Shop" "shops" {
        /// What is wanted.
        pub(crate) spec: ShopSpec,
        /// What there is.
        pub(crate) status: ShopStatus,
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ShopSpec {
    /// What is on the signs.
    pub(crate) text: String,
    /// How many signs there are to be.
    pub(crate) signs: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ShopStatus {
    /// How many signs there are.
    pub(crate) signs: usize,
    pub(crate) conditions: Conditions,
}

lariat::object! {
    /// What a sign is kept in.
    pub(crate) struct ConfigMap: namespaced "" "v1" "ConfigMap" "configmaps" {
        pub(crate) data: BTreeMap<String, String>,
    }
}

const PERMIT: Finalizer = Finalizer::new("example.dev/permit");

/// The whole controller: what it hears of, and what it does.
pub(crate) fn controller() -> lariat::ReadyController {
    Controller::<Shop>::new("shops").owns::<ConfigMap>().workers(4).reconcile(reconcile)
}

async fn reconcile(_: ObjectKey, shop: Option<Arc<Shop>>, context: Context) -> Result<Outcome, Failure> {
    let Some(shop) = shop else { return Ok(Outcome::Done) };
    let open = async || put_up_signs(&shop, &context).await;
    let close = async || {
        context.events().normal(&*shop, "PermitReturned", "the permit was given back");
        Ok(Outcome::Done)
    };
    PERMIT.run(&context.api::<Shop>(), &*shop, open, close).await
}

async fn put_up_signs(shop: &Arc<Shop>, context: &Context) -> Result<Outcome, Failure> {
    let maps = context.api::<ConfigMap>();
    for number in 0..shop.spec.signs {
        let mut sign = ConfigMap::default();
        sign.metadata.name = format!("{}-{number}", shop.name()).into();
        sign.metadata.namespace = shop.metadata.namespace.clone();
        sign.metadata.labels.insert("shop".to_owned(), shop.name().to_owned());
        set_controller_reference(&Shop::KIND, &**shop, &mut sign.metadata)?;
        sign.data.insert("text".to_owned(), shop.spec.text.clone());
        maps.create_or_update(sign.clone(), |sign_there| sign_there.data = sign.data.clone()).await?;
    }
    let of_shop: Selector = format!("shop={}", shop.name()).parse()?;
    let signs = context.lister::<ConfigMap>()?.namespace(shop.namespace()).list(&of_shop);
    for sign in &signs {
        let number = sign.name().rsplit_once('-').and_then(|(_, number)| number.parse::<usize>().ok());
        if number.is_none_or(|number| number >= shop.spec.signs) {
            maps.delete(sign).await?;
        }
    }

    let mut status = ShopStatus { signs: signs.len(), ..shop.status.clone() };
    let ready = match signs.len() == shop.spec.signs {
        true => Condition::new("Ready", true, "Complete", "all signs are up"),
        false => Condition::new("Ready", false, "Waiting", "signs are being put up or taken down"),
    };
    status.conditions.set(ready.observed(shop.metadata.generation), context.clock().wall());
    if status != shop.status {
        let shop = Shop { status, ..Shop::clone(shop) };
        context.api::<Shop>().update_status(&shop).await?;
    }
    Ok(Outcome::Done)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = TestCluster::new();
    install_crd(&cluster.client(), definition(), Duration::from_secs(10)).await?;
    let manager = cluster.manager();
    manager.add(controller())?;
    let running = cluster.run(manager);

    let shops = Api::<Shop>::namespaced(cluster.client(), "default");
    let mut shop = Shop { spec: ShopSpec { text: "fresh bread".to_owned(), signs: 3 }, ..Shop::default() };
    shop.metadata.name = "bakery".into();
    shops.create(&shop).await?;
    let key = ObjectKey::new("default", "bakery");
    let is_ready = |shop: Option<&Shop>| shop.is_some_and(|shop| shop.status.conditions.is_true("Ready"));
    let shop = wait_for(&shops, &key, Duration::from_secs(10), is_ready).await?;
    println!("{}", serde_json::to_string_pretty(&shop.map(|shop| shop.status.clone()))?);
    shops.delete(&key, &lariat::client::DeleteParams::default()).await?;
    wait_for(&shops, &key, Duration::from_secs(10), |shop| shop.is_none()).await?;
    println!("the bakery is gone");
    running.stop().await?;
    Ok(())
}

/// What the API server has to know of shops.
pub(crate) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "text": {"type": "string"}, "signs": {"type": "integer", "minimum": 0},
                    }},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}
