//! Field management, beyond what the recordings show.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside of a test function

use lariat_apiserver::apply::{
    Applied, ApplyError, Child, Deduced, FieldManager, FieldSet, ListType, ManagedFields, Request,
    Schemaless, TypeInfo, keep_times, manager_name,
};
use serde_json::{Value, json};

const NOW: &str = "2026-11-29T12:00:00Z";
const LATER: &str = "2026-11-29T13:00:00Z";

fn by(manager: &str) -> Request<'_> {
    Request { manager, api_version: "v1", subresource: "", now: NOW }
}

fn set(fields: Value) -> FieldSet {
    FieldSet::from_fields_v1(&fields).unwrap()
}

fn maps() -> FieldManager<'static> {
    FieldManager::builtin("", "ConfigMap", "").unwrap()
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

#[track_caller]
fn apply(manager: &FieldManager<'_>, live: &Value, config: Value, name: &str) -> Value {
    manager.apply(Some(live), &config, &by(name), false).unwrap().object
}

/// Who owns what, as `manager/operation` and fieldsV1.
fn owners(object: &Value) -> Vec<(String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    entries
        .map(|entry| {
            (format!("{}/{}", text(entry, "manager"), text(entry, "operation")), entry["fieldsV1"].clone())
        })
        .collect()
}

// === tracking of updates

#[test]
fn an_update_takes_what_it_changes() {
    let maps = maps();
    let live = maps.track_update(None, map(json!({"a": "1", "b": "1"})), &by("one"));
    assert_eq!(owners(&live), [("one/Update".into(), json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}}))]);

    let mut stored = live;
    stored["metadata"]["uid"] = json!("u");
    let mut new = stored.clone();
    new["data"] = json!({"a": "2", "c": "1"});
    let request = Request { now: LATER, ..by("two") };
    let changed = maps.track_update(Some(&stored), new, &request);
    assert_eq!(
        owners(&changed),
        [
            ("one/Update".into(), json!({"f:data": {}})),
            ("two/Update".into(), json!({"f:data": {"f:a": {}, "f:c": {}}}))
        ]
    );
    assert_eq!(changed["metadata"]["managedFields"][0]["time"], NOW);

    // Whoever loses all loses its entry, and nothing changes without a change.
    let mut new = changed.clone();
    new["metadata"]["managedFields"] = json!([]);
    let same = maps.track_update(Some(&changed), new.clone(), &Request { now: LATER, ..by("three") });
    assert_eq!(same, changed);
    new.as_object_mut().unwrap().remove("data");
    let bare = maps.track_update(Some(&changed), new, &Request { now: LATER, ..by("three") });
    assert!(bare["metadata"].get("managedFields").is_none());
}

#[test]
fn a_client_can_clear_the_owners() {
    let maps = maps();
    let mut live = maps.track_update(None, map(json!({"a": "1"})), &by("one"));
    live["metadata"]["uid"] = json!("u");
    let mut cleared = live.clone();
    cleared["metadata"]["managedFields"] = json!([{}]);
    let cleared = maps.track_update(Some(&live), cleared, &by("one"));
    assert!(cleared["metadata"].get("managedFields").is_none());

    // Without owners nothing is tracked until somebody applies.
    let mut new = cleared.clone();
    new["data"]["a"] = json!("2");
    let untracked = maps.track_update(Some(&cleared), new, &by("two"));
    assert!(untracked["metadata"].get("managedFields").is_none());
    let applied = apply(&maps, &untracked, map(json!({"b": "1"})), "three");
    assert_eq!(
        owners(&applied),
        [
            ("three/Apply".into(), json!({"f:data": {"f:b": {}}})),
            ("before-first-apply/Update".into(), json!({"f:data": {".": {}, "f:a": {}}}))
        ]
    );

    // What a client makes up counts, unless it cannot be read, or comes through a subresource.
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("other");
    assert_eq!(owners(&maps.track_update(Some(&live), new.clone(), &by("one")))[0].0, "other/Update");
    let status = Request { subresource: "status", ..by("one") };
    assert_eq!(owners(&maps.track_update(Some(&live), new.clone(), &status))[0].0, "one/Update");
    new["metadata"]["managedFields"][0]["operation"] = json!("Frob");
    assert_eq!(owners(&maps.track_update(Some(&live), new, &by("one")))[0].0, "one/Update");
}

