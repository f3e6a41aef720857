//! The definitions of the custom resources are accepted by an API server.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use lariat_apiserver::ApiServer;

#[tokio::test]
async fn an_api_server_takes_all_definitions() {
    let server = ApiServer::builder().build();
    for definition in lariat_controllers::definitions::all() {
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        server.define(definition).unwrap_or_else(|status| panic!("{name}: {}", status.message));
        let stored = server.stored("customresourcedefinitions.apiextensions.k8s.io", &name).unwrap();
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        let established = conditions.iter().find(|condition| condition["type"] == "Established").unwrap();
        assert_eq!(established["status"], "True", "{name}: {conditions:?}");
    }
}
