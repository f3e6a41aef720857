//! What is interned is what would have been decoded, shared where it can be, and forgotten when nobody has it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_api::{DynamicObject, Interned, ObjectMeta, Randomness, TextMap};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

type Labels = BTreeMap<String, String>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped {
    value: Interned<Value>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plain {
    value: Value,
}

fn decode(text: &str) -> Interned<Labels> {
    serde_json::from_str(text).unwrap()
}

/// The table is one for the process: what one test floods it with, another would miss in it.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Any JSON, written in any way: with escapes, in any order of keys, with white space.
#[test]
fn an_interned_value_is_what_plain_decoding_gives() {
    let _turn = turn();
    for seed in 0..3_000 {
        let random = Randomness::seeded(seed);
        let value = random_value(&random, 4);
        let text = write(&value, &random);
        // The second is taken in, the third is shared.
        for time in 0..3 {
            let wrapped: Wrapped = serde_json::from_str(&format!(r#"{{"value": {text} }}"#)).unwrap();
            let plain: Plain = serde_json::from_str(&format!(r#"{{"value": {text} }}"#)).unwrap();
            assert_eq!(*wrapped.value, plain.value, "seed {seed}, time {time}: {text}");
            assert_eq!(serde_json::to_string(&wrapped).unwrap(), serde_json::to_string(&plain).unwrap());
        }
        let from_value: Wrapped = serde_json::from_value(json!({"value": value})).unwrap();
        assert_eq!(*from_value.value, value, "seed {seed}, from a value");
    }
}

#[test]
fn what_is_no_value_is_an_error_each_time() {
    let _turn = turn();
    for text in [r#"{"a":1}"#, r#"{"a":"\ud800"}"#, r#"{"a":"b""#, "[]", "", r#"{"a":"b",}"#, "7"] {
        for _ in 0..4 {
            assert!(serde_json::from_str::<Interned<Labels>>(text).is_err(), "{text}");
        }
    }
}

#[test]
fn equal_texts_are_shared_from_the_third_time_on() {
    let _turn = turn();
    let text = r#"{"shared":"from the third"}"#;
    let (first, second, third) = (decode(text), decode(text), decode(text));
    assert!(!Interned::is_shared(&first, &second));
    assert!(Interned::is_shared(&second, &third));
    assert!(first == third);
    let bytes: Interned<Labels> = serde_json::from_slice(text.as_bytes()).unwrap();
    assert!(Interned::is_shared(&third, &bytes));
    let nested: Vec<Interned<Labels>> = serde_json::from_str(&format!("[{text}, {text}]")).unwrap();
    assert!(Interned::is_shared(&nested[0], &nested[1]) && Interned::is_shared(&nested[0], &third));
}

#[test]
fn the_same_text_may_be_several_things() {
    let _turn = turn();
    for _ in 0..3 {
        let number: Interned<u32> = serde_json::from_str("17").unwrap();
        let wide: Interned<u64> = serde_json::from_str("17").unwrap();
        let quoted: Interned<String> = serde_json::from_str("\"17\"").unwrap();
        let text = Interned::text("17");
        let with_quotes = Interned::text("\"17\"");
        assert_eq!((*number, *wide, quoted.as_str(), text.as_str()), (17, 17, "17", "17"));
        assert_eq!(with_quotes.as_str(), "\"17\"");
    }
}

#[test]
fn a_change_is_seen_by_nobody_else() {
    let _turn = turn();
    let text = r#"{"changed":"by one"}"#;
    let (_, second, mut third) = (decode(text), decode(text), decode(text));
    third.insert("more".into(), "1".into());
    assert_eq!((second.len(), third.len()), (1, 2));
    assert_eq!(decode(text).len(), 1);
    assert_eq!(Interned::into_inner(third).len(), 2);
}

#[test]
fn what_nobody_has_is_forgotten() {
    let _turn = turn();
    #[derive(Default)]
    struct Held(#[allow(dead_code)] String);

    impl<'de> Deserialize<'de> for Held {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            String::deserialize(deserializer).map(Self)
        }
    }

    static DROPPED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    impl Drop for Held {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    for number in 0..20_000 {
        let text = format!("\"{number}\"");
        let held: Vec<Interned<Held>> = (0..3).map(|_| serde_json::from_str(&text).unwrap()).collect();
        assert!(Interned::is_shared(&held[1], &held[2]));
    }
    assert_eq!(DROPPED.load(std::sync::atomic::Ordering::Relaxed), 40_000);
}

/// The table is bounded. What does not fit is right all the same.
#[test]
fn more_values_than_the_table_has_room_for() {
    let _turn = turn();
    let decode = |number: usize| -> Interned<Vec<usize>> {
        serde_json::from_str(&format!("[{number},1,2,3]")).unwrap()
    };
    let held: Vec<_> =
        (0..20_000).flat_map(|number| [decode(number), decode(number), decode(number)]).collect();
    for (at, value) in held.iter().enumerate() {
        assert_eq!(value[0], at / 3);
    }
    assert!(held.chunks(3).all(|three| Interned::is_shared(&three[1], &three[2])));
}

#[test]
fn a_long_text_is_decoded_as_ever() {
    let _turn = turn();
    let text = json!({"long": "x".repeat(20_000)}).to_string();
    let (first, _, third) = (decode(&text), decode(&text), decode(&text));
    assert!(first == third && !Interned::is_shared(&first, &third));
}

#[test]
fn a_default_takes_no_memory_and_can_be_changed() {
    let _turn = turn();
    let mut labels = Interned::<Labels>::default();
    assert!(labels.is_empty() && Interned::is_shared(&labels, &Interned::default()));
    labels.insert("a".into(), "b".into());
    assert_eq!((labels.len(), Interned::<Labels>::default().len()), (1, 0));
    assert_eq!(size_of::<Interned<Labels>>(), size_of::<usize>());
}

/// As before it was written by hand: nulls, unknown fields, fields in any order, metadata within flattened objects.
#[test]
fn metadata_comes_out_as_it_went_in() {
    let _turn = turn();
    for seed in 0..2_000 {
        let random = Randomness::seeded(seed);
        let mut fields = Map::new();
        let text = |random: &Randomness| json!(TEXTS[random.below(TEXTS.len() as u64) as usize]);
        for name in [
            "name",
            "generateName",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "deletionTimestamp",
        ] {
            if random.below(3) > 0 {
                fields.insert(name.into(), text(&random));
            }
        }
        for name in ["labels", "annotations"] {
            let map: Map<String, Value> =
                (0..random.below(4)).map(|n| (format!("k{n}\u{e9}\""), text(&random))).collect();
            fields.insert(name.into(), if random.below(4) == 0 { Value::Null } else { map.into() });
        }
        if random.below(2) == 0 {
            fields.insert(
                "ownerReferences".into(),
                json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}]),
            );
            fields.insert("finalizers".into(), json!(["a", "b"]));
            fields.insert("selfLink".into(), random_value(&random, 2));
            fields.insert("generation".into(), json!(random.below(9)));
        }
        fields.insert("managedFields".into(), random_value(&random, 3));
        let written = write(&Value::Object(fields.clone()), &random);
        let meta: ObjectMeta = serde_json::from_str(&written).unwrap();
        let object: DynamicObject =
            serde_json::from_str(&format!(r#"{{"x":[],"metadata":{written},"spec":{{}}}}"#)).unwrap();
        assert_eq!(object.metadata, meta);
        assert_eq!(serde_json::from_value::<ObjectMeta>(fields.clone().into()).unwrap(), meta, "{written}");

        fields.remove("managedFields");
        fields.retain(|name, value| {
            let is_empty = value.as_str() == Some("")
                || value.as_object().is_some_and(Map::is_empty)
                || value == &json!(0);
            name == "selfLink" || name.ends_with("Timestamp") || !(is_empty || value.is_null())
        });
        assert_eq!(serde_json::to_value(&meta).unwrap(), Value::Object(fields), "seed {seed}: {written}");
    }
}

#[test]
fn a_map_of_texts_is_a_map() {
    let _turn = turn();
    let mut map: TextMap = serde_json::from_str(r#"{"b":"2","a":"1","b":"3"}"#).unwrap();
    assert_eq!(map.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "3")]);
    assert_eq!(map.insert("c", "4"), None);
    assert_eq!(map.insert("aa", "5"), None);
    assert_eq!(map.remove("b").as_deref(), Some("3"));
    assert_eq!(map.remove("b"), None);
    assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"a":"1","aa":"5","c":"4"}"#);
    assert!(map.contains_key("aa") && !map.contains_key("b"));
    assert!(serde_json::from_str::<TextMap>(r#"{"a":1}"#).is_err());
}

const TEXTS: [&str; 9] = [
    "",
    "a",
    "\"",
    "\\",
    "\u{1}\n",
    "€😀",
    "null",
    "a rather long text, longer than what is inline",
    "2026-11-29T11:38:58Z",
];

/// Writes JSON with needless escapes and white space.
fn write(value: &Value, random: &Randomness) -> String {
    let space = |random: &Randomness| [" ", "", "\n\t"][random.below(3) as usize];
    let string = |text: &str, random: &Randomness| {
        let quoted = json!(text).to_string();
        if random.below(3) > 0 {
            return quoted;
        }
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{escaped}\"")
    };
    match value {
        Value::String(text) => string(text, random),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| write(item, random)).collect();
            format!("[{}{}]", space(random), items.join(&format!("{},", space(random))))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{}{}:{}{}",
                        string(key, random),
                        space(random),
                        space(random),
                        write(value, random)
                    )
                })
                .collect();
            if random.below(2) == 0 {
                fields.reverse();
            }
            format!("{{{}{}}}", fields.join(","), space(random))
        }
        other => other.to_string(),
    }
}

fn random_value(random: &Randomness, depth: u64) -> Value {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => json!(random.below(1_000) as f64 / 8.0),
        2 => json!(random.below(1_000)),
        3 => TEXTS[random.below(TEXTS.len() as u64) as usize].into(),
        4 => (0..random.below(4)).map(|_| random_value(random, depth - 1)).collect(),
        _ => (0..random.below(4))
            .map(|_| {
                (TEXTS[random.below(TEXTS.len() as u64) as usize].to_owned(), random_value(random, depth - 1))
            })
            .collect(),
    }
}
