//! The decoders against `serde_json`, on any document, cut at any byte.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

#[path = "../../api/tests/any_json/mod.rs"]
mod any_json;

use std::fmt;

use any_json::{check_all, damage, damaged, key, space, value};
use bytes::Bytes;
use lariat_api::{DynamicObject, EventError, ListMeta, WatchEvent};
use lariat_client::Item;
use lariat_client::decode::{ListDecoder, ListError, WatchDecoder, WatchError};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// What may be a list: an object in which `items` is an array more often than not, wherever it stands.
fn document() -> impl Strategy<Value = String> {
    let items = vec((space(), value(), space()), 0..5).prop_map(|items| {
        let items: Vec<String> = items.iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
        format!("[{}]", items.join(","))
    });
    let member = prop_oneof![
        4 => items.prop_map(|items| ("\"items\"".to_owned(), items)),
        1 => Just(("\"items\"".to_owned(), "null".to_owned())),
        2 => Just(("\"metadata\"".to_owned(), "{\"resourceVersion\":\"7\"}".to_owned())),
        1 => select(vec!["\"List\"", "\"Table\""]).prop_map(|kind| ("\"kind\"".to_owned(), kind.to_owned())),
        3 => (key(), value()),
    ];
    let member = (space(), member, space(), space())
        .prop_map(|(a, (key, value), b, c)| format!("{a}{key}{b}:{c}{value}{a}"));
    (space(), vec(member, 0..5), space())
        .prop_map(|(a, members, b)| format!("{a}{{{}}}{b}", members.join(",")))
}

// === lists ===

type Items = Vec<Result<Value, Vec<u8>>>;

#[derive(Debug, PartialEq)]
enum End {
    Version(String),
    NotAList,
    Table,
    Envelope,
    Syntax,
    Truncated,
    TooLarge,
}

impl From<Result<ListMeta, ListError>> for End {
    fn from(end: Result<ListMeta, ListError>) -> Self {
        match end {
            Ok(meta) => Self::Version(meta.resource_version),
            Err(ListError::NotAList) => Self::NotAList,
            Err(ListError::Table) => Self::Table,
            Err(ListError::Envelope(_)) => Self::Envelope,
            Err(ListError::Syntax(_)) => Self::Syntax,
            Err(ListError::Truncated(_)) => Self::Truncated,
            Err(ListError::TooLarge { .. }) => Self::TooLarge,
            Err(other) => panic!("unknown error {other}"),
        }
    }
}

fn decode_list<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Items, End) {
    let mut decoder = ListDecoder::<Value>::new();
    let mut items = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next() {
                Ok(Some(Item::Object(object))) => items.push(Ok(object)),
                Ok(Some(Item::Undecodable(item))) => items.push(Err(item.raw.to_vec())),
                Ok(None) => break,
                Err(error) => return (items, Err(error).into()),
            }
        }
    }
    (items, decoder.finish().into())
}

/// The members of an object, in order, those that come twice included.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// What a whole document is, by `serde_json` alone; none if it is no JSON object.
fn whole_list(text: &[u8]) -> Option<(Items, End)> {
    #[derive(Deserialize)]
    struct Envelope {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        metadata: ListMeta,
    }

    let Members(members) = serde_json::from_slice(text).ok()?;
    let mut items = Vec::new();
    let mut found = false;
    for (_, raw) in members.iter().filter(|(key, _)| key == "items") {
        found = true;
        match raw.get().as_bytes()[0] {
            b'n' => {}
            b'[' => {
                let elements: Vec<Box<RawValue>> = serde_json::from_str(raw.get()).unwrap();
                items.extend(elements.iter().map(|element| {
                    serde_json::from_str(element.get()).map_err(|_| element.get().as_bytes().to_vec())
                }));
            }
            _ => return Some((items, End::Syntax)),
        }
    }
    let end = match serde_json::from_slice::<Envelope>(text) {
        _ if !found => End::NotAList,
        Err(_) => End::Envelope,
        Ok(envelope) if envelope.kind == "Table" => End::Table,
        Ok(envelope) => End::Version(envelope.metadata.resource_version),
    };
    Some((items, end))
}

