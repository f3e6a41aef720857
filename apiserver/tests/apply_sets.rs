//! The algebra of field sets, and how they are read and printed.

#![allow(clippy::unwrap_used)] // helpers of tests, outside of a test function

use lariat_apiserver::apply::{FieldSet, PathElement};
use serde_json::{Value, json};

fn set(fields: Value) -> FieldSet {
    FieldSet::from_fields_v1(&fields).unwrap()
}

fn random_set(random: &mut fastrand::Rng) -> FieldSet {
    let mut set = FieldSet::new();
    for _ in 0..random.usize(..12) {
        let path: Vec<PathElement> = (0..random.usize(..4))
            .map(|_| match random.usize(..6) {
                0 => PathElement::key([("name", json!(random.i32(..2))), ("p", json!("TCP"))]),
                1 => PathElement::Value(["a", "b\"c"][random.usize(..2)].into()),
                2 => PathElement::Index(random.i64(..2)),
                _ => PathElement::field(["a", "b", "."][random.usize(..3)]),
            })
            .collect();
        set.insert(&path);
    }
    set
}

#[test]
fn sets_obey_the_laws_of_sets() {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..5_000 {
        let (a, b, c) = (random_set(&mut random), random_set(&mut random), random_set(&mut random));
        assert_eq!(a.union(&b), b.union(&a));
        assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        assert_eq!(a.intersection(&b), b.intersection(&a));
        assert_eq!(a.union(&a), a);
        assert!(a.difference(&a).is_empty());
        assert_eq!(a.difference(&b).union(&a.intersection(&b)), a);
        assert_eq!(a.difference(&b).intersection(&b), FieldSet::new());
        assert_eq!(a.difference(&b.union(&c)), a.difference(&b).difference(&c));
        assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
        assert_eq!(a.difference_below(&b).intersection(&b), FieldSet::new());
        assert_eq!(a.union(&b).len(), a.len() + b.len() - a.intersection(&b).len());
        for path in a.paths() {
            assert!(a.has(&path) && a.union(&b).has(&path));
            assert_eq!(a.difference(&b).has(&path), !b.has(&path));
        }
        assert_eq!(a.paths().len(), a.len());
        assert_eq!(FieldSet::from_fields_v1(&a.to_fields_v1()), Ok(a));
    }
}

#[test]
fn sets_are_read_and_printed() {
    let fields = json!({
        "f:a": {".": {}, "k:{\"name\":\"x\",\"port\":80}": {".": {}, "f:v": {}}},
        "f:b": {"v:\"q\\\"\"": {}, "v:1": {}, "v:true": {}}, "f:c": {"i:3": {}}, "f:": {}, "f:x:y": {}
    });
    assert_eq!(set(fields.clone()).to_fields_v1(), fields);
    assert_eq!(set(json!({"f:a": {".": {}}})).to_fields_v1(), json!({"f:a": {}}));
    assert_eq!(set(json!({"k:{\"b\":1,\"a\":2}": {}})).to_fields_v1(), json!({"k:{\"a\":2,\"b\":1}": {}}));
    assert_eq!(set(json!({"z:new": {"f:a": {}}, "f:a": {}})).to_fields_v1(), json!({"f:a": {}}));
    assert!(set(json!({})).is_empty() && set(json!({".": {}})).is_empty());
    for junk in
        [json!(1), json!([]), json!({"f:a": 1}), json!({"a": {}}), json!({"k:x": {}}), json!({"i:x": {}})]
    {
        assert!(FieldSet::from_fields_v1(&junk).is_err(), "{junk}");
    }
    let deep = (0..200).fold(json!({}), |below, _| json!({"f:a": below}));
    assert!(FieldSet::from_fields_v1(&deep).is_err());
    let mut long = FieldSet::new();
    long.insert(&vec![PathElement::field("a"); 100_000]);
    assert_eq!(long.len(), 1);
}
