//! The built-in kinds as they are served: what needs other objects, and what may not be done.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod raw;

use http::Method;
use http_body_util::BodyExt;
use lariat_api::Randomness;
use lariat_apiserver::ApiServer;
use raw::Raw;
use serde_json::{Value, json};

async fn server() -> (ApiServer, Raw) {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).build();
    let raw = Raw::connect(&server).await;
    (server, raw)
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";

#[tokio::test(start_paused = true)]
async fn services_get_addresses_that_nobody_has() {
    let (_server, mut raw) = server().await;
    let service = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "NodePort", "ports": [{"port": 80}]},
        })
    };
    let (code, a) = raw.json(Method::POST, SERVICES, &service("a")).await;
    assert_eq!(code, 201, "{a}");
    let (_, b) = raw.json(Method::POST, SERVICES, &service("b")).await;
    assert!(a["spec"]["clusterIP"].as_str().unwrap().starts_with("10."));
    assert_ne!(a["spec"]["clusterIP"], b["spec"]["clusterIP"]);
    assert_ne!(a["spec"]["ports"][0]["nodePort"], b["spec"]["ports"][0]["nodePort"]);

    let mut wanted = service("c");
    wanted["spec"]["clusterIP"] = a["spec"]["clusterIP"].clone();
    let (code, refused) = raw.json(Method::POST, SERVICES, &wanted).await;
    assert_eq!(
        (code, &refused["details"]["causes"][0]["field"]),
        (422, &json!("spec.clusterIPs")),
        "{refused}"
    );

    // An update keeps what the service has.
    let (code, patched) =
        raw.json(Method::PATCH, &format!("{SERVICES}/a"), &json!({"metadata": {"labels": {"x": "y"}}})).await;
    assert_eq!((code, &patched["spec"]["clusterIP"]), (200, &a["spec"]["clusterIP"]));
}

#[tokio::test(start_paused = true)]
async fn pods_have_the_priority_of_their_class() {
    let (_server, mut raw) = server().await;
    let mut wanted = pod("p");
    wanted["spec"]["priorityClassName"] = "high".into();
    let (code, refused) = raw.json(Method::POST, PODS, &wanted).await;
    assert_eq!((code, &refused["reason"]), (403, &json!("Forbidden")));

    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7,
    });
    let (code, _) = raw.json(Method::POST, "/apis/scheduling.k8s.io/v1/priorityclasses", &class).await;
    assert_eq!(code, 201);
    let (code, created) = raw.json(Method::POST, PODS, &wanted).await;
    assert_eq!((code, &created["spec"]["priority"]), (201, &json!(7)));
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_is_created_binds_its_pod() {
    let (server, mut raw) = server().await;
    raw.json(Method::POST, PODS, &pod("p")).await;
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"},
    });
    let (code, status) = raw.json(Method::POST, "/api/v1/namespaces/default/bindings", &binding).await;
    assert_eq!((code, &status["status"]), (201, &json!("Success")), "{status}");
    assert_eq!(server.stored("pods", "default/p").unwrap()["spec"]["nodeName"], "n");
    assert!(server.stored("bindings", "default/p").is_none());
    let (code, _) = raw.json(Method::GET, "/api/v1/namespaces/default/bindings", &Value::Null).await;
    assert_eq!(code, 405);
}

