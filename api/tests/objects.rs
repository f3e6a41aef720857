//! Metadata, statuses and watch events as a server writes them.

use lariat_api::{
    Bookmark, DynamicObject, EventError, KeyError, Object, ObjectMeta, Reason, Status, WatchEvent,
};
use serde_json::json;

type Event = WatchEvent<DynamicObject>;

#[test]
fn unknown_fields_survive_and_managed_fields_do_not() {
    let text = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"l": "1"}, "annotations": {"a": "2"},
            "finalizers": ["f"], "selfLink": "/x", "deletionGracePeriodSeconds": 30,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "ou", "controller": true}],
        },
        "spec": {"new": [1, {"deep": null}]}, "extra": true,
    });
    let mut with_managed = text.clone();
    with_managed["metadata"]["managedFields"] = json!([{"manager": "m", "fieldsV1": {"f:spec": {}}}]);
    let object: DynamicObject = serde_json::from_value(with_managed).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), text);
}

#[test]
fn nulls_read_as_absent() {
    let text = r#"{"name":"a","labels":null,"annotations":null,"finalizers":null,"creationTimestamp":null}"#;
    let meta: ObjectMeta = serde_json::from_str(text).unwrap();
    assert_eq!(meta, ObjectMeta { name: "a".into(), ..Default::default() });
}

#[test]
fn an_object_without_a_name_has_no_key() {
    let object: DynamicObject =
        serde_json::from_value(json!({"metadata": {"namespace": "n", "uid": "u"}})).unwrap();
    assert_eq!(object.key(), Err(KeyError::NoName { namespace: "n".into(), uid: "u".into() }));
}

#[test]
fn an_event_is_decoded_whatever_the_order_of_its_fields() {
    let usual = r#"{"type":"MODIFIED","object":{"metadata":{"name":"a"}}}"#;
    let other = r#"{"extra":[{}],"object":{"metadata":{"name":"a"}},"type":"MODIFIED"}"#;
    let event = Event::from_json(usual).unwrap();
    assert!(matches!(&event, WatchEvent::Modified(object) if object.name() == "a"));
    assert_eq!(Event::from_json(other).unwrap(), event);
}

/// RF-32: only the exact value "true" ends the initial events.
#[test]
fn a_bookmark_tells_whether_it_ends_the_initial_events() {
    for (value, initial_events_end) in [("true", true), ("false", false), ("True", false)] {
        let text = format!(
            r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"5","annotations":{{"k8s.io/initial-events-end":"{value}"}}}}}}}}"#
        );
        let bookmark = Bookmark { resource_version: "5".into(), initial_events_end };
        assert_eq!(Event::from_json(&text).unwrap(), WatchEvent::Bookmark(bookmark));
    }
}

#[test]
fn an_error_event_carries_its_status() {
    let text = r#"{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410}}"#;
    assert!(matches!(Event::from_json(text).unwrap(), WatchEvent::Error(status) if status.is_gone()));
}

#[test]
fn what_is_no_event_is_a_typed_error() {
    let error = |text: &str| Event::from_json(text).unwrap_err();
    assert!(matches!(error("nonsense"), EventError::Json(_)));
    assert!(matches!(error(r#"{"type":"ADDED","object":{"#), EventError::Truncated(_)));
    assert!(matches!(error(r#"{"type":"ADDED"}"#), EventError::Missing("object")));
    assert!(matches!(error(r#"{"object":{}}"#), EventError::Missing("type")));
    assert!(matches!(error(r#"{"kind":"List","items":[]}"#), EventError::Missing("type")));
    assert!(
        matches!(error(r#"{"type":"RENAMED","object":{}}"#), EventError::UnknownType(kind) if kind == "RENAMED")
    );
    assert!(matches!(error(r#"{"object":{},"type":"RENAMED"}"#), EventError::UnknownType(_)));
    assert!(matches!(error(r#"{"type":"ADDED","object":{"metadata":7}}"#), EventError::Object(_)));
    assert!(matches!(error(r#"{"type":"ADDED","object":{}} {}"#), EventError::Json(_)));
    assert!(matches!(error(r#"[1]"#), EventError::Object(_)));
}

#[test]
fn predicates_go_by_the_reason_and_fall_back_on_the_code() {
    let status = |reason: &str, code| Status { reason_text: reason.into(), code, ..Default::default() };
    assert!(status("Conflict", 409).is_conflict());
    assert!(!status("AlreadyExists", 409).is_conflict());
    assert!(status("", 409).is_conflict());
    assert!(status("SomethingNew", 404).is_not_found());
    assert!(!status("Forbidden", 404).is_not_found(), "a known reason wins over the code");
    assert!(status("Expired", 0).is_gone() && status("Gone", 0).is_gone() && status("", 410).is_gone());
    assert_eq!(status("Timeout", 0).reason(), Some(Reason::Timeout));
}

/// RF-11: a cause, a cause's message under reason Timeout, or the message itself.
#[test]
fn three_encodings_of_a_too_large_resource_version_are_recognised() {
    let parse = |text: &str| Status::from_response(504, text.as_bytes());
    let cause =
        r#"{"kind":"Status","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
    let timeout = r#"{"kind":"Status","reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#;
    let message = r#"{"kind":"Status","message":"Too large resource version: 9, current: 1"}"#;
    for text in [cause, timeout, message] {
        assert!(parse(text).is_too_large_resource_version(), "{text}");
    }
    assert!(!parse(r#"{"kind":"Status","reason":"Timeout"}"#).is_too_large_resource_version());
}

#[test]
fn a_body_that_is_no_status_is_quoted() {
    let status = Status::from_response(502, b"<html>bad gateway</html>");
    assert_eq!(status.to_string(), "<html>bad gateway</html> (HTTP 502, no reason given)");
    let long = Status::from_response(404, "ü".repeat(4096).as_bytes());
    assert!(long.is_not_found() && long.message.len() < 1100);
}
