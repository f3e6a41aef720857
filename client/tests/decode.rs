//! Lists and watches that are not what they should be, and lists of any shape.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use bytes::Bytes;
use lariat_api::{DynamicObject, EventError, ListMeta, Object, Randomness, WatchEvent};
use lariat_client::Item;
use lariat_client::decode::{ListDecoder, ListError, WatchDecoder, WatchError};
use serde_json::{Value, json};

/// Decodes a list that comes in chunks: the items as JSON, or `bad` with their bytes, then how it ended.
fn list(chunks: &[&[u8]]) -> (Vec<Value>, Result<ListMeta, ListError>) {
    let mut decoder = ListDecoder::<Value>::new();
    let mut items = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next() {
                Ok(Some(Item::Object(object))) => items.push(object),
                Ok(Some(Item::Undecodable(item))) => items.push(json!({"bad": item.raw.to_vec()})),
                Ok(None) => break,
                Err(error) => return (items, Err(error)),
            }
        }
    }
    (items, decoder.finish())
}

fn error_of(body: &str) -> ListError {
    list(&[body.as_bytes()]).1.expect_err(body)
}

#[test]
fn a_list_may_be_written_in_any_way() {
    for body in [
        r#"{"items":[1],"metadata":{"resourceVersion":"7"}}"#,
        r#" { "metadata" : {"resourceVersion":"7"} , "items" : [ 1 ] , "extra": [[{"items":[2]}]] } "#,
        r#"{"metadata":{"resourceVersion":"7"},"\u0069tems":[1
]}"#,
        r#"{"kind":"items","x":"items","metadata":{"items":[3],"resourceVersion":"7"},"items":[1]}"#,
    ] {
        let (items, meta) = list(&[body.as_bytes()]);
        assert_eq!(items, [json!(1)], "{body}");
        assert_eq!(meta.unwrap().resource_version, "7", "{body}");
    }
    for body in [r#"{"items":[]}"#, r#"{"items":null}"#, r#"{"items":[ ]}"#] {
        let (items, meta) = list(&[body.as_bytes()]);
        assert!(items.is_empty() && meta.is_ok(), "{body}");
    }
}

#[test]
fn items_may_be_anything_and_hold_any_text() {
    let values =
        json!([{}, [], [[1], {"a": [2]}], "a]b,}{\"\\", "", -1.5e3, true, null, {"k\"]": "}\\\""}, "ü€😀"]);
    let body = json!({"items": values}).to_string();
    for cut in 0..=body.len() {
        let (items, meta) = list(&[&body.as_bytes()[..cut], &body.as_bytes()[cut..]]);
        assert_eq!(json!(items), values, "cut at {cut}");
        assert!(meta.is_ok());
    }
}

