//! The fast reader of JSON against `serde_json`, on any document and any damage.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod any_json;

use std::collections::BTreeMap;
use std::fmt::Debug;

use any_json::{check_all, damage, damaged, key, space, value};
use lariat_api::{DynamicObject, IntOrString, Interned, ObjectMeta, PartialObjectMetadata, WatchEvent, json};
use lariat_fixtures::{Recording, recording_path};
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample::select;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

/// What a type makes of a text, or why not.
fn shown<T: Debug, E: ToString>(result: Result<T, E>) -> Result<String, String> {
    result.map(|value| format!("{value:?}")).map_err(|error| error.to_string())
}

/// Both decode a text to the same, or fail for the same reason, and both find the end of the value at the same place.
fn same<T: DeserializeOwned + Debug>(text: &str) -> Result<(), String> {
    let (got, want) = (shown(json::from_str::<T>(text)), shown(serde_json::from_str::<T>(text)));
    if got != want {
        return Err(format!("{} of {text:?} is {got:?}, not {want:?}", std::any::type_name::<T>()));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    if let (Some((value, end)), Some(Ok(wanted))) = (json::first::<T>(text), values.next()) {
        let (got, want) = ((format!("{value:?}"), end), (format!("{wanted:?}"), values.byte_offset()));
        if got != want {
            return Err(format!("{} begins {text:?} with {got:?}, not {want:?}", std::any::type_name::<T>()));
        }
    }
    Ok(())
}

/// One of what derives make.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)]
struct Object {
    #[serde(default)]
    metadata: Value,
    items: Option<Interned<Vec<Value>>>,
    #[serde(default)]
    a: Interned<Value>,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Flat {
    kind: Option<IgnoredAny>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
enum Tagged {
    #[serde(rename = "items")]
    Items(Vec<Value>),
    #[serde(rename = "metadata")]
    Metadata { a: Option<Value> },
    #[serde(rename = "kind")]
    Kind,
    #[serde(rename = "a")]
    Pair(Value, Value),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    Number(i64),
    Text(String),
    Pair(f64, Option<bool>),
    Object(BTreeMap<String, Value>),
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Wrapped(Vec<Option<Untagged>>);

fn member() -> impl Strategy<Value = String> {
    let tagged =
        (key(), space(), value()).prop_map(|(key, space, value)| format!("{{{key}:{space}{value}}}"));
    let object = (value(), value(), value()).prop_map(|(a, items, kind)| {
        format!("{{\"x\":{items},\"a\":{a},\"metadata\":{items},\"items\":[{kind}],\"kind\":null}}")
    });
    prop_oneof![3 => value(), 2 => tagged, 2 => object, 1 => key()]
}

fn document() -> impl Strategy<Value = String> {
    (space(), member(), space()).prop_map(|(a, value, b)| format!("{a}{value}{b}"))
}

#[test]
fn any_type_gets_from_json_what_serde_json_gives_it() {
    check_all(20_000, &document(), |text| {
        same::<Value>(&text)?;
        same::<Object>(&text)?;
        same::<Flat>(&text)?;
        same::<Tagged>(&text)?;
        same::<Untagged>(&text)?;
        same::<Wrapped>(&text)?;
        same::<Box<RawValue>>(&text)?;
        same::<IgnoredAny>(&text)?;
        same::<IntOrString>(&text)?;
        same::<BTreeMap<i32, IgnoredAny>>(&text)?;
        same::<(Value, Option<String>)>(&text)?;
        same::<Vec<f32>>(&text)?;
        same::<Option<char>>(&text)?;
        same::<()>(&text)
    });
}

/// What is looked at is JSON to both or to neither; of damage in what is passed over, the reader may see less.
#[test]
fn damage_is_told_in_the_words_of_serde_json() {
    check_all(30_000, &(document(), damage()), |(text, damage)| {
        let bytes = damaged(text, &damage);
        let Ok(text) = str::from_utf8(&bytes) else { return Ok(()) };
        same::<Value>(text)?;
        same::<Box<RawValue>>(text)?;
        same::<Untagged>(text)?;
        if serde_json::from_str::<Value>(text).is_ok() {
            same::<Object>(text)?;
            same::<Flat>(text)?;
        }
        Ok(())
    });
}

#[test]
fn numbers_of_all_sizes_are_the_same() {
    let digits = prop_oneof![4 => "-?[0-9]{1,21}", 1 => "-?[0-9]{1,4}\\.[0-9]{0,18}", 1 => "-?[0-9][eE][-+]?[0-9]{0,3}"];
    let known = select(vec![
        "18446744073709551615",
        "-9223372036854775808",
        "255",
        "256",
        "-1",
        "-0",
        "00",
        "1.",
        "-",
    ]);
    check_all(20_000, &prop_oneof![20 => digits, 1 => known.prop_map(str::to_owned)], |text| {
        same::<Value>(&text)?;
        same::<u8>(&text)?;
        same::<i32>(&text)?;
        same::<u64>(&text)?;
        same::<i64>(&text)?;
        same::<i128>(&text)?;
        same::<f32>(&text)?;
        same::<f64>(&text)?;
        same::<IgnoredAny>(&text)
    });
}

/// As deep as `serde_json` goes, and no deeper; what is passed over may be of any depth.
#[test]
fn depth_costs_no_stack() {
    for depth in [126, 127, 128, 100_000] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        same::<Value>(&text).unwrap();
        same::<IgnoredAny>(&text).unwrap();
        same::<Flat>(&format!("{{\"kind\":{text}}}")).unwrap();
    }
}

/// The reader is there for what API servers send: it has to be able to.
#[test]
fn what_a_real_server_sent_is_read_without_help() {
    let mut read = 0;
    let recording =
        Recording::open(recording_path("agones-buffer-autoscale")).expect("the recording is there");
    for exchange in &recording.exchanges {
        let body = String::from_utf8(exchange.body()).expect("UTF-8");
        for line in body.lines().filter(|line| line.starts_with('{') && line.ends_with('}')) {
            let event = format!("[{line}]");
            assert!(json::first::<Vec<IgnoredAny>>(&event).is_some(), "{line}");
            assert!(json::first::<BTreeMap<String, Value>>(line).is_some(), "{line}");
            same::<Value>(line).unwrap();
            let (got, want) =
                (WatchEvent::<DynamicObject>::from_json(line), serde_json::from_str::<Value>(line));
            if let (Ok(WatchEvent::Added(got) | WatchEvent::Modified(got)), Ok(mut want)) = (got, want) {
                let want = DynamicObject::deserialize(want["object"].take()).unwrap();
                assert_eq!(got, want);
                read += 1;
            }
        }
    }
    assert!(read > 100, "only {read} events");
    same::<ObjectMeta>("{\"name\":\"a\",\"managedFields\":[{\"fieldsV1\":{\"f:a\":{}}}],\"x\":{\"y\":1}}")
        .unwrap();
    same::<PartialObjectMetadata>("{\"metadata\":{\"name\":\"a\"}}").unwrap();
}
