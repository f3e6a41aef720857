//! Wherever the bytes of a recorded list or watch are cut into chunks, the same comes out.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use lariat_api::{DynamicObject, Randomness, WatchEvent};
use lariat_client::Item;
use lariat_client::decode::{ListDecoder, WatchDecoder};
use lariat_fixtures::{Exchange, Recording, RequestKind, Target, recording_path};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

const RECORDINGS: [&str; 4] =
    ["agones-buffer-autoscale", "api-protocol", "api-expiry-and-restart", "api-objects"];

/// Streams up to this size are cut at every byte, larger ones at [`SEEDED_CUTS`] places.
const CUT_EVERYWHERE: usize = 16 << 10;
const SEEDED_CUTS: usize = 500;

struct Stream {
    name: String,
    is_list: bool,
    body: Bytes,
}

/// All recorded bodies that the client reads as a stream: every list and watch that was not refused.
fn streams() -> Vec<Stream> {
    let stream = |recording: &str, exchange: &Exchange| {
        let kind = Target::parse(&exchange.request.method, &exchange.request.target)?.kind;
        let is_list = match kind {
            RequestKind::List => true,
            RequestKind::Watch | RequestKind::StreamingList => false,
            _ => return None,
        };
        let name = format!("{recording}: {} at {:?}", exchange.name, exchange.at);
        (exchange.status == Some(200)).then(|| Stream { name, is_list, body: exchange.body().into() })
    };
    RECORDINGS
        .iter()
        .flat_map(|name| {
            let recording = Recording::open(recording_path(name)).unwrap();
            recording.exchanges.iter().filter_map(|exchange| stream(name, exchange)).collect::<Vec<_>>()
        })
        .collect()
}

/// What a decoder made of a body, as text; `each` sees the objects and events one by one.
fn decode<K: DeserializeOwned>(
    stream: &Stream,
    chunks: impl Iterator<Item = Bytes>,
    each: &mut dyn FnMut(Out<K>),
) {
    if stream.is_list {
        let mut decoder = ListDecoder::<K>::new();
        for chunk in chunks {
            decoder.push(chunk);
            loop {
                match decoder.next() {
                    Ok(Some(Item::Object(object))) => each(Out::Object(object)),
                    Ok(Some(Item::Undecodable(item))) => each(Out::Other(item.to_string())),
                    Ok(None) => break,
                    Err(error) => return each(Out::Other(error.to_string())),
                }
            }
        }
        match decoder.finish() {
            Ok(meta) => each(Out::Other(format!("{meta:?}"))),
            Err(error) => each(Out::Other(error.to_string())),
        }
    } else {
        let mut decoder = WatchDecoder::<K>::new();
        for chunk in chunks {
            decoder.push(chunk);
            loop {
                match decoder.next() {
                    Ok(Some(event)) => each(Out::Event(event)),
                    Ok(None) => break,
                    Err(error) => each(Out::Other(error.to_string())),
                }
            }
        }
        match decoder.finish() {
            Ok(Some(event)) => each(Out::Event(event)),
            Ok(None) => {}
            Err(error) => each(Out::Other(error.to_string())),
        }
    }
}

#[derive(Debug)]
enum Out<K> {
    Object(K),
    Event(WatchEvent<K>),
    Other(String),
}

fn cut(body: &Bytes, size: usize) -> impl Iterator<Item = Bytes> {
    (0..body.len()).step_by(size).map(move |from| body.slice(from..body.len().min(from + size)))
}

/// The streams, shared out between two threads.
fn for_each_stream(streams: &[Stream], check: impl Fn(&Stream) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(stream) = streams.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(stream);
                }
            });
        }
    });
}

fn raw_outcome(stream: &Stream, chunks: impl Iterator<Item = Bytes>) -> Vec<String> {
    let mut outcome = Vec::new();
    decode::<Box<RawValue>>(stream, chunks, &mut |out| outcome.push(shown(&out)));
    outcome
}

fn shown(out: &Out<Box<RawValue>>) -> String {
    match out {
        Out::Object(object) => object.get().to_owned(),
        Out::Event(WatchEvent::Added(object)) => format!("added {object}"),
        Out::Event(WatchEvent::Modified(object)) => format!("modified {object}"),
        Out::Event(WatchEvent::Deleted(object)) => format!("deleted {object}"),
        Out::Event(other) => format!("{other:?}"),
        Out::Other(text) => text.clone(),
    }
}

#[test]
fn replay_of_every_stream_cut_in_two() {
    let streams = streams();
    assert!(streams.len() > 50, "{} streams", streams.len());
    for_each_stream(&streams, |stream| {
        let want = raw_outcome(stream, cut(&stream.body, stream.body.len().max(1)));
        let length = stream.body.len();
        let randomness = Randomness::seeded(length as u64);
        let everywhere = length <= CUT_EVERYWHERE;
        let cuts = if everywhere { length + 1 } else { SEEDED_CUTS };
        for number in 0..cuts {
            let at = if everywhere { number } else { randomness.below(length as u64) as usize };
            let halves = [stream.body.slice(..at), stream.body.slice(at..)];
            let mut want = want.iter();
            decode::<Box<RawValue>>(stream, halves.into_iter(), &mut |out| {
                let got = shown(&out);
                assert_eq!(Some(&got), want.next(), "{}, cut at byte {at}", stream.name);
            });
            assert_eq!(want.next(), None, "{}, cut at byte {at}: something is missing", stream.name);
        }
    });
}

#[test]
fn replay_of_every_stream_in_small_chunks() {
    for_each_stream(&streams(), |stream| {
        let outcome = |size| {
            let mut outcome = Vec::new();
            decode::<DynamicObject>(stream, cut(&stream.body, size), &mut |out| {
                outcome.push(format!("{out:?}"));
            });
            outcome
        };
        let want = outcome(stream.body.len().max(1));
        for size in [1, 2, 3, 7] {
            assert!(outcome(size) == want, "{} in chunks of {size}", stream.name);
        }
    });
}

/// The scanner against a parser that reads the whole body at once.
#[test]
fn replay_of_every_stream_is_what_a_plain_parser_reads() {
    for_each_stream(&streams(), |stream| {
        let got: Vec<Value> = {
            let mut got = Vec::new();
            decode::<Value>(stream, cut(&stream.body, 1000), &mut |out| match out {
                Out::Object(object) => got.push(object),
                Out::Event(
                    WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object),
                ) => {
                    got.push(object);
                }
                Out::Event(_) | Out::Other(_) => {}
            });
            got
        };
        let want: Vec<Value> = if stream.is_list {
            let list: Value = serde_json::from_slice(&stream.body).unwrap();
            list["items"].as_array().cloned().unwrap_or_default()
        } else {
            let events = serde_json::Deserializer::from_slice(&stream.body).into_iter::<Value>();
            let changes = events
                .map_while(Result::ok)
                .filter(|event| matches!(event["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED")));
            changes.map(|mut event| event["object"].take()).collect()
        };
        assert!(got == want, "{}: {} objects, want {}", stream.name, got.len(), want.len());
    });
}