#[test]
fn too_many_managers_become_one() {
    let maps = maps();
    let mut live = map(json!({}));
    live["metadata"]["uid"] = json!("u");
    for number in 10..25 {
        let now = format!("2026-11-29T12:00:{number}Z");
        let name = format!("m{number}");
        let mut new = live.clone();
        new["data"][&name] = json!("1");
        let is_first = number == 10;
        let stored = (!is_first).then_some(&live);
        let mut tracked = maps.track_update(stored, new, &Request { now: &now, ..by(&name) });
        tracked["metadata"]["uid"] = json!("u");
        live = tracked;
    }
    let owners = owners(&live);
    assert_eq!(owners.len(), 10);
    assert_eq!(owners[0].0, "ancient-changes/Update");
    assert_eq!(owners[0].1["f:data"].as_object().unwrap().len(), 7);
    assert_eq!(live["metadata"]["managedFields"][0]["time"], "2026-11-29T12:00:15Z");
}

#[test]
fn duplicates_are_owned_as_one() {
    let pods = FieldManager::builtin("", "Pod", "").unwrap();
    let pod =
        |env: Value| json!({"metadata": {"uid": "u"}, "spec": {"containers": [{"name": "c", "env": env}]}});
    let env =
        |object: &Value| owners(object)[0].1["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"]["f:env"].clone();
    let live = pods.track_update(
        None,
        pod(json!([{"name": "a", "value": "1"}, {"name": "a", "value": "2"}])),
        &by("one"),
    );
    assert_eq!(env(&live), json!({".": {}, "k:{\"name\":\"a\"}": {}}));
    let mut new = live.clone();
    new["spec"]["containers"][0]["env"].as_array_mut().unwrap().pop();
    let live = pods.track_update(Some(&live), new, &by("one"));
    assert_eq!(env(&live), json!({".": {}, "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:value": {}}}));
}

#[test]
fn ports_without_a_protocol_are_tcp() {
    let pods = FieldManager::builtin("", "Pod", "").unwrap();
    let config = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}});
    let live = apply(&pods, &json!({}), config, "one");
    let container = &owners(&live)[0].1["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"];
    assert_eq!(
        container["f:ports"],
        json!({"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}})
    );
}

#[test]
fn names_of_managers() {
    assert_eq!(manager_name("a", "b/1"), "a");
    assert_eq!(manager_name("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(manager_name("", &"é".repeat(200)).chars().count(), 128);
    let live = maps().track_update(None, map(json!({"a": "1"})), &by(""));
    assert_eq!(owners(&live)[0].0, "unknown/Update");
}

// === apply

#[test]
fn to_apply_the_same_is_to_share() {
    let maps = maps();
    let live = maps.apply(None, &map(json!({"a": "1", "b": "1"})), &by("one"), false).unwrap().object;
    let live = apply(&maps, &live, map(json!({"a": "1"})), "two");
    // What one drops stays as long as two has it; what nobody has goes.
    let live = apply(&maps, &live, map(json!({})), "one");
    assert_eq!(live["data"], json!({"a": "1"}));
    let expect =
        [("one/Apply".into(), json!({"f:data": {}})), ("two/Apply".into(), json!({"f:data": {"f:a": {}}}))];
    let mut found = owners(&live);
    found.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(found, expect);
    let live = apply(&maps, &live, json!({"apiVersion": "v1", "kind": "ConfigMap"}), "two");
    assert!(live.get("data").is_none());
    assert_eq!(owners(&live), [("one/Apply".into(), json!({"f:data": {}}))]);
}

#[test]
fn what_was_applied_alone_goes_whole() {
    let maps = maps();
    let live = maps.apply(None, &map(json!({"a": "1"})), &by("one"), false).unwrap().object;
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"l": "1"}}});
    let live = apply(&maps, &live, config, "one");
    assert!(live.get("data").is_none());
    assert_eq!(owners(&live), [("one/Apply".into(), json!({"f:metadata": {"f:labels": {"f:l": {}}}}))]);
}