#[tokio::test(start_paused = true)]
async fn some_updates_create() {
    let (_server, mut raw) = server().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    assert_eq!(raw.json(Method::PUT, leases, &lease).await.0, 201);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    assert_eq!(raw.json(Method::PUT, "/api/v1/namespaces/default/configmaps/m", &map).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn the_first_namespaces_stay() {
    let (_server, mut raw) = server().await;
    let (code, refused) = raw.json(Method::DELETE, "/api/v1/namespaces/default", &Value::Null).await;
    assert_eq!((code, &refused["reason"]), (403, &json!("Forbidden")));
    let (code, _) = raw.json(Method::DELETE, "/api/v1/namespaces", &Value::Null).await;
    assert_eq!(code, 405, "namespaces cannot be deleted all at once");
}

#[tokio::test(start_paused = true)]
async fn bodies_may_be_yaml() {
    let (server, mut raw) = server().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  x: '1'\n";
    let created = raw.send(&Method::POST, maps, "application/yaml", map).await.unwrap();
    assert_eq!(created.status(), 201);
    assert_eq!(server.stored("configmaps", "default/m").unwrap()["data"]["x"], "1");
    let config = "apiVersion: v1\nkind: ConfigMap\ndata:\n  y: '2'\n";
    let mut raw = Raw::connect(&server).await;
    let target = format!("{maps}/m?fieldManager=f");
    let applied = raw.send(&Method::PATCH, &target, "application/apply-patch+yaml", config).await.unwrap();
    assert_eq!(applied.status(), 200);
    assert_eq!(server.stored("configmaps", "default/m").unwrap()["data"], json!({"x": "1", "y": "2"}));
    let mut raw = Raw::connect(&server).await;
    let refused = raw.send(&Method::POST, maps, "application/yaml", "a: [").await.unwrap();
    assert_eq!(refused.status(), 400);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_does_not_read_is_cut_off() {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).watch_buffer(3).build();
    let maps = "/api/v1/namespaces/default/configmaps";
    let mut slow = Raw::connect(&server).await;
    let watch = slow.send(&Method::GET, &format!("{maps}?watch=true"), "", "").await.unwrap();
    assert_eq!(server.watches("configmaps"), 1);
    let mut raw = Raw::connect(&server).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m"}, "data": {}});
    let mut written = 0;
    while server.watches("configmaps") == 1 {
        let mut map = map.clone();
        map["data"]["x"] = "x".repeat(50_000).into();
        assert_eq!(raw.json(Method::POST, maps, &map).await.0, 201);
        written += 1;
        assert!(written < 100, "nobody holds so much for a watcher");
    }
    // What was in its buffer still comes, and then the end.
    let body = watch.into_body().collect().await.unwrap().to_bytes();
    let events = serde_json::Deserializer::from_slice(&body).into_iter::<Value>();
    let events = events.collect::<Result<Vec<_>, _>>().unwrap().len();
    assert!(events >= 3 && events < written, "{events} of {written}");
}

/// Reads the next line of a watch.
async fn event(body: &mut hyper::body::Incoming) -> Value {
    let frame = body.frame().await.unwrap().unwrap();
    serde_json::from_slice(&frame.into_data().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn writes_to_other_resources_are_told_by_bookmarks_and_make_versions_old() {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).event_window(100).build();
    let mut watching = Raw::connect(&server).await;
    let from = server.resource_version();
    let target = format!("{PODS}?watch=true&allowWatchBookmarks=true&resourceVersion={from}");
    let mut watch = watching.send(&Method::GET, &target, "", "").await.unwrap().into_body();
    server.advance(100);
    assert_eq!(server.resource_version(), from + 100);
    let bookmark = event(&mut watch).await;
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], (from + 100).to_string());

    // The next write has the next version, and the watch goes on.
    let mut raw = Raw::connect(&server).await;
    let (_, created) = raw.json(Method::POST, PODS, &pod("p")).await;
    assert_eq!(created["metadata"]["resourceVersion"], (from + 101).to_string());
    assert_eq!(event(&mut watch).await["type"], "ADDED");

    // 101 writes ago is before what is kept.
    let mut raw = Raw::connect(&server).await;
    let late = raw.send(&Method::GET, &target, "", "").await.unwrap();
    let late: Value = serde_json::from_slice(&late.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&late["type"], &late["object"]["reason"]), (&json!("ERROR"), &json!("Expired")));
    let mut raw = Raw::connect(&server).await;
    let target = format!("{PODS}?watch=true&resourceVersion={}", from + 1);
    let mut watch = raw.send(&Method::GET, &target, "", "").await.unwrap().into_body();
    assert_eq!(event(&mut watch).await["type"], "ADDED");
}

#[tokio::test(start_paused = true)]
async fn reads_wait_for_a_version_that_is_ahead() {
    let (server, mut raw) = server().await;
    raw.json(Method::POST, PODS, &pod("p")).await;
    let ahead = server.resource_version() + 1;
    let initial =
        "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let targets = [format!("{PODS}/p?"), format!("{PODS}?"), format!("{PODS}?{initial}&timeoutSeconds=4&")];
    for target in &targets {
        let begin = tokio::time::Instant::now();
        let mut raw = Raw::connect(&server).await;
        let (code, answer) =
            raw.json(Method::GET, &format!("{target}resourceVersion={ahead}"), &Value::Null).await;
        assert_eq!(begin.elapsed().as_millis() / 10, 300, "{target}");
        let (code, status) = if answer["type"] == "ERROR" {
            (answer["object"]["code"].as_u64().unwrap(), &answer["object"])
        } else {
            (code.into(), &answer)
        };
        let message = format!("Timeout: Too large resource version: {ahead}, current: {}", ahead - 1);
        assert_eq!((code, &status["message"]), (504, &json!(message)), "{target}");
    }
    for (n, target) in targets.iter().enumerate() {
        let mut raw = Raw::connect(&server).await;
        let target = format!("{target}resourceVersion={}", server.resource_version() + 1);
        let asked = tokio::spawn(async move { raw.send(&Method::GET, &target, "", "").await.unwrap() });
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(!asked.is_finished());
        server.advance(1);
        let begin = tokio::time::Instant::now();
        let first = asked.await.unwrap().into_body().frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(begin.elapsed().is_zero(), "{n}");
        assert!(!String::from_utf8_lossy(&first).contains("ERROR"), "{n}");
    }
}
