//! What the patches do, beyond what the recordings show.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside of a test function

use lariat_apiserver::patch::{PatchError, PatchKind, json_patch, merge_patch, strategic_patch};
use serde_json::{Value, json};

#[track_caller]
fn json_gives(object: Value, patch: Value, expect: Value) {
    assert_eq!(json_patch(&object, &patch), Ok(expect), "{patch}");
}

#[track_caller]
fn json_refuses(object: Value, patch: Value, code: u16) {
    let refused = json_patch(&object, &patch).unwrap_err();
    assert_eq!(refused.status().code, code, "{patch}: {refused}");
}

#[test]
fn json_patch_does_the_examples_of_the_rfc() {
    json_gives(
        json!({"foo": "bar"}),
        json!([{"op": "add", "path": "/baz", "value": "qux"}]),
        json!({"baz": "qux", "foo": "bar"}),
    );
    json_gives(
        json!({"foo": ["bar", "baz"]}),
        json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
        json!({"foo": ["bar", "qux", "baz"]}),
    );
    json_gives(
        json!({"baz": "qux", "foo": "bar"}),
        json!([{"op": "remove", "path": "/baz"}]),
        json!({"foo": "bar"}),
    );
    json_gives(
        json!({"foo": ["bar", "qux", "baz"]}),
        json!([{"op": "remove", "path": "/foo/1"}]),
        json!({"foo": ["bar", "baz"]}),
    );
    json_gives(
        json!({"baz": "qux"}),
        json!([{"op": "replace", "path": "/baz", "value": "boo"}]),
        json!({"baz": "boo"}),
    );
    json_gives(
        json!({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}),
        json!([{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]),
        json!({"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
    );
    json_gives(
        json!({"foo": ["all", "grass", "cows", "eat"]}),
        json!([{"op": "move", "from": "/foo/1", "path": "/foo/3"}]),
        json!({"foo": ["all", "cows", "eat", "grass"]}),
    );
    json_gives(
        json!({"baz": "qux", "foo": ["a", 2, "c"]}),
        json!([{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2.0}]),
        json!({"baz": "qux", "foo": ["a", 2, "c"]}),
    );
    json_refuses(json!({"baz": "qux"}), json!([{"op": "test", "path": "/baz", "value": "bar"}]), 422);
    json_gives(
        json!({"foo": "bar"}),
        json!([{"op": "add", "path": "/child", "value": {"grandchild": {}}}]),
        json!({"foo": "bar", "child": {"grandchild": {}}}),
    );
    json_gives(
        json!({"foo": "bar"}),
        json!([{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]),
        json!({"foo": "bar", "baz": "qux"}),
    );
    json_refuses(json!({"foo": "bar"}), json!([{"op": "add", "path": "/baz/bat", "value": "qux"}]), 422);
    json_gives(
        json!({"/": 9, "~1": 10}),
        json!([{"op": "test", "path": "/~01", "value": 10}, {"op": "test", "path": "/~1", "value": 9}]),
        json!({"/": 9, "~1": 10}),
    );
    json_refuses(json!({"~1": 10}), json!([{"op": "test", "path": "/~01", "value": "10"}]), 422);
    json_gives(
        json!({"foo": ["bar"]}),
        json!([{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]),
        json!({"foo": ["bar", ["abc", "def"]]}),
    );
}

#[test]
fn json_patch_is_as_lax_as_the_server() {
    json_gives(
        json!({"a": {}}),
        json!([{"op": "replace", "path": "/a/b", "value": 1}]),
        json!({"a": {"b": 1}}),
    );
    json_gives(json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/-1"}]), json!({"a": [1]}));
    json_gives(json!({}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"b": null}));
    json_gives(json!({}), json!([{"op": "test", "path": "/a", "value": null}]), json!({}));
    json_gives(json!({"a": 1}), json!([{"op": "replace", "path": "", "value": {"b": 1}}]), json!({"b": 1}));
}

#[test]
fn json_patch_refuses() {
    for patch in [json!({}), json!("x"), json!(null), json!([1]), json!([[]])] {
        json_refuses(json!({}), patch, 400);
    }
    for operation in [
        json!({}),
        json!({"op": "frob", "path": "/a"}),
        json!({"op": "add"}),
        json!({"op": "add", "path": 1}),
        json!({"op": "add", "path": "", "value": 1}),
        json!({"op": "add", "path": "/list/3", "value": 1}),
        json!({"op": "add", "path": "/list/x", "value": 1}),
        json!({"op": "add", "path": "/list/-4", "value": 1}),
        json!({"op": "add", "path": "/text/0", "value": 1}),
        json!({"op": "remove", "path": "/list/2"}),
        json!({"op": "remove", "path": "/nope"}),
        json!({"op": "replace", "path": "/list/2", "value": 1}),
        json!({"op": "replace", "path": "", "value": 1}),
        json!({"op": "move", "path": "/a"}),
        json!({"op": "move", "from": "/nope", "path": "/a"}),
        json!({"op": "move", "from": "/map", "path": "/map/child"}),
        json!({"op": "copy", "from": "/list/9", "path": "/a"}),
    ] {
        json_refuses(json!({"list": [1, 2], "text": "t", "map": {}}), json!([operation]), 422);
    }
    let many = Value::Array(vec![json!({"op": "test", "path": "/a", "value": null}); 10_001]);
    json_refuses(json!({}), many, 413);
}

#[test]
fn json_patch_cannot_grow_without_end() {
    // Every copy doubles how deep it is, and how large.
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/a"});
    json_refuses(json!({"a": {"a": 1}}), Value::Array(vec![copy; 200]), 422);
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let large = json!({"a": ["x".repeat(1 << 16)]});
    json_refuses(large, Value::Array(vec![double; 200]), 422);
}

#[test]
fn merge_patch_does_the_examples_of_the_rfc() {
    for (object, patch, expect) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ] {
        assert_eq!(merge_patch(&object, &patch), Ok(expect));
    }
    for patch in [json!(["c"]), json!(null), json!("bar")] {
        assert_eq!(merge_patch(&json!({}), &patch).unwrap_err().status().code, 400);
    }
}

#[test]
fn media_types() {
    assert_eq!(PatchKind::from_media_type("application/json-patch+json"), Some(PatchKind::Json));
    assert_eq!(
        PatchKind::from_media_type("application/merge-patch+json; charset=utf-8"),
        Some(PatchKind::Merge)
    );
    assert_eq!(PatchKind::from_media_type("application/json"), None);
}

#[track_caller]
fn strategic_gives(object: Value, patch: Value, expect: Value) {
    assert_eq!(strategic_patch(&object, &patch, "", "Pod"), Ok(expect), "{patch}");
}

#[track_caller]
fn strategic_refuses(patch: Value, code: u16, message: &str) {
    let pod = json!({
        "metadata": {"finalizers": ["a", "b"]},
        "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]}
    });
    let refused = strategic_patch(&pod, &patch, "", "Pod").unwrap_err();
    assert_eq!((refused.status().code, refused.to_string().as_str()), (code, message), "{patch}");
}

#[test]
fn strategic_lists_merge_by_key() {
    strategic_gives(
        json!({"spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}], "args": ["1", "2"]}]}}),
        json!({"spec": {"containers": [
            {"name": "a", "env": [{"name": "Y", "value": "2"}], "args": ["3"]}, {"name": "b", "image": null}
        ]}}),
        json!({"spec": {"containers": [
            {"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}], "args": ["3"]},
            {"name": "b"}
        ]}}),
    );
    strategic_gives(
        json!({"spec": {"tolerations": [{"key": "a"}], "volumes": [{"name": "v", "emptyDir": {}}]}}),
        json!({"spec": {"tolerations": [{"key": "b"}], "volumes": [{"name": "v", "emptyDir": null, "hostPath": {"path": "/"}}]}}),
        json!({"spec": {"tolerations": [{"key": "b"}], "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
    );
    let service = json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}], "selector": {"a": "b"}}});
    let patch =
        json!({"spec": {"ports": [{"port": 80.0, "name": "http"}, {"port": 81}], "selector": {"c": "d"}}});
    assert_eq!(
        strategic_patch(&service, &patch, "", "Service").unwrap(),
        json!({"spec": {
            "ports": [{"port": 80.0, "protocol": "TCP", "name": "http"}, {"port": 81}],
            "selector": {"a": "b", "c": "d"}
        }})
    );
    let node = json!({"spec": {"podCIDRs": ["a"], "taints": [{"key": "a"}]}});
    let patch = json!({"spec": {"podCIDRs": ["b", "a"], "taints": [{"key": "b"}]}});
    assert_eq!(
        strategic_patch(&node, &patch, "", "Node").unwrap(),
        json!({"spec": {"podCIDRs": ["b", "a"], "taints": [{"key": "b"}]}})
    );
}

#[test]
fn strategic_keeps_the_servers_order_where_it_can() {
    let list = |names: &[&str]| json!({"spec": {"containers": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}});
    strategic_gives(list(&["a", "b", "c"]), list(&["c", "a"]), list(&["b", "c", "a"]));
    strategic_gives(list(&["a", "b", "c"]), list(&["b", "x"]), list(&["a", "b", "x", "c"]));
    let mut patch = list(&["x", "b"]);
    patch["spec"]["$setElementOrder/containers"] = json!([{"name": "x"}, {"name": "b"}, {"name": "a"}]);
    strategic_gives(list(&["a", "b", "c"]), patch, list(&["x", "b", "a", "c"]));
    strategic_gives(
        list(&["a", "b", "c"]),
        json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}}),
        list(&["b", "c", "a"]),
    );
}

#[test]
fn strategic_directives() {
    let pod = || {
        json!({
            "metadata": {"finalizers": ["a", "b"], "labels": {"x": "1"},
                "ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]},
            "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}],
                "volumes": [{"name": "v", "emptyDir": {}}]}
        })
    };
    let check = |patch: Value, at: &str, expect: Value| {
        let patched = strategic_patch(&pod(), &patch, "", "Pod").unwrap();
        assert_eq!(patched.pointer(at).cloned().unwrap_or_default(), expect, "{patch}");
    };
    check(
        json!({"metadata": {"labels": {"$patch": "replace", "y": "2"}}}),
        "/metadata/labels",
        json!({"y": "2"}),
    );
    check(json!({"metadata": {"labels": {"$patch": "delete"}}}), "/metadata/labels", json!({}));
    check(json!({"metadata": {"labels": null}}), "/metadata/labels", json!(null));
    check(json!({"metadata": {"finalizers": ["c", "a"]}}), "/metadata/finalizers", json!(["c", "a", "b"]));
    check(
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}}),
        "/metadata/finalizers",
        json!(["b"]),
    );
    check(
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"], "$setElementOrder/finalizers": ["c", "b"]}}),
        "/metadata/finalizers",
        json!(["c", "b"]),
    );
    check(
        json!({"metadata": {"ownerReferences": [{"uid": "1", "$patch": "delete"}, {"uid": "3", "name": "c"}]}}),
        "/metadata/ownerReferences",
        json!([{"uid": "3", "name": "c"}, {"uid": "2", "name": "b"}]),
    );
    check(
        json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}}),
        "/spec/containers",
        json!([{"name": "c"}]),
    );
    check(
        json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}),
        "/spec/volumes",
        json!([{"name": "v", "hostPath": {"path": "/"}}]),
    );
    // Directives about what is not there leave nothing behind.
    check(
        json!({"spec": {"initContainers": [{"name": "x", "$patch": "delete"}, {"name": "y", "$retainKeys": ["name"]}]}}),
        "/spec/initContainers",
        json!([{"name": "y"}]),
    );
    check(json!({"spec": {"securityContext": {"$patch": "delete"}}}), "/spec/securityContext", json!(null));
}