#[test]
fn conflicts_name_every_owner() {
    let maps = maps();
    let live = maps.track_update(None, map(json!({"a": "1"})), &by("one"));
    let live = apply(&maps, &live, map(json!({"b": "1"})), "two");
    let config = map(json!({"a": "2", "b": "2"}));
    let refused = maps.apply(Some(&live), &config, &by("three"), false).unwrap_err();
    let status = refused.status();
    assert_eq!(
        status.message,
        "Apply failed with 2 conflicts: conflicts with \"one\" using v1:\n- .data.a\nconflicts with \"two\":\n- .data.b"
    );
    assert!(status.is_conflict());
    let causes = &status.details.unwrap().causes;
    assert_eq!(causes[1].message, "conflict with \"one\" using v1");
    assert_eq!((causes[0].reason.as_str(), causes[0].field.as_str()), ("FieldManagerConflict", ".data.b"));

    let forced = maps.apply(Some(&live), &config, &by("three"), true).unwrap().object;
    assert_eq!(forced["data"], json!({"a": "2", "b": "2"}));
    assert_eq!(
        owners(&forced),
        [
            ("three/Apply".into(), json!({"f:data": {"f:a": {}, "f:b": {}}})),
            ("one/Update".into(), json!({"f:data": {}}))
        ]
    );
}

#[test]
fn nothing_changes_without_a_change() {
    let maps = maps();
    let config = map(json!({"a": "1"}));
    let live = maps.apply(None, &config, &by("one"), false).unwrap().object;
    let later = Request { now: LATER, ..by("one") };
    let again = maps.apply(Some(&live), &config, &later, false).unwrap();
    assert_eq!(again, Applied { object: live.clone(), is_changed: false });

    // Another manager is a change, but none of the object: its entry has no time.
    let shared = maps.apply(Some(&live), &config, &Request { manager: "two", ..later }, false).unwrap();
    assert!(shared.is_changed);
    assert_eq!(shared.object["metadata"]["managedFields"].as_array().unwrap().len(), 2);

    // Times alone are no change after admission either.
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["time"] = json!(LATER);
    keep_times(&live, &mut new);
    assert_eq!(new, live);
    new["metadata"]["managedFields"][0]["time"] = json!(LATER);
    new["data"]["a"] = json!("2");
    keep_times(&live, &mut new);
    assert_eq!(new["metadata"]["managedFields"][0]["time"], LATER);
}

#[test]
fn lists_keep_their_order() {
    let pods = FieldManager::builtin("", "Pod", "").unwrap();
    let pod = |names: &[&str]| {
        let containers: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers}})
    };
    let check = |live: &[&str], config: &[&str], expect: &[&str]| {
        // By force: items that are there twice belong to nobody who could share them.
        let merged = pods.apply(Some(&pod(live)), &pod(config), &by("one"), true).unwrap().object;
        assert_eq!(merged["spec"], pod(expect)["spec"], "{live:?} {config:?}");
    };
    check(&["a", "b", "c"], &["b"], &["a", "b", "c"]);
    check(&["a", "b", "c"], &["c", "a"], &["b", "c", "a"]);
    check(&["a", "b"], &["x", "b"], &["a", "x", "b"]);
    check(&["a", "b", "c"], &["a", "x", "c"], &["a", "b", "x", "c"]);
    check(&[], &["b", "a"], &["b", "a"]);
    check(&["a", "b", "a", "x"], &["a", "b", "y"], &["a", "b", "y", "x"]);
}

