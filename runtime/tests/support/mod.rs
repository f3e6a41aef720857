//! A cluster with shops, and handlers that write down what they were called for.

#![allow(dead_code)] // each test file uses a part of it

use std::sync::{Arc, Mutex};

use lariat::prelude::*;
use lariat::testing::TestCluster;
use serde_json::{Value, json};

pub(crate) const SHOPS: Kind = Kind::namespaced("example.dev", "v1", "Shop", "shops");
pub(crate) const MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
pub(crate) const NODES: Kind = Kind::cluster("", "v1", "Node", "nodes");

lariat::object! {
    /// A shop.
    pub struct Shop: namespaced "example.dev" "v1" "Shop" "shops" {
        pub spec: Value,
        pub status: Value,
    }
}

lariat::object! {
    /// A config map.
    pub struct ConfigMap: namespaced "" "v1" "ConfigMap" "configmaps" {
        pub data: std::collections::BTreeMap<String, String>,
    }
}

pub(crate) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// A cluster in which shops are served.
pub(crate) fn cluster() -> TestCluster {
    let cluster = TestCluster::new();
    cluster.define(definition());
    cluster
}

pub(crate) fn shop(name: &str) -> Value {
    json!({
        "apiVersion": "example.dev/v1", "kind": "Shop",
        "metadata": {"name": name, "namespace": "default"}, "spec": {}, "status": {},
    })
}

pub(crate) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

pub(crate) fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

pub(crate) fn api(cluster: &TestCluster, kind: Kind) -> Api<DynamicObject> {
    Api::of_kind(cluster.client(), kind, "default")
}

/// What was written down.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
