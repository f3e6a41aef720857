//! Every patch in the recordings gives the object that the API server answered with.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside of a test function

mod patch_support;

use lariat_apiserver::patch::{PatchKind, json_patch, merge_patch, strategic_patch};
use patch_support::{Change, History, RECORDINGS, body, group_of, read_as_kind};
use serde_json::{Value, json};

#[test]
fn replay_of_granted_patches() {
    let mut count = 0;
    for name in RECORDINGS {
        let history = History::open(name);
        for change in history.changes(&["PATCH"]) {
            let kind = PatchKind::from_media_type(&change.exchange.request.headers["content-type"]).unwrap();
            if kind == PatchKind::Apply {
                continue; // see apply_replay.rs
            }
            let mut patched = patched(&change, kind);
            let mut stored = change.stored.clone();
            // What the server writes itself.
            read_as_kind(&mut patched);
            for object in [&mut patched, &mut stored] {
                let metadata = object["metadata"].as_object_mut().unwrap();
                for field in ["managedFields", "resourceVersion", "generation"] {
                    metadata.remove(field);
                }
            }
            assert_eq!(patched, stored, "{name}: {}", change.exchange.name);
            count += 1;
        }
    }
    assert_eq!(count, 12);
}

#[test]
fn replay_of_refused_patches() {
    let history = History::open("api-protocol");
    let exchange =
        history.recording.exchanges.iter().find(|exchange| exchange.name == "json patch test fails");
    let exchange = exchange.unwrap();
    let live = json!({"metadata": {"labels": {"tier": "a"}}, "data": {"v": "0"}});
    let refused = json_patch(&live, &exchange.request.body).unwrap_err();
    let status = serde_json::to_value(refused.status()).unwrap();
    let recorded: Value = serde_json::from_str(&body(exchange)).unwrap();
    for field in ["status", "message", "reason", "code"] {
        assert_eq!(status[field], recorded[field]);
    }
    assert!(refused.status().details.is_some_and(|details| *details == Default::default()));

    let history = History::open("api-objects");
    let exchange =
        history.recording.exchanges.iter().find(|one| one.name == "widget strategic patch is refused");
    assert_eq!(exchange.unwrap().status, Some(415));
    assert!(strategic_patch(&json!({}), &exchange.unwrap().request.body, "example.dev", "Widget").is_err());
}

fn patched(change: &Change<'_>, kind: PatchKind) -> Value {
    let live = change.live.as_ref().unwrap();
    let patch = &change.exchange.request.body;
    let result = match kind {
        PatchKind::Json => json_patch(live, patch),
        PatchKind::Merge => merge_patch(live, patch),
        _ => strategic_patch(live, patch, group_of(live), live["kind"].as_str().unwrap()),
    };
    result.unwrap_or_else(|error| panic!("{}: {error}", change.exchange.name))
}