#[test]
fn sets_are_owned_item_by_item() {
    let maps = maps();
    let with = |finalizers: &[&str]| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": finalizers}});
    let live = apply(&maps, &json!({}), with(&["a", "b"]), "one");
    let live = apply(&maps, &live, with(&["c"]), "two");
    assert_eq!(live["metadata"]["finalizers"], json!(["a", "b", "c"]));
    let live = apply(&maps, &live, with(&["b"]), "one");
    assert_eq!(live["metadata"]["finalizers"], json!(["b", "c"]));
    let refused = maps.apply(Some(&live), &with(&["x", "x"]), &by("one"), false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for key [=\"x\"]"
    );
    assert_eq!((refused.status().code, refused.status().reason_text.as_str()), (500, ""));
}

#[test]
fn configurations_are_checked() {
    let maps = maps();
    let refused = |config: Value| maps.apply(None, &config, &by("one"), false).unwrap_err().status();
    assert_eq!(refused(json!([])).code, 400);
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    assert_eq!(refused(other).message, "invalid object type: apps/v1, Kind=Deployment");
    let mut owned = map(json!({}));
    owned["metadata"]["managedFields"] = json!([]);
    assert_eq!(refused(owned).message, "metadata.managedFields must be nil");
    let broken = json!({"metadata": {"managedFields": [{"manager": "x"}]}});
    let error = maps.apply(Some(&broken), &map(json!({})), &by("one"), false).unwrap_err();
    assert!(matches!(error, ApplyError::ManagedFields(_)) && error.status().code == 500);
}

#[test]
fn kubectl_takes_over_what_it_applied_before() {
    let maps = maps();
    let mut first = map(json!({"a": "1", "b": "1"}));
    first["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": map(json!({"a": "1"})).to_string()});
    let live = maps.track_update(None, first, &by("kubectl-client-side-apply"));
    let kubectl = by("kubectl");
    let applied = maps.apply(Some(&live), &map(json!({"a": "2"})), &kubectl, false).unwrap().object;
    assert_eq!(applied["data"], json!({"a": "2", "b": "1"}));
    let text =
        applied["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].as_str();
    assert_eq!(serde_json::from_str::<Value>(text.unwrap()).unwrap(), map(json!({"a": "2"})));
    let refused = maps.apply(Some(&live), &map(json!({"a": "2", "b": "2"})), &kubectl, false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: .data.b"
    );
    assert!(maps.apply(Some(&live), &map(json!({"a": "2"})), &by("other"), false).is_err());
}

struct Closed;
struct Spec;
struct Items;

impl TypeInfo for Closed {
    fn child(&self, field: &str) -> Child<'_> {
        match field {
            "apiVersion" | "kind" | "metadata" => Child::Declared(&Deduced),
            "spec" => Child::Declared(&Spec),
            _ => Child::Unknown,
        }
    }
}

impl TypeInfo for Spec {
    fn child(&self, field: &str) -> Child<'_> {
        match field {
            "items" => Child::Declared(&Items),
            "a" => Child::Declared(&Deduced),
            _ => Child::Unknown,
        }
    }
}

impl TypeInfo for Items {
    fn list_type(&self) -> ListType<'_> {
        ListType::Map(vec!["name"])
    }
}

#[test]
fn schemas_close_objects() {
    let closed = FieldManager::custom(&Closed, "Thing", true, "");
    let config = |spec: Value| json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n", "namespace": "s"}, "spec": spec});
    let message = |spec: Value| closed.apply(None, &config(spec), &by("one"), false).unwrap_err().to_string();
    let start = "failed to create typed patch object (s/n; /v1, Kind=Thing): ";
    assert_eq!(message(json!({"b": 1})), format!("{start}.spec.b: field not declared in schema"));
    assert_eq!(
        message(json!({"b": 1, "items": [{"v": 1}, {"name": "x"}, {"name": "x"}]})),
        format!(
            "{start}errors:\n  .spec.b: field not declared in schema\n  .spec.items: element 0: associative list with keys has \
             an element that omits key field \"name\" (and doesn't have default value)\n  .spec.items: duplicate entries for \
             key [name=\"x\"]"
        )
    );
    // The status is a subresource: nobody can own it through the object, but it is not taken away either.
    let mut live = closed.apply(None, &config(json!({"a": 1})), &by("one"), false).unwrap().object;
    live["status"] = json!({"phase": "x"});
    let mut new = live.clone();
    new["status"]["phase"] = json!("y");
    assert_eq!(owners(&closed.track_update(Some(&live), new, &by("two"))), owners(&live));
}

#[test]
fn without_a_schema_lists_are_whole() {
    let free = FieldManager::new(&Schemaless);
    let config =
        |spec: Value| json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": spec});
    let live = apply(&free, &json!({}), config(json!({"list": [{"a": 1}], "deep": {"x": {"y": 1}}})), "one");
    assert_eq!(
        owners(&live),
        [(
            "one/Apply".into(),
            json!({"f:spec": {".": {}, "f:deep": {".": {}, "f:x": {".": {}, "f:y": {}}}, "f:list": {}}})
        )]
    );
    let live = apply(&free, &live, config(json!({"list": [{"a": 1}]})), "one");
    assert_eq!(live["spec"], json!({"list": [{"a": 1}]}));
    // A value that becomes one of another form is changed, and its parts are new.
    let mut new = live;
    new["spec"]["list"] = json!({"a": 1});
    let changed = free.track_update(None, new, &by("two"));
    assert!(set(owners(&changed)[0].1.clone()).has_fields(&["spec", "list", "a"]));
}

