//! Every create, update, patch and apply in the recordings leaves the managedFields that the API server answered with.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside of a test function

mod patch_support;

use lariat_apiserver::apply::{FieldManager, ManagedFields, Request, TypeInfo, track_scale};
use lariat_apiserver::patch::{PatchKind, json_patch, merge_patch, strategic_patch};
use patch_support::{
    Change, Custom, History, RECORDINGS, body, group_of, newest_time, read_as_kind, version,
};
use serde_json::{Value, json};

#[test]
fn replay_of_creates_and_updates() {
    let mut count = 0;
    for name in RECORDINGS {
        let history = History::open(name);
        for change in history.changes(&["POST", "PUT", "PATCH"]) {
            if kind_of_patch(&change) == Some(PatchKind::Apply) {
                continue;
            }
            let new = decoded(&change);
            let custom = custom_type(&history, &change.stored);
            let manager = field_manager(custom.as_ref(), &change);
            let now = newest_time(&change.stored);
            let tracked = manager.track_update(change.live.as_ref(), new, &request(&change, &now));
            let name = &change.exchange.name;
            assert_eq!(
                managed(&tracked),
                managed(&change.stored),
                "{name} {:?}",
                change.stored["metadata"]["name"]
            );
            count += 1;
        }
    }
    assert_eq!(count, 53);
}

#[test]
fn replay_of_applies() {
    let mut count = 0;
    for name in RECORDINGS {
        let history = History::open(name);
        for change in history.changes(&["PATCH"]) {
            if kind_of_patch(&change) != Some(PatchKind::Apply) {
                continue;
            }
            let custom = custom_type(&history, &change.stored);
            let manager = field_manager(custom.as_ref(), &change);
            let now = newest_time(&change.stored);
            let config = &change.exchange.request.body;
            let is_forced = change.exchange.request.target.contains("force=true");
            let applied = manager.apply(change.live.as_ref(), config, &request(&change, &now), is_forced);
            let mut applied = applied.unwrap();
            assert!(applied.is_changed);
            let mut stored = change.stored.clone();
            assert_eq!(managed(&applied.object), managed(&stored), "{}", change.exchange.name);
            // What the server writes itself, and the default of the schema.
            if stored["kind"] == "Widget" {
                applied.object["spec"]["colour"] = json!("red");
            }
            for object in [&mut applied.object, &mut stored] {
                let metadata = object["metadata"].as_object_mut().unwrap();
                for field in ["creationTimestamp", "generation", "namespace", "resourceVersion", "uid"] {
                    metadata.remove(field);
                }
            }
            assert_eq!(applied.object, stored, "{}", change.exchange.name);

            // Once more: nothing changes.
            let again =
                manager.apply(Some(&change.stored), config, &request(&change, "2030-01-01T00:00:00Z"), false);
            let again = again.unwrap();
            assert!(!again.is_changed);
            assert_eq!(again.object, change.stored);
            count += 1;
        }
    }
    assert_eq!(count, 5);
}

#[test]
fn replay_of_the_conflict() {
    let history = History::open("api-protocol");
    let exchanges = &history.recording.exchanges;
    let at = exchanges.iter().position(|one| one.name == "server-side apply conflict").unwrap();
    let live: Value = serde_json::from_str(&body(&exchanges[at - 1])).unwrap();
    let manager = FieldManager::builtin("", "ConfigMap", "").unwrap();
    let request = Request { manager: "b", api_version: "v1", subresource: "", now: "2026-11-29T11:41:02Z" };
    let refused = manager.apply(Some(&live), &exchanges[at].request.body, &request, false).unwrap_err();
    let status = serde_json::to_value(refused.status()).unwrap();
    let recorded: Value = serde_json::from_str(&body(&exchanges[at])).unwrap();
    for field in ["status", "message", "reason", "code"] {
        assert_eq!(status[field], recorded[field]);
    }
    assert_eq!(status["details"]["causes"], recorded["details"]["causes"]);
}