/// The document cut in two at each byte, and then into single bytes.
fn check_cuts(text: &[u8], want: &(Items, End)) -> Result<(), String> {
    for cut in 0..=text.len() {
        let got = decode_list([&text[..cut], &text[cut..]]);
        if got != *want {
            return Err(format!("cut at {cut}: {got:?}, not {want:?}"));
        }
    }
    let got = decode_list(text.chunks(1));
    if got == *want { Ok(()) } else { Err(format!("byte by byte: {got:?}, not {want:?}")) }
}

/// RF-26: a table is an error, and so is an answer without `items`.
#[test]
fn a_list_is_what_serde_json_says_wherever_it_is_cut() {
    check_all(1_500, &document(), |text| {
        let want = whole_list(text.as_bytes()).ok_or("the generator makes JSON only")?;
        check_cuts(text.as_bytes(), &want)
    });
}

/// Hostile bytes end in a typed result that does not depend on how they came, and are never taken for a list that
/// `serde_json` sees as another one.
#[test]
fn damaged_documents_end_in_the_same_result_wherever_they_are_cut() {
    check_all(3_000, &(document(), damage()), |(text, damage)| {
        let bytes = damaged(text, &damage);
        let got = decode_list([&bytes[..]]);
        if let Some(want) = whole_list(&bytes)
            && got != want
        {
            return Err(format!("{got:?}, not {want:?}"));
        }
        check_cuts(&bytes, &got)
    });
}

#[test]
fn bytes_of_any_kind_end_in_a_result() {
    check_all(3_000, &vec(any::<u8>(), 0..80), |bytes| check_cuts(&bytes, &decode_list([&bytes[..]])));
}

/// However deep something is, it costs no stack: an item that is too deep for `serde_json` is one bad item.
#[test]
fn depth_is_no_danger() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!("{{\"items\":[1,{deep},{{\"a\":2}}]}}");
    let (items, end) = decode_list(text.as_bytes().chunks(1_000));
    assert_eq!(items, [Ok(1.into()), Err(deep.into_bytes()), Ok(serde_json::json!({"a": 2}))]);
    assert_eq!(end, End::Version(String::new()));
    let deep = format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000));
    let text = format!("{{\"deep\":{deep},\"items\":[1]}}");
    assert_eq!(decode_list([text.as_bytes()]), (vec![Ok(1.into())], End::Version(String::new())));
}

#[test]
fn neither_an_item_nor_the_rest_of_a_list_grows_without_bound() {
    let chunk = vec![b'x'; 1 << 20];
    let of = |start: &'static [u8]| {
        let chunks = std::iter::once(start).chain(std::iter::repeat_n(&chunk[..], 20));
        decode_list(chunks)
    };
    assert_eq!(of(b"{\"items\":[\""), (vec![], End::TooLarge));
    assert_eq!(of(b"{\"items\":[1"), (vec![], End::TooLarge));
    assert_eq!(of(b"{\"kind\":\""), (vec![], End::TooLarge));
    assert_eq!(of(b"{\"items\":[],\"a\":\""), (vec![], End::TooLarge));
    // Space between items is not kept.
    let spaces = vec![b' '; 1 << 20];
    let chunks = [b"{\"items\":[1,".as_slice()].into_iter().chain(std::iter::repeat_n(&spaces[..], 20));
    let (items, end) = decode_list(chunks.chain([b"2]}".as_slice()]));
    assert_eq!((items.len(), end), (2, End::Version(String::new())));
}

// === watches ===

type Events = Vec<Result<(String, Value), &'static str>>;

