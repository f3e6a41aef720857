//! Custom resources from definition to removal, through the real client.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat_api::{DynamicObject, Object, ObjectKey, WatchEvent};
use lariat_apiserver::ApiServer;
use lariat_client::{DeleteParams, ListParams, WatchParams};
use serde_json::json;
use support::{Server, WIDGETS, widget};

/// A server that has widgets.
async fn server() -> Server {
    let server = Server::new(ApiServer::builder());
    server.define_widgets().await;
    server
}

#[tokio::test(start_paused = true)]
async fn objects_are_created_updated_and_deleted() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let mut created = widgets.create(&widget("a", 1)).await.unwrap();
    assert!(!created.uid().is_empty() && !created.resource_version().is_empty());
    assert_eq!((created.metadata.generation, &created.other["spec"]["colour"]), (1, &json!("red")));

    let stale = created.clone();
    created.other["spec"]["size"] = 2.into();
    let updated = widgets.update(&created).await.unwrap();
    assert_eq!(updated.metadata.generation, 2);
    assert!(widgets.update(&stale).await.unwrap_err().is_conflict());
    let same = widgets.update(&updated).await.unwrap();
    assert_eq!(same.resource_version(), updated.resource_version(), "nothing changed");

    assert!(widgets.create(&widget("a", 1)).await.unwrap_err().is_already_exists());
    assert!(widgets.create(&widget("b", 1000)).await.unwrap_err().status().unwrap().is_invalid());
    let key = ObjectKey::new("default", "a");
    widgets.delete(&key, &DeleteParams::default()).await.unwrap();
    assert!(widgets.get(&key).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn status_is_a_subresource() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let mut created = widgets.create(&widget("a", 1)).await.unwrap();
    created.other.insert("status".into(), json!({"phase": "Ready"}));
    created.other["spec"]["size"] = 7.into();
    let updated = widgets.update_status(&created).await.unwrap();
    assert_eq!(
        (&updated.other["status"]["phase"], &updated.other["spec"]["size"]),
        (&json!("Ready"), &json!(1))
    );
    assert_eq!(updated.metadata.generation, 1);
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_a_deleted_object() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let mut held = widget("a", 1);
    held.metadata.finalizers.push("example.dev/hold".into());
    widgets.create(&held).await.unwrap();
    let key = ObjectKey::new("default", "a");
    widgets.delete(&key, &DeleteParams::default()).await.unwrap();
    let mut marked = widgets.get(&key).await.unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    marked.metadata.finalizers.clear();
    widgets.update(&marked).await.unwrap();
    assert!(widgets.get(&key).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_of_one_version() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    for number in 0..5 {
        widgets.create(&widget(&format!("w{number}"), 1)).await.unwrap();
    }
    let mut params = ListParams { limit: 2, ..Default::default() };
    let mut names = Vec::new();
    loop {
        let mut page = widgets.list(&params).await.unwrap();
        while let Some(item) = page.next().await.unwrap() {
            let lariat_client::Item::Object(object) = item else { panic!("{item:?}") };
            names.push(object.name().to_owned());
        }
        // A write between pages is not seen in them.
        let _ = widgets.delete(&ObjectKey::new("default", "w3"), &DeleteParams::default()).await;
        let meta = page.meta().unwrap();
        if meta.continue_token.is_empty() {
            break;
        }
        params.continue_token.clone_from(&meta.continue_token);
    }
    assert_eq!(names, ["w0", "w1", "w2", "w3", "w4"]);

    let mut first = widgets.list(&ListParams { limit: 2, ..Default::default() }).await.unwrap();
    while first.next().await.unwrap().is_some() {}
    server.server.compact();
    widgets.create(&widget("x", 1)).await.unwrap();
    server.server.compact();
    let token = first.meta().unwrap().continue_token.clone();
    let expired = widgets.list(&ListParams { limit: 2, continue_token: token, ..Default::default() }).await;
    assert!(expired.unwrap_err().is_gone());
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_every_write_from_its_version_on() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let first = widgets.create(&widget("a", 1)).await.unwrap();
    let mut second = widgets.create(&widget("b", 1)).await.unwrap();
    let params = WatchParams {
        resource_version: first.resource_version().to_owned(),
        timeout: Some(Duration::from_secs(5)),
        bookmarks: true,
        ..Default::default()
    };
    let mut watch = widgets.watch(&params).await.unwrap();
    second.other["spec"]["size"] = 5.into();
    widgets.update(&second).await.unwrap();
    widgets.delete(&ObjectKey::new("default", "a"), &DeleteParams::default()).await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = watch.next().await.unwrap() {
        seen.push(match event {
            WatchEvent::Added(object) => format!("added {}", object.name()),
            WatchEvent::Modified(object) => format!("modified {}", object.name()),
            WatchEvent::Deleted(object) => format!("deleted {}", object.name()),
            WatchEvent::Bookmark(bookmark) => {
                assert_eq!(bookmark.resource_version, server.server.resource_version().to_string());
                "bookmark".to_owned()
            }
            WatchEvent::Error(status) => panic!("{status}"),
        });
    }
    assert_eq!(seen, ["added b", "modified b", "deleted a", "bookmark", "bookmark"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_compacted_version_is_told_so() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let first = widgets.create(&widget("a", 1)).await.unwrap();
    widgets.create(&widget("b", 1)).await.unwrap();
    server.server.compact();
    let params = WatchParams { resource_version: first.resource_version().to_owned(), ..Default::default() };
    let mut watch = widgets.watch(&params).await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Some(WatchEvent::Error(status)) if status.is_gone()));
    assert!(watch.next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn selectors_let_objects_enter_and_leave() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let params = WatchParams {
        label_selector: "tier=a".into(),
        resource_version: server.server.resource_version().to_string(),
        timeout: Some(Duration::from_secs(1)),
        ..Default::default()
    };
    let mut watch = widgets.watch(&params).await.unwrap();
    let mut object = widgets.create(&widget("a", 1)).await.unwrap();
    for tier in ["a", "b"] {
        object.metadata.labels.insert("tier".into(), tier.into());
        object = widgets.update(&object).await.unwrap();
    }
    assert!(matches!(watch.next().await.unwrap(), Some(WatchEvent::Added(_))));
    let Some(WatchEvent::Deleted(left)) = watch.next().await.unwrap() else { panic!("it has left") };
    assert_eq!(left.metadata.labels["tier"], "a", "its last state within the selection");
    assert_eq!(left.resource_version(), object.resource_version(), "in the version in which it left");
    assert!(watch.next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn owners_take_their_dependents_with_them() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    let owner = widgets.create(&widget("owner", 1)).await.unwrap();
    let mut child = widget("child", 1);
    child.metadata.owner_references = serde_json::from_value(json!([{
        "apiVersion": "example.dev/v1", "kind": "Widget", "name": "owner", "uid": owner.uid(),
    }]))
    .unwrap();
    widgets.create(&child).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let key = ObjectKey::new("default", "child");
    assert!(widgets.get(&key).await.is_ok(), "its owner is there");
    widgets.delete(&ObjectKey::new("default", "owner"), &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(widgets.get(&key).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_its_objects_with_it() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "default");
    widgets.create(&widget("a", 1)).await.unwrap();
    let mut watch = widgets.watch(&WatchParams::default()).await.unwrap();
    server.undefine_widgets().await;
    let mut last = None;
    while let Some(event) = watch.next().await.unwrap() {
        last = Some(event);
    }
    assert!(matches!(last, Some(WatchEvent::Deleted(object)) if object.name() == "a"));
    assert!(widgets.list(&ListParams::default()).await.unwrap_err().is_not_found());
}

/// The whole stack on the embedded server: what is written is what the informer's cache holds.
#[tokio::test(start_paused = true)]
async fn an_object_of_another_namespace_is_refused() {
    let server = server().await;
    let widgets = server.api(WIDGETS, "");
    let mut elsewhere = widget("a", 1);
    elsewhere.metadata.namespace = "nowhere".into();
    let error = widgets.create(&elsewhere).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let _: &DynamicObject = &elsewhere;
}
