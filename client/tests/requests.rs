//! Requests, and answers that are not what was asked for.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::time::Duration;

use lariat_api::{DynamicObject, Kind, Object, ObjectKey, PartialObjectMetadata, WatchEvent};
use lariat_client::decode::{ListError, WatchError};
use lariat_client::{
    Api, Client, Config, Connector, DeleteParams, Error, Item, ListParams, Metrics, Patch, PatchParams,
    Propagation, WatchParams,
};
use lariat_fixtures::{ScriptedServer, Step};
use serde_json::json;
use tokio::time::Instant;

const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");

fn api(steps: impl IntoIterator<Item = Step>) -> (ScriptedServer, Api<DynamicObject>) {
    let server = ScriptedServer::new(steps);
    let api = Api::of_kind(server.client().unwrap(), WIDGETS, "n");
    (server, api)
}

fn widget(name: &str) -> DynamicObject {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"x": 1}})).unwrap()
}

fn echo(status: u16) -> Step {
    Step::json(status, serde_json::to_string(&widget("a")).unwrap())
}

#[tokio::test]
async fn each_verb_has_its_method_path_and_body() {
    let (server, api) = api([
        echo(200),
        echo(201),
        echo(200),
        echo(200),
        echo(200),
        Step::json(200, r#"{"kind":"Status","status":"Success"}"#),
    ]);
    let key = ObjectKey::new("n", "a");
    assert_eq!(api.get(&key).await.unwrap(), widget("a"));
    api.create(&widget("a")).await.unwrap();
    api.update(&widget("a")).await.unwrap();
    api.update_status(&widget("a")).await.unwrap();
    api.update_subresource("scale", &widget("a")).await.unwrap();
    let params = DeleteParams {
        propagation: Some(Propagation::Foreground),
        uid: "u".into(),
        grace_period_seconds: Some(0),
        ..Default::default()
    };
    api.delete(&key, &params).await.unwrap();

    let seen = server.seen();
    let requests: Vec<String> = seen.iter().map(|seen| format!("{} {}", seen.method, seen.target)).collect();
    let base = "/apis/example.dev/v1/namespaces/n/widgets";
    assert_eq!(
        requests,
        [
            format!("GET {base}/a"),
            format!("POST {base}"),
            format!("PUT {base}/a"),
            format!("PUT {base}/a/status"),
            format!("PUT {base}/a/scale"),
            format!("DELETE {base}/a"),
        ]
    );
    assert_eq!(seen[2].body, serde_json::to_value(widget("a")).unwrap());
    assert_eq!(seen[5].body["propagationPolicy"], "Foreground");
    assert_eq!(seen[5].body["gracePeriodSeconds"], 0);
    assert_eq!(seen[5].body["preconditions"], json!({"uid": "u"}));
}

#[tokio::test]
async fn the_status_is_looked_at_before_the_body() {
    let forbidden = r#"{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","code":403}"#;
    let (_, api) = api([
        Step::json(403, forbidden),
        Step::json(403, forbidden),
        Step::json(409, r#"{"kind":"Status","reason":"Conflict","code":409}"#),
        Step::json(410, r#"{"kind":"Status","reason":"Expired","code":410}"#),
        Step::json(502, "<html>bad gateway</html>"),
        Step::json(503, "").abort(),
    ]);
    let status = |error: Error| error.status().expect("a status").clone();
    assert!(status(api.list(&ListParams::default()).await.unwrap_err()).is_forbidden());
    assert!(status(api.watch(&WatchParams::default()).await.unwrap_err()).is_forbidden());
    assert!(api.update(&widget("a")).await.unwrap_err().is_conflict());
    assert!(api.list(&ListParams::default()).await.unwrap_err().is_gone());
    assert_eq!(
        api.get(&ObjectKey::new("n", "a")).await.unwrap_err().to_string(),
        "GET /apis/example.dev/v1/namespaces/n/widgets/a: <html>bad gateway</html> (HTTP 502, no reason given)"
    );
    assert!(status(api.list(&ListParams::default()).await.unwrap_err()).is_service_unavailable());
}

#[tokio::test]
async fn a_list_that_breaks_off_is_a_typed_error() {
    let body = r#"{"items":[{"metadata":{"name":"a"}},{"meta"#;
    let length = body.len() as u64;
    let (_, api) =
        api([Step::json(200, body), Step::json(200, body).abort(), Step::json(200, "not JSON at all")]);
    let mut cut_off = api.list(&ListParams::default()).await.unwrap();
    assert!(matches!(cut_off.next().await, Ok(Some(Item::Object(object))) if object.name() == "a"));
    assert!(
        matches!(cut_off.next().await, Err(Error::List { cause: ListError::Truncated(at), .. }) if at == length)
    );
    assert!(matches!(cut_off.next().await, Ok(None)), "the list is over");
    assert_eq!(cut_off.meta(), None, "nobody may take it for complete");

    let mut broken = api.list(&ListParams::default()).await.unwrap();
    broken.next().await.unwrap();
    assert!(matches!(broken.next().await, Err(Error::Transport { .. })));

    let mut nonsense = api.list(&ListParams::default()).await.unwrap();
    assert!(matches!(nonsense.next().await, Err(Error::List { cause: ListError::Syntax(_), .. })));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_object_is_a_typed_error() {
    let no_objects = [Step::json(200, "not JSON"), Step::json(200, r#"{"metadata":"#)];
    let (_, api) = api(no_objects.into_iter().chain(std::iter::repeat_with(Step::drop_connection).take(11)));
    let key = ObjectKey::new("n", "a");
    assert!(matches!(api.get(&key).await, Err(Error::Decode { .. })));
    assert!(matches!(api.get(&key).await, Err(Error::Decode { .. })));
    assert!(matches!(api.get(&key).await, Err(Error::Transport { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_watch_hands_over_events_as_they_come() {
    let added = |name: &str| json!({"type": "ADDED", "object": widget(name)});
    let later = format!("{}\n", added("b"));
    let (server, api) =
        api([Step::watch(&[added("a")]).then(Duration::from_secs(60), later).then(Duration::ZERO, "junk\n")]);
    let params = WatchParams { resource_version: "5".into(), bookmarks: true, ..Default::default() };
    let mut watch = api.watch(&params).await.unwrap();
    assert!(matches!(watch.next().await, Ok(Some(WatchEvent::Added(object))) if object.name() == "a"));
    let waiting = tokio::time::timeout(Duration::from_secs(59), watch.next()).await;
    assert!(waiting.is_err(), "the second event has not come yet");
    // The call that was dropped has lost nothing.
    assert!(matches!(watch.next().await, Ok(Some(WatchEvent::Added(object))) if object.name() == "b"));
    assert!(matches!(watch.next().await, Err(Error::Watch { cause: WatchError::Event { .. }, .. })));
    assert!(matches!(watch.next().await, Ok(None)));
    assert!(
        server.seen()[0].target.ends_with("/widgets?watch=true&resourceVersion=5&allowWatchBookmarks=true")
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_when_the_server_asks_for_it() {
    let busy = |seconds| Step::json(429, r#"{"kind":"Status","code":429}"#).retry_after(seconds);
    let (server, api) = api([busy(3), Step::json(503, "").retry_after(2), echo(201), Step::json(429, "")]);
    let began = Instant::now();
    api.create(&widget("a")).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 5);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|seen| seen.body == serde_json::to_value(widget("a")).unwrap()));
    // Without Retry-After it is for the caller to decide.
    let error = api.create(&widget("a")).await.unwrap_err();
    assert!(error.status().unwrap().is_too_many_requests());
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_ten_times_at_most() {
    let busy = || Step::json(429, r#"{"kind":"Status","code":429}"#).retry_after(1);
    let server = ScriptedServer::new(std::iter::repeat_with(busy).take(30));
    let get = |client: Client| async move {
        let api = Api::<DynamicObject>::of_kind(client, WIDGETS, "n");
        let error = api.get(&ObjectKey::new("n", "a")).await.unwrap_err();
        assert!(error.status().unwrap().is_too_many_requests());
    };
    let client = server.client().unwrap();
    get(client.clone()).await;
    assert_eq!((server.seen().len(), client.retried()), (11, 10));
    let config = Config::new("http://script".parse().unwrap()).unwrap();
    get(Client::builder(config).connector(server.clone()).retries(0).build().unwrap()).await;
    assert_eq!(server.seen().len(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_connection_breaks_is_sent_again_and_a_write_is_not() {
    let (server, api) = api([Step::drop_connection(), echo(200), Step::drop_connection()]);
    let began = Instant::now();
    assert_eq!(api.get(&ObjectKey::new("n", "a")).await.unwrap(), widget("a"));
    assert_eq!((server.seen().len(), began.elapsed().as_secs()), (2, 1));
    // It may have been carried out.
    assert!(matches!(api.update(&widget("a")).await, Err(Error::Transport { .. })));
    assert_eq!(server.steps_left(), 0);
}

/// RF-48: a connection that is dead without a word is given up, by a list and by a watch.
#[tokio::test(start_paused = true)]
async fn a_read_is_not_waited_for_for_ever() {
    let (kept, keep) = tokio::sync::mpsc::unbounded_channel();
    let connector = move |_: &http::Uri| {
        let (near, far) = tokio::io::duplex(1024);
        kept.send(far).unwrap();
        std::future::ready(Ok(near))
    };
    let config = Config::new("http://black-hole".parse().unwrap()).unwrap();
    let client = Client::builder(config).connector(connector).build().unwrap();
    let api = Api::<DynamicObject>::of_kind(client, WIDGETS, "n");
    let began = Instant::now();
    let error = api.list(&ListParams::default()).await.unwrap_err();
    assert!(error.to_string().contains("no answer in 90s"), "{error}");
    assert!(api.watch(&WatchParams::default()).await.is_err());
    assert_eq!(began.elapsed().as_secs(), 180);
    drop(keep);
}

#[tokio::test]
async fn a_patch_says_its_form_and_who_sends_it() {
    let (server, api) = api([echo(200), echo(200)]);
    let key = ObjectKey::new("n", "a");
    let patch = Patch::Apply(json!({"spec": {"x": 2}}));
    let params = PatchParams { field_manager: "a b".into(), force: true, dry_run: true };
    api.patch_subresource(&key, "status", &patch, &params).await.unwrap();
    let patch = Patch::Merge(json!({"spec": {"x": 2}}));
    api.patch(&key, &patch, &PatchParams::default()).await.unwrap();

    let seen = server.seen();
    let base = "/apis/example.dev/v1/namespaces/n/widgets/a";
    assert_eq!(seen[0].target, format!("{base}/status?fieldManager=a%20b&force=true&dryRun=All"));
    assert_eq!((seen[1].method.as_str(), seen[1].target.as_str()), ("PATCH", base));
    assert_eq!(seen[1].body, json!({"spec": {"x": 2}}));
}

#[tokio::test(start_paused = true)]
async fn metrics_hear_of_each_attempt() {
    #[derive(Default)]
    struct Log(std::sync::Mutex<Vec<String>>);

    impl Metrics for Log {
        fn answered(&self, method: &http::Method, host: &str, code: Option<u16>, _took: Duration) {
            self.0.lock().unwrap().push(format!("{method} {host} {code:?}"));
        }

        fn retried(&self, method: &http::Method, _host: &str) {
            self.0.lock().unwrap().push(format!("{method} again"));
        }
    }

    let server = ScriptedServer::new([Step::drop_connection(), Step::json(200, r#"{"major":"1"}"#)]);
    let log = std::sync::Arc::new(Log::default());
    let config = Config::new("http://script".parse().unwrap()).unwrap();
    let client = Client::builder(config).connector(server).metrics(log.clone()).build().unwrap();
    let client = client.with_user_agent("shops").unwrap();
    assert_eq!(client.user_agent(), "shops");
    assert!(client.with_user_agent("\n").is_err());
    let version: serde_json::Value = client.read("/version").await.unwrap();
    assert_eq!(version["major"], "1");
    assert_eq!(*log.0.lock().unwrap(), ["GET script None", "GET again", "GET script Some(200)"]);
}

#[tokio::test(start_paused = true)]
async fn a_closure_is_a_connector() {
    let server = ScriptedServer::new([echo(200)]);
    let pipes = server.clone();
    let config = Config::new("http://script".parse().unwrap()).unwrap();
    let connector = move |server: &http::Uri| Connector::connect(&pipes, server);
    let client = Client::builder(config).connector(connector).build().unwrap();
    let api = Api::<DynamicObject>::of_kind(client, WIDGETS, "n");
    assert_eq!(api.get(&ObjectKey::new("n", "a")).await.unwrap(), widget("a"));
}

#[tokio::test]
async fn names_that_would_change_the_path_are_refused() {
    let (server, api) = api([]);
    for name in ["", ".", "..", "a/b", "a%2fb", "a?b", "a#b", "a b", "ü"] {
        let error = api.get(&ObjectKey::explicit(format!("n/{name}"))).await.unwrap_err();
        assert!(matches!(error, Error::Path { what: "name", .. }), "{name:?}: {error}");
    }
    assert!(matches!(
        api.get(&ObjectKey::explicit("../a")).await.unwrap_err(),
        Error::Path { what: "namespace", .. }
    ));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn nobody_listening_is_told_from_other_failures() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::new(Config::new(format!("http://{address}").parse().unwrap()).unwrap()).unwrap();
    let error =
        Api::<DynamicObject>::of_kind(client, WIDGETS, "").list(&ListParams::default()).await.unwrap_err();
    assert!(error.is_connection_refused(), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("GET /apis/example.dev/v1/widgets: ") && text.contains("refused"), "{text}");
}

/// The server is asked for metadata, and for everything if it cannot leave out the rest, which is read over then.
#[tokio::test]
async fn metadata_only_is_asked_for_and_whole_objects_do_too() {
    let whole = json!({"metadata": {"name": "a", "resourceVersion": "5"}, "spec": {"x": 1}});
    let partial = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a", "resourceVersion": "5"},
    });
    for object in [whole, partial] {
        let server = ScriptedServer::new([
            Step::json(200, object.to_string()),
            Step::list("5", std::slice::from_ref(&object)),
            Step::watch(&[json!({"type": "ADDED", "object": object})]),
            Step::json(200, r#"{"kind":"Status","status":"Success"}"#),
        ]);
        let api = Api::<PartialObjectMetadata>::of_kind(server.client().unwrap(), WIDGETS, "n");
        let key = ObjectKey::new("n", "a");
        assert_eq!(api.get(&key).await.unwrap().resource_version(), "5");
        let mut list = api.list(&ListParams::default()).await.unwrap();
        assert!(matches!(list.next().await.unwrap(), Some(Item::Object(object)) if object.name() == "a"));
        let mut watch = api.watch(&WatchParams::default()).await.unwrap();
        let event = watch.next().await.unwrap();
        assert!(matches!(event, Some(WatchEvent::Added(object)) if object.name() == "a"));
        api.delete(&key, &DeleteParams::default()).await.unwrap();

        let accepted: Vec<String> =
            server.seen().iter().map(|seen| seen.headers["accept"].to_str().unwrap().to_owned()).collect();
        let partial = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json");
        let one = partial("PartialObjectMetadata");
        assert_eq!(accepted, [&*one, &partial("PartialObjectMetadataList"), &one, "application/json"]);
    }
}

/// U-18: nothing but the server makes a request wait.
#[tokio::test(start_paused = true)]
async fn requests_are_not_throttled_by_the_client() {
    let (server, api) = api((0..300).map(|_| echo(200)));
    let began = Instant::now();
    for _ in 0..300 {
        api.get(&ObjectKey::new("n", "a")).await.unwrap();
    }
    assert_eq!((server.seen().len(), began.elapsed()), (300, Duration::ZERO));
}
