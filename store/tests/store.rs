//! What readers may rely on.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use lariat_api::labels::Selector;
use lariat_api::{DynamicObject, Kind, Object, ObjectKey, ObjectMeta};
use lariat_store::{DuplicateIndex, Indexers, Lister, NAMESPACE_INDEX, Store, UnknownIndex};
use serde_json::json;

const PODS: Kind = Kind::namespaced("", "v1", "Pod", "pods");

fn object(namespace: &str, name: &str, labels: &[(&str, &str)]) -> Arc<DynamicObject> {
    let mut object = DynamicObject::default();
    object.metadata.namespace = namespace.into();
    object.metadata.name = name.into();
    object.metadata.labels = labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Arc::new(object)
}

fn by_namespace() -> Indexers<DynamicObject> {
    Indexers::new().with(NAMESPACE_INDEX, |object: &DynamicObject, emit| emit(object.namespace()))
}

fn filled(indexers: Indexers<DynamicObject>) -> Store<DynamicObject> {
    let store = Store::with_indexers(indexers);
    for (namespace, name, tier) in [("a", "1", "x"), ("a", "2", "y"), ("b", "1", "x")] {
        let object = object(namespace, name, &[("tier", tier)]);
        store.insert(object.key().unwrap(), object);
    }
    store
}

fn names(mut objects: Vec<Arc<DynamicObject>>) -> Vec<String> {
    objects.sort_by_key(|object| object.key().unwrap());
    objects.iter().map(|object| object.key().unwrap().to_string()).collect()
}

/// ST-5: existing objects are found through an index that is added later; a duplicate changes nothing.
#[test]
fn indexers_can_be_added_to_a_filled_store() {
    let store = filled(Indexers::new());
    store.add_indexers(by_namespace()).unwrap();
    assert_eq!(names(store.by_index(NAMESPACE_INDEX, "a").unwrap()), ["a/1", "a/2"]);

    let twice = by_namespace().with("name", |object: &DynamicObject, emit| emit(object.name()));
    assert_eq!(store.add_indexers(twice), Err(DuplicateIndex(NAMESPACE_INDEX.into())));
    assert_eq!(store.by_index("name", "1"), Err(UnknownIndex("name".into())));
}

/// ST-4: sets of values that nobody has any more are gone.
#[test]
fn an_index_keeps_no_empty_sets() {
    let store = filled(by_namespace());
    store.remove("b/1");
    assert_eq!(store.index_values(NAMESPACE_INDEX).unwrap(), ["a"]);
}

#[test]
fn the_first_key_goes_on_being_shared() {
    let store = filled(by_namespace());
    let (first, _) = store.get_key_value("a/1").unwrap();
    // The object moves to another set of the index, under a key of its own that says the same.
    store.insert(ObjectKey::new("a", "1"), object("elsewhere", "1", &[]));
    let (later, _) = store.get_key_value("a/1").unwrap();
    assert!(std::ptr::eq(first.as_str(), later.as_str()));
    let indexed = store.index_keys(NAMESPACE_INDEX, "elsewhere").unwrap().remove(0);
    assert!(std::ptr::eq(first.as_str(), indexed.as_str()));
}

/// ST-5 [W]: a panic of an index function does not leave the store half changed or locked for ever.
#[test]
fn a_panicking_index_function_changes_nothing() {
    let picky = by_namespace().with("picky", |object: &DynamicObject, emit| {
        assert!(object.name() != "bad", "I do not like it");
        emit(object.name());
    });
    let store = filled(picky);
    let insert = || store.insert(ObjectKey::new("c", "bad"), object("c", "bad", &[]));
    panic::catch_unwind(AssertUnwindSafe(insert)).unwrap_err();
    assert_eq!(store.len(), 3);
    assert!(store.by_index(NAMESPACE_INDEX, "c").unwrap().is_empty());
    store.insert(ObjectKey::new("c", "good"), object("c", "good", &[]));
    assert_eq!(names(store.by_index("picky", "good").unwrap()), ["c/good"]);
}

/// ST-6: readers see a transaction's writes together.
#[test]
fn a_transaction_is_seen_as_a_whole() {
    let store = filled(by_namespace());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..2_000 {
                let (from, to) = if round % 2 == 0 { ("a/1", "c") } else { ("c/1", "a") };
                store.transaction(|writes| {
                    writes.remove(from);
                    writes.insert(ObjectKey::new(to, "1"), object(to, "1", &[]));
                });
            }
        });
        for _ in 0..2_000 {
            assert_eq!(store.list().len(), 3);
        }
    });
    assert_eq!(names(store.list()), ["a/1", "a/2", "b/1"]);
}

/// ST-9: over everything, within a namespace, and by key.
#[test]
fn listers_select_by_namespace_and_labels() {
    let pods = Lister::new(PODS, filled(by_namespace()));
    let tier_x: Selector = "tier=x".parse().unwrap();
    assert_eq!(names(pods.list(&tier_x)), ["a/1", "b/1"]);
    assert_eq!(names(pods.namespace("a").list(&tier_x)), ["a/1"]);
    assert_eq!(names(pods.namespace("a").list(&Selector::everything())), ["a/1", "a/2"]);
    assert!(pods.list(&Selector::nothing()).is_empty());
    assert!(pods.namespace("a").list(&Selector::nothing()).is_empty());
    assert_eq!(pods.namespace("b").get("1").unwrap().name(), "1");
    let missing = pods.namespace("b").get("2").unwrap_err();
    assert_eq!((missing.resource.as_str(), missing.key.as_str()), ("pods", "b/2"));
}

/// ST-9: a selector that matches nothing looks at no object, nor does a key; an absent one is named with its group.
#[test]
fn a_selector_that_matches_nothing_scans_nothing() {
    struct Unread;

    impl Object for Unread {
        type Meta = ObjectMeta;

        fn meta(&self) -> &ObjectMeta {
            panic!("nobody should look at this")
        }
    }

    let store = Store::new();
    store.insert(ObjectKey::new("n", "a"), Arc::new(Unread));
    let fleets = Lister::new(Kind::namespaced("agones.dev", "v1", "Fleet", "fleets"), store);
    assert!(fleets.list(&Selector::nothing()).is_empty());
    assert!(fleets.namespace("n").list(&Selector::nothing()).is_empty());
    assert!(fleets.namespace("n").get("a").is_ok());
    let missing = fleets.get(&ObjectKey::new("n", "b")).map(drop).unwrap_err();
    assert_eq!(missing.to_string(), "fleets.agones.dev \"n/b\" not found");
}

/// ST-3: the values of an index that an object has or would have.
#[test]
fn values_of_an_object_are_those_of_the_index() {
    let store = filled(by_namespace());
    assert_eq!(store.index_values_of(NAMESPACE_INDEX, &object("z", "1", &[])).unwrap(), ["z"]);
    assert!(store.index_values_of("node", &object("z", "1", &[])).is_err());
    assert_eq!(store.list().len(), 3, "it was not stored");
}

/// ST-9: without the index a namespace is still listed.
#[test]
fn a_namespace_is_listed_without_its_index() {
    let pods = Lister::new(PODS, filled(Indexers::new()));
    assert_eq!(names(pods.namespace("a").list(&"tier=x".parse().unwrap())), ["a/1"]);
}

#[test]
fn objects_are_shared_and_not_copied() {
    let store = Store::new();
    let value = Arc::new(json!({"a": 1}));
    store.insert(ObjectKey::explicit("k"), value.clone());
    assert!(Arc::ptr_eq(&store.get("k").unwrap(), &value));
}