#[test]
fn strategic_refuses_what_makes_no_sense() {
    strategic_refuses(
        json!([]),
        400,
        "json: cannot unmarshal array into Go value of type map[string]interface {}",
    );
    strategic_refuses(
        json!({"spec": {"containers": [{"image": "x"}]}}),
        500,
        "map: map[image:x] does not contain declared merge key: name",
    );
    strategic_refuses(
        json!({"metadata": {"$patch": "merge"}}),
        500,
        "unknown patch type: merge in map: map[$patch:merge]",
    );
    strategic_refuses(
        json!({"spec": {"containers": [{"name": "a", "$patch": "merge"}]}}),
        500,
        "merging lists cannot yet be specified in the patch",
    );
    strategic_refuses(json!({"spec": {"$retainKeys": "x"}}), 400, "invalid patch format of retainKeys");
    strategic_refuses(
        json!({"spec": {"$retainKeys": ["a"], "b": 1}}),
        400,
        "invalid patch format of retainKeys",
    );
    strategic_refuses(
        json!({"metadata": {"$deleteFromPrimitiveList": ["a"]}}),
        400,
        "invalid patch format of primitive list",
    );
    strategic_refuses(
        json!({"spec": {"$setElementOrder": []}}),
        400,
        "invalid patch format of setElementOrder list",
    );
    strategic_refuses(
        json!({"metadata": {"finalizers": [["a"]]}}),
        500,
        "list element types are not identical: string and array",
    );
    let order =
        json!({"spec": {"containers": [{"name": "x"}], "$setElementOrder/containers": [{"name": "y"}]}});
    let pod = json!({"spec": {"containers": []}});
    assert!(matches!(strategic_patch(&pod, &order, "", "Pod"), Err(PatchError::Failed(_))));
}