#[test]
fn what_is_no_list_is_a_typed_error() {
    assert!(matches!(error_of("<html>"), ListError::Syntax(error) if error.at == 0 && error.found == b'<'));
    assert!(matches!(error_of("[]"), ListError::Syntax(_)));
    assert!(matches!(error_of(r#"{"kind":"Pod","metadata":{"name":"a"}}"#), ListError::NotAList));
    assert!(matches!(error_of(r#"{"kind":"Table","rows":[]}"#), ListError::NotAList));
    assert!(matches!(error_of(r#"{"items":{}}"#), ListError::Syntax(error) if error.at == 9));
    assert!(matches!(error_of(r#"{"items":[1 2]}"#), ListError::Syntax(error) if error.at == 12));
    assert!(matches!(error_of(r#"{"items":[1,]}"#), ListError::Syntax(_)));
    assert!(matches!(error_of(r#"{"items":[,1]}"#), ListError::Syntax(_)));
    assert!(matches!(error_of(r#"{"items":[1]}}"#), ListError::Syntax(_)));
    assert!(matches!(error_of(r#"{"items":[1]]"#), ListError::Syntax(_)));
    assert!(matches!(error_of(r#"{"items":[1],"metadata":7}"#), ListError::Envelope(_)));
    assert!(matches!(error_of(r#"{"items":[1],}"#), ListError::Envelope(_)));
    for body in
        ["", "{", r#"{"items":[{"a":"#, r#"{"items":[1]"#, r#"{"items":["a"#, r#"{"items":[1],"metadata":{}"#]
    {
        assert!(matches!(error_of(body), ListError::Truncated(at) if at == body.len() as u64), "{body}");
    }
}

#[test]
fn an_item_that_cannot_be_decoded_is_handed_over_and_the_list_goes_on() {
    let body = r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","namespace":"n","labels":{"x":1}}},
        {"metadata":{"name":"c"}}]}"#;
    for cut in 0..body.len() {
        let mut decoder = ListDecoder::<DynamicObject>::new();
        let mut names = Vec::new();
        for half in [&body[..cut], &body[cut..]] {
            decoder.push(half.into());
            while let Some(item) = decoder.next().unwrap() {
                names.push(match item {
                    Item::Object(object) => object.name().to_owned(),
                    Item::Undecodable(item) => {
                        assert!(item.key().is_none(), "its labels are part of what cannot be read");
                        String::from_utf8(item.raw.to_vec()).unwrap()
                    }
                });
            }
        }
        assert_eq!(names, ["a", r#"{"metadata":{"name":"b","namespace":"n","labels":{"x":1}}}"#, "c"]);
    }
}

#[test]
fn an_undecodable_item_tells_its_key_if_its_metadata_is_sound() {
    #[derive(Debug, serde::Deserialize)]
    struct Strict {
        #[serde(rename = "spec")]
        _spec: u32,
    }
    let mut decoder = ListDecoder::<Strict>::new();
    decoder.push(r#"{"items":[{"metadata":{"name":"b","namespace":"n"},"spec":"no"}]}"#.into());
    let Some(Item::Undecodable(item)) = decoder.next().unwrap() else { panic!("it was decoded") };
    assert_eq!(item.key().unwrap().as_str(), "n/b");
    assert!(item.to_string().starts_with("object n/b cannot be decoded: invalid type"), "{item}");
}

#[test]
fn an_item_that_is_not_utf8_is_one_bad_item() {
    let (items, meta) = list(&[b"{\"items\":[\"a\",\"\xff\",\"b\"]}"]);
    assert_eq!(items, [json!("a"), json!({"bad": b"\"\xff\""}), json!("b")]);
    assert!(meta.is_ok());
}

/// Also where it is in a field that nobody reads, in the middle of a chunk that is good before and after.
#[test]
fn an_object_that_is_not_utf8_is_one_bad_item_wherever_it_is_cut() {
    let good =
        |name: &str| format!(r#"{{"metadata":{{"name":"{name}","managedFields":["ü"]}}}}"#).into_bytes();
    let bad = [br#"{"metadata":{"name":"b","managedFields":["#.as_slice(), b"\"\xff\"]}}"].concat();
    let body = [b"{\"items\":[".as_slice(), &good("a"), b",", &bad, b" , ", &good("c"), b"]}"].concat();
    for cut in 0..=body.len() {
        let mut decoder = ListDecoder::<DynamicObject>::new();
        let mut names = Vec::new();
        for half in [&body[..cut], &body[cut..]] {
            decoder.push(Bytes::copy_from_slice(half));
            while let Some(item) = decoder.next().unwrap() {
                names.push(match item {
                    Item::Object(object) => object.name().to_owned(),
                    Item::Undecodable(item) => {
                        assert_eq!(item.raw, bad, "cut at {cut}");
                        "bad".to_owned()
                    }
                });
            }
        }
        assert_eq!(names, ["a", "bad", "c"], "cut at {cut}");
        assert!(decoder.finish().is_ok());
    }
}

#[test]
fn a_list_of_any_shape_survives_any_cuts() {
    for seed in 0..2_000 {
        let randomness = Randomness::seeded(seed);
        let items: Vec<Value> = (0..randomness.below(6)).map(|_| random_value(&randomness, 4)).collect();
        let mut envelope =
            json!({"metadata": {"resourceVersion": seed.to_string()}, "other": random_value(&randomness, 3)});
        envelope["items"] = items.clone().into();
        let text = if seed % 2 == 0 {
            envelope.to_string()
        } else {
            serde_json::to_string_pretty(&envelope).unwrap()
        };
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(1 + randomness.below(rest.len().min(20) as u64) as usize);
            chunks.push(head);
            rest = tail;
        }
        let (got, meta) = list(&chunks);
        assert_eq!(got, items, "seed {seed}: {text}");
        assert_eq!(meta.unwrap().resource_version, seed.to_string());
    }
}

/// Whatever is done to the bytes of a list, it ends in a result.
#[test]
fn damaged_lists_end_in_a_result() {
    let body =
        json!({"metadata": {"resourceVersion": "7"}, "items": [{"a": "b\\"}, [1, "]"], null]}).to_string();
    for seed in 0..20_000 {
        let randomness = Randomness::seeded(seed);
        let mut bytes = body.clone().into_bytes();
        for _ in 0..=randomness.below(3) {
            let at = randomness.below(bytes.len() as u64) as usize;
            match randomness.below(3) {
                0 => bytes[at] = br#"{}[]",:\n1 "#[randomness.below(11) as usize],
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let cut = randomness.below(bytes.len() as u64) as usize;
        let (_, split) = list(&[&bytes[..cut], &bytes[cut..]]);
        let (_, whole) = list(&[&bytes]);
        let plain = serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes);
        assert_eq!(split.is_ok(), whole.is_ok(), "seed {seed}");
        if let Ok(plain) = plain {
            let is_list = matches!(plain.get("items"), Some(Value::Array(_) | Value::Null));
            assert_eq!(whole.is_ok(), is_list, "seed {seed}: {}", String::from_utf8_lossy(&bytes));
        }
    }
}

fn random_value(randomness: &Randomness, depth: u64) -> Value {
    const TEXTS: [&str; 8] = ["", "items", "\"", "\\", "]},[{:", "ü", "\u{1}", "a b"];
    let text = || TEXTS[randomness.below(8) as usize].to_owned();
    match randomness.below(if depth == 0 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => json!(randomness.below(1_000)),
        2 => json!(randomness.below(2) == 0),
        3 => text().into(),
        4 => (0..randomness.below(4)).map(|_| random_value(randomness, depth - 1)).collect(),
        _ => (0..randomness.below(4)).map(|_| (text(), random_value(randomness, depth - 1))).collect(),
    }
}

// === watch ===

fn watch(chunks: &[&str]) -> Vec<Result<WatchEvent<DynamicObject>, WatchError>> {
    let mut decoder = WatchDecoder::<DynamicObject>::new();
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk.as_bytes()));
        while let Some(event) = decoder.next().transpose() {
            events.push(event);
        }
    }
    events.extend(decoder.finish().transpose());
    events
}

const ADDED: &str = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;

#[test]
fn the_last_event_needs_no_line_end_and_blank_lines_are_nothing() {
    let text = format!("\n  \n{ADDED}\n\n{ADDED}");
    assert_eq!(watch(&[&text]).len(), 2);
}

#[test]
fn an_event_may_go_over_several_lines() {
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(ADDED).unwrap()).unwrap();
    let text = format!("{pretty}\n{ADDED}\n");
    for cut in 0..text.len() {
        let events = watch(&[&text[..cut], &text[cut..]]);
        assert!(events.iter().all(Result::is_ok), "{events:?}");
        assert_eq!(events.len(), 2);
    }
}

#[test]
fn a_bad_line_is_handed_over_and_the_watch_goes_on() {
    let text = format!("nonsense\n{ADDED}\n");
    for cut in 0..text.len() {
        let events = watch(&[&text[..cut], &text[cut..]]);
        let [Err(WatchError::Event { error: EventError::Json(_), raw }), Ok(WatchEvent::Added(_))] =
            &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!(raw, "nonsense\n");
    }
}

#[test]
fn a_watch_that_ends_inside_an_event_says_so() {
    let events = watch(&[ADDED, "\n", &ADDED[..20]]);
    let [Ok(_), Err(WatchError::Event { error: EventError::Truncated(_), raw })] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(raw, &ADDED[..20]);
}

#[test]
fn an_event_without_end_is_given_up() {
    let mut decoder = WatchDecoder::<DynamicObject>::new();
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    let error = (0..17).find_map(|_| {
        decoder.push(chunk.clone());
        decoder.next().err()
    });
    assert!(matches!(error, Some(WatchError::TooLarge { limit }) if limit == 16 << 20));
}