fn decode_watch<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Events {
    let shown = |event: Result<WatchEvent<DynamicObject>, WatchError>| {
        Ok(match event {
            Ok(WatchEvent::Added(object)) => ("ADDED".to_owned(), serde_json::to_value(object).unwrap()),
            Ok(WatchEvent::Modified(object)) => {
                ("MODIFIED".to_owned(), serde_json::to_value(object).unwrap())
            }
            Ok(WatchEvent::Deleted(object)) => ("DELETED".to_owned(), serde_json::to_value(object).unwrap()),
            Ok(WatchEvent::Bookmark(bookmark)) => ("BOOKMARK".to_owned(), bookmark.resource_version.into()),
            Ok(WatchEvent::Error(status)) => ("ERROR".to_owned(), status.code.into()),
            Err(WatchError::Event { error: EventError::Truncated(_), .. }) => return Err("truncated"),
            Err(WatchError::Event { .. }) => return Err("event"),
            Err(WatchError::TooLarge { .. }) => return Err("too large"),
            Err(other) => panic!("unknown error {other}"),
        })
    };
    let mut decoder = WatchDecoder::<DynamicObject>::new();
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = decoder.next().transpose() {
            events.push(shown(event));
        }
    }
    events.extend(decoder.finish().transpose().map(shown));
    events
}

/// An event, as text and as what it is.
fn event() -> impl Strategy<Value = (String, (String, Value))> {
    let object =
        (select(vec!["ADDED", "MODIFIED", "DELETED"]), "[a-z]{1,3}", value(), space(), any::<bool>())
            .prop_filter_map("within numbers", |(kind, name, spec, space, type_first)| {
                let object =
                    format!("{{\"metadata\":{space}{{\"name\":\"{name}\"}},\"spec\":{space}{spec}{space}}}");
                let parsed: DynamicObject = serde_json::from_str(&object).ok()?;
                let (kind_member, object_member) =
                    (format!("\"type\":{space}\"{kind}\""), format!("\"object\":{object}"));
                let members =
                    if type_first { [kind_member, object_member] } else { [object_member, kind_member] };
                Some((
                    format!("{{{}}}", members.join(",")),
                    (kind.to_owned(), serde_json::to_value(parsed).unwrap()),
                ))
            });
    let bookmark = (1..1_000_u32).prop_map(|version| {
        let text = format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{version}\"}}}}}}"
        );
        (text, ("BOOKMARK".to_owned(), version.to_string().into()))
    });
    let error = (400..600_u16).prop_map(|code| {
        (format!("{{\"type\":\"ERROR\",\"object\":{{\"code\":{code}}}}}"), ("ERROR".to_owned(), code.into()))
    });
    prop_oneof![6 => object, 1 => bookmark, 1 => error]
}

/// RF-41: lines, lines with a carriage return, events without anything between them, and no end of the last line.
#[test]
fn a_watch_is_the_same_events_wherever_it_is_cut() {
    let between = select(vec!["\n", "\r\n", "", " ", "\n\n", "\r\n\r\n"]);
    check_all(700, &vec((event(), between), 0..4), |events| {
        let text: String = events.iter().map(|((text, _), between)| format!("{text}{between}")).collect();
        let want: Events = events.iter().map(|((_, event), _)| Ok(event.clone())).collect();
        let text = text.as_bytes();
        for cut in 0..=text.len() {
            let got = decode_watch([&text[..cut], &text[cut..]]);
            if got != want {
                return Err(format!("cut at {cut}: {got:?}, not {want:?}"));
            }
        }
        let got = decode_watch(text.chunks(1));
        if got == want { Ok(()) } else { Err(format!("byte by byte: {got:?}, not {want:?}")) }
    });
}

/// RF-47: hostile bytes are typed errors, and no more of them than there are bytes.
#[test]
fn damaged_watches_end_in_typed_errors() {
    let lines = vec(event(), 0..4)
        .prop_map(|events| events.into_iter().map(|(text, _)| text + "\n").collect::<String>());
    check_all(3_000, &(lines, damage()), |(text, damage)| {
        let bytes = damaged(text, &damage);
        for chunk in [1, 7, bytes.len().max(1)] {
            let events = decode_watch(bytes.chunks(chunk));
            if events.len() > bytes.len() || events.contains(&Err("too large")) {
                return Err(format!("{events:?}"));
            }
        }
        Ok(())
    });
    check_all(3_000, &vec(any::<u8>(), 0..60), |bytes| {
        let events = decode_watch(bytes.chunks(3));
        if events.len() > bytes.len() { Err(format!("{events:?}")) } else { Ok(()) }
    });
}