/// A value that is as deep as it may be read.
fn deep(depth: usize) -> Value {
    (0..depth).fold(json!(1), |value, _| json!({"a": value}))
}

#[test]
fn depth_is_limited() {
    let (fits, too_deep) = (deep(128), deep(129));
    assert!(merge_patch(&fits, &fits).is_ok());
    assert!(merge_patch(&fits, &too_deep).is_err());
    assert!(strategic_patch(&too_deep, &fits, "", "Pod").is_err());
    assert!(json_patch(&too_deep, &json!([])).is_err());
}

#[test]
fn junk_never_panics() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let (object, patch) = (junk(&mut random, 5), junk(&mut random, 5));
        let _ = merge_patch(&object, &patch);
        let _ = strategic_patch(&object, &patch, "", "Pod");
        let _ = json_patch(&object, &patch);
        let operations: Vec<Value> = (0..random.usize(..4)).map(|_| operation(&mut random)).collect();
        if let Ok(patched) = json_patch(&object, &Value::Array(operations)) {
            let _ = strategic_patch(&patched, &patch, "", "Node");
        }
    }
}

fn operation(random: &mut fastrand::Rng) -> Value {
    let path = |random: &mut fastrand::Rng| {
        let steps = (0..random.usize(..4))
            .map(|_| ["", "spec", "0", "-", "-1", "~2", "containers", "é"][random.usize(..8)]);
        steps.map(|step| format!("/{step}")).collect::<String>()
    };
    json!({
        "op": (["add", "remove", "replace", "move", "copy", "test"][random.usize(..6)]),
        "path": path(random), "from": path(random), "value": junk(random, 2)
    })
}

fn junk(random: &mut fastrand::Rng, depth: usize) -> Value {
    const NAMES: [&str; 16] = [
        "metadata",
        "spec",
        "status",
        "containers",
        "name",
        "finalizers",
        "ownerReferences",
        "uid",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
        "labels",
        "conditions",
        "type",
    ];
    match random.usize(..if depth == 0 { 5 } else { 9 }) {
        0 => Value::Null,
        1 => json!(random.i32(..3)),
        2 => ["delete", "replace", "merge", "a", "b"][random.usize(..5)].into(),
        3 => json!(random.bool()),
        4 => json!(0.5),
        5 => (0..random.usize(..4)).map(|_| junk(random, depth - 1)).collect(),
        _ => {
            let fields = (0..random.usize(..5))
                .map(|_| (NAMES[random.usize(..16)].to_owned(), junk(random, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}