#[test]
fn entries_are_read_and_sorted() {
    let entry = |manager: &str, operation: &str, time: &str| {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:a": {}}})
    };
    let list = json!([
        entry("b", "Update", "2026-01-01T00:00:00Z"),
        entry("a", "Update", "2026-01-01T00:00:00Z"),
        entry("c", "Update", "2025-12-31T23:00:00-02:00"),
        entry("z", "Apply", "2026-01-02T00:00:00Z"),
    ]);
    let sorted = ManagedFields::decode(Some(&list)).unwrap().encode();
    let names: Vec<_> =
        sorted.as_array().unwrap().iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
    assert_eq!(names, ["z", "a", "b", "c"]);
    for (field, value) in [
        ("operation", json!("x")),
        ("apiVersion", json!("")),
        ("fieldsType", json!("V2")),
        ("fieldsV1", json!(1)),
    ] {
        let mut bad = entry("a", "Update", NOW);
        bad[field] = value;
        assert!(ManagedFields::decode(Some(&json!([bad]))).is_err(), "{field}");
    }
    assert!(
        ManagedFields::decode(Some(&json!({}))).is_err() && ManagedFields::decode(Some(&json!([1]))).is_err()
    );
}

#[test]
fn junk_never_panics() {
    let pods = FieldManager::builtin("", "Pod", "").unwrap();
    let mut random = fastrand::Rng::with_seed(13);
    let mut granted = 0;
    for _ in 0..10_000 {
        let (mut live, mut config) = (junk(&mut random, 5), junk(&mut random, 5));
        let _ = pods.track_update(Some(&live), config.clone(), &by("one"));
        if let (Value::Object(live), Value::Object(config)) = (&mut live, &mut config) {
            for object in [live, config] {
                object.insert("apiVersion".into(), json!("v1"));
                object.insert("kind".into(), json!("Pod"));
            }
        }
        if let Ok(applied) = pods.apply(Some(&live), &config, &by("one"), random.bool()) {
            // To apply once more changes nothing.
            let again = pods.apply(Some(&applied.object), &config, &by("one"), false).unwrap();
            assert!(!again.is_changed, "{live} {config} {} {}", applied.object, again.object);
            granted += 1;
        }
    }
    assert!(granted > 1_000, "{granted}");
    let deep = (0..500).fold(json!({}), |value, _| json!({"spec": value}));
    assert_eq!(pods.track_update(None, deep.clone(), &by("one")), deep);
    assert!(pods.apply(Some(&deep), &deep, &by("one"), false).is_err());
}

fn junk(random: &mut fastrand::Rng, depth: usize) -> Value {
    const NAMES: [&str; 14] = [
        "metadata",
        "spec",
        "status",
        "containers",
        "name",
        "finalizers",
        "ownerReferences",
        "uid",
        "labels",
        "volumes",
        "ports",
        "tolerations",
        "conditions",
        "type",
    ];
    match random.usize(..if depth == 0 { 4 } else { 10 }) {
        0 => json!(random.i32(..3)),
        1 => ["a", "b", ""][random.usize(..3)].into(),
        2 => json!(random.bool()),
        3 => Value::Null,
        4 | 5 => (0..random.usize(..4)).map(|_| junk(random, depth - 1)).collect(),
        _ => {
            let fields = (0..random.usize(..5))
                .map(|_| (NAMES[random.usize(..14)].to_owned(), junk(random, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}

#[test]
fn a_manager_that_updates_is_known_by_its_version_too() {
    let maps = maps();
    let mut live = maps.track_update(None, map(json!({"a": "1"})), &by("one"));
    live["metadata"]["uid"] = json!("u");
    let mut new = live.clone();
    new["data"]["b"] = json!("1");
    let tracked = maps.track_update(Some(&live), new, &Request { api_version: "v2", ..by("one") });
    assert_eq!(owners(&tracked).len(), 2);

    // Whoever applies is one manager in all versions.
    let applied = maps.apply(None, &map(json!({"a": "1"})), &by("one"), false).unwrap().object;
    let mut config = map(json!({"b": "1"}));
    config["apiVersion"] = json!("v2");
    let request = Request { api_version: "v2", ..by("one") };
    let applied = maps.apply(Some(&applied), &config, &request, false).unwrap().object;
    assert_eq!(owners(&applied), [("one/Apply".into(), json!({"f:data": {"f:b": {}}}))]);
    assert_eq!(applied["data"], json!({"b": "1"}));
}
