//! A server in this process, and what tests do with it.

#![allow(dead_code)] // each test file uses a part of it

use std::time::{Duration, SystemTime};

use lariat_api::{DynamicObject, Kind, ManualClock, ObjectKey, Randomness};
use lariat_apiserver::{ApiServer, ApiServerBuilder};
use lariat_client::{Api, Client, Config, DeleteParams};
use serde_json::json;

pub(crate) const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");
const DEFINITIONS: Kind =
    Kind::cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

pub(crate) struct Server {
    pub(crate) server: ApiServer,
    client: Client,
}

impl Server {
    pub(crate) fn new(builder: ApiServerBuilder) -> Self {
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let server = builder.clock(clock).randomness(Randomness::seeded(1)).build();
        let config = Config::new("http://in-process".parse().unwrap()).unwrap();
        let pipes = server.clone();
        let connector = move |_: &http::Uri| std::future::ready(Ok(pipes.connect()));
        let client = Client::builder(config).connector(connector).build().unwrap();
        Self { server, client }
    }

    pub(crate) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        Api::of_kind(self.client.clone(), kind, namespace)
    }

    pub(crate) async fn define_widgets(&self) {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.dev"},
            "spec": {
                "group": "example.dev", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "required": ["size"], "properties": {
                            "size": {"type": "integer", "maximum": 100},
                            "colour": {"type": "string", "default": "red"},
                        }},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    }}},
                }],
            },
        });
        let definition: DynamicObject = serde_json::from_value(definition).unwrap();
        self.api(DEFINITIONS, "").create(&definition).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    pub(crate) async fn undefine_widgets(&self) {
        let key = ObjectKey::new("", "widgets.example.dev");
        self.api(DEFINITIONS, "").delete(&key, &DeleteParams::default()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

pub(crate) fn widget(name: &str, size: i64) -> DynamicObject {
    let widget = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"size": size},
    });
    serde_json::from_value(widget).unwrap()
}