#[test]
fn replay_of_scaling() {
    // A widget is watched, so that the version right after the scaling is known.
    let history = History::open("api-objects");
    let exchanges = &history.recording.exchanges;
    let put = exchanges.iter().find(|one| one.name == "widget scale put").unwrap();
    let scale: Value = serde_json::from_str(&body(put)).unwrap();
    let stored = history.at(scale["metadata"]["uid"].as_str().unwrap(), version(&scale).unwrap()).unwrap();
    let live = history.before(put, stored).unwrap();
    let mut fields = ManagedFields::of(&live).unwrap();
    track_scale(&mut fields, &["spec", "size"], "recorder", "example.dev/v1");
    assert_eq!(fields.encode(), managed(stored));

    // The controller has changed the fleet's status when it is read.
    let history = History::open("api-protocol");
    let exchanges = &history.recording.exchanges;
    let at = exchanges.iter().position(|one| one.name == "scale patch").unwrap();
    let read = |name: &str| {
        let exchange = exchanges.iter().find(|one| one.name == name).unwrap();
        serde_json::from_str::<Value>(&body(exchange)).unwrap()
    };
    let mut fields = ManagedFields::of(&read("fleet create")).unwrap();
    track_scale(&mut fields, &["spec", "replicas"], "recorder", "agones.dev/v1");
    let later: Value = serde_json::from_str(&body(&exchanges[at + 1])).unwrap();
    let later = managed(&later).as_array().unwrap().clone();
    let by_recorder: Vec<Value> = later.into_iter().filter(|entry| entry["manager"] == "recorder").collect();
    assert_eq!(fields.encode(), Value::Array(by_recorder));
}

/// The object as it was when its owners were found: decoded, with defaults, patched, and before admission.
fn decoded(change: &Change<'_>) -> Value {
    let body = &change.exchange.request.body;
    let mut new = match (kind_of_patch(change), &change.live) {
        (Some(PatchKind::Json), Some(live)) => json_patch(live, body).unwrap(),
        (Some(PatchKind::Merge), Some(live)) => merge_patch(live, body).unwrap(),
        (Some(_), Some(live)) => {
            strategic_patch(live, body, group_of(live), live["kind"].as_str().unwrap()).unwrap()
        }
        (_, Some(_)) => return body.clone(),
        _ if change.stored["kind"] == "Fleet" => {
            let mut new = body.clone();
            new["spec"]["template"]["spec"]["immutableReplicas"] = json!(1); // the schema's default
            return new;
        }
        _ => {
            let mut new = change.stored.clone();
            new["metadata"].as_object_mut().unwrap().remove("managedFields");
            if let Some(sent) = body["metadata"].get("managedFields") {
                new["metadata"]["managedFields"] = sent.clone();
            }
            new
        }
    };
    read_as_kind(&mut new);
    if change.live.is_none()
        && let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut)
    {
        // What admission and the strategy for creating added.
        let added: &[&str] = match change.stored["kind"].as_str() {
            Some("Pod") => &["tolerations", "priority", "preemptionPolicy"],
            Some("Node") => &["taints"],
            Some("Namespace") => &["finalizers"],
            _ => &[],
        };
        spec.retain(|field, _| !added.contains(&field.as_str()));
    }
    new
}

fn kind_of_patch(change: &Change<'_>) -> Option<PatchKind> {
    PatchKind::from_media_type(&change.exchange.request.headers["content-type"])
}

fn custom_type(history: &History, object: &Value) -> Option<Custom> {
    history.custom_type(group_of(object), object["kind"].as_str().unwrap())
}

fn field_manager<'a>(custom: Option<&'a Custom>, change: &'a Change<'_>) -> FieldManager<'a> {
    let kind = change.stored["kind"].as_str().unwrap();
    let subresource = &change.target.subresource;
    match custom {
        Some(custom) => FieldManager::custom(custom as &dyn TypeInfo, kind, true, subresource),
        None => FieldManager::builtin(group_of(&change.stored), kind, subresource).unwrap(),
    }
}

fn request<'a>(change: &'a Change<'_>, now: &'a str) -> Request<'a> {
    let target = &change.exchange.request.target;
    let named = target.split(['?', '&']).find_map(|part| part.strip_prefix("fieldManager="));
    Request {
        manager: named.unwrap_or("recorder"),
        api_version: change.stored["apiVersion"].as_str().unwrap(),
        subresource: &change.target.subresource,
        now,
    }
}

fn managed(object: &Value) -> Value {
    object["metadata"].get("managedFields").cloned().unwrap_or_else(|| json!([]))
}
