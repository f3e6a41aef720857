//! The first document of a YAML text, which may be JSON, as a JSON value.
//!
//! Scalars are typed as in YAML 1.1, which is what kubectl reads: an unquoted `y` is a boolean. Anchors, aliases and merge keys
//! are resolved, as often as the bounds allow. An error is a place and no more: its text could quote a secret.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag};
use serde_json::{Map, Number, Value};

use crate::limits::{MAX_YAML, MAX_YAML_DEPTH};

/// Where a text is broken: a line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

type Result<T> = std::result::Result<T, Place>;

/// The first document of a text in UTF-8, or in UTF-16 with a mark that says so; null if there is none.
///
/// Of a key that comes twice the last value counts, as in Go.
pub(super) fn first_document(bytes: &[u8]) -> Result<Value> {
    let text = text(bytes)?;
    let mut composer = Composer { parser: Parser::new_from_str(&text), anchors: Vec::new(), room: MAX_YAML };
    loop {
        match composer.next()? {
            (Event::StreamEnd, _) => return Ok(Value::Null),
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (event, at) => return composer.node(event, at, 0).map(|node| node.value),
        }
    }
}

/// What a value takes beside its text, in bytes.
const VALUE: usize = size_of::<Value>();

/// Makes values of a parser's events.
struct Composer<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// What aliases stand for, where the parser's number for it says; none while it is being read.
    anchors: Vec<Option<Node>>,
    /// How many more bytes the values may take, with each alias written out.
    room: usize,
}

/// A value, and what it takes to copy it.
#[derive(Clone)]
struct Node {
    value: Value,
    /// How many bytes it takes.
    size: usize,
    /// How many lists and objects are within each other in it.
    depth: usize,
}

impl<'a> Composer<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Place)> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, Place::of(&span.start))),
            Some(Err(error)) => Err(Place::of_error(&error)),
            None => Ok((Event::StreamEnd, Place { line: 0, column: 0 })),
        }
    }

    /// The value that begins with `event`, within `depth` others.
    fn node(&mut self, event: Event<'a>, at: Place, depth: usize) -> Result<Node> {
        let before = self.room;
        let (value, anchor, inner) = match event {
            Event::Alias(anchor) => {
                // An anchor that is not there yet is that of a value which holds itself.
                let node = self
                    .anchors
                    .get(anchor)
                    .and_then(Option::as_ref)
                    .filter(|node| depth + node.depth <= MAX_YAML_DEPTH);
                let node = node.ok_or(at)?.clone();
                self.spend(node.size, at)?;
                return Ok(node);
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.spend(VALUE + text.len(), at)?;
                (scalar(text, style, tag.as_deref()).ok_or(at)?, anchor, 0)
            }
            Event::SequenceStart(_, anchor, _) if depth < MAX_YAML_DEPTH => {
                self.spend(VALUE, at)?;
                let (items, inner) = self.sequence(depth + 1)?;
                (Value::Array(items), anchor, inner + 1)
            }
            Event::MappingStart(_, anchor, _) if depth < MAX_YAML_DEPTH => {
                self.spend(VALUE, at)?;
                let (map, inner) = self.mapping(depth + 1)?;
                (Value::Object(map), anchor, inner + 1)
            }
            _ => return Err(at),
        };
        let node = Node { value, size: before - self.room, depth: inner };
        if anchor != 0 {
            self.spend(node.size, at)?;
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, None);
            }
            self.anchors[anchor] = Some(node.clone());
        }
        Ok(node)
    }

    /// The items of a list, and how deep the deepest is.
    fn sequence(&mut self, depth: usize) -> Result<(Vec<Value>, usize)> {
        let (mut items, mut deepest) = (Vec::new(), 0);
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok((items, deepest)),
                (event, at) => {
                    let node = self.node(event, at, depth)?;
                    deepest = deepest.max(node.depth);
                    items.push(node.value);
                }
            }
        }
    }

    /// The fields of an object, and how deep the deepest is.
    fn mapping(&mut self, depth: usize) -> Result<(Map<String, Value>, usize)> {
        let (mut map, mut merged, mut deepest) = (Map::new(), Vec::new(), 0);
        loop {
            let (key, at) = match self.next()? {
                (Event::MappingEnd, _) => break,
                (event, at) => (self.key(event, at, depth)?, at),
            };
            let (event, value_at) = self.next()?;
            let node = self.node(event, value_at, depth)?;
            deepest = deepest.max(node.depth);
            match key {
                Key::Name(name) => drop(map.insert(name, node.value)),
                Key::Merge => merge(node.value, &mut merged).ok_or(at)?,
            }
        }
        // What an object says itself counts, then what it names first.
        for (name, value) in merged.into_iter().flatten() {
            map.entry(name).or_insert(value);
        }
        Ok((map, deepest))
    }

    fn key(&mut self, event: Event<'a>, at: Place, depth: usize) -> Result<Key> {
        if let Event::Scalar(text, style, anchor, tag) = &event {
            let is_merge = match tag {
                None => *style == ScalarStyle::Plain && text == "<<",
                Some(tag) => tag.suffix_in_namespace(YAML).as_deref() == Some("merge"),
            };
            if is_merge {
                return Ok(Key::Merge);
            }
            if *anchor == 0 {
                self.spend(VALUE + text.len(), at)?;
                return Ok(Key::Name(text.to_string()));
            }
        }
        match self.node(event, at, depth)?.value {
            Value::String(name) => Ok(Key::Name(name)),
            Value::Null => Ok(Key::Name(String::new())),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Err(at),
        }
    }

    fn spend(&mut self, size: usize, at: Place) -> Result<()> {
        self.room = self.room.checked_sub(size).ok_or(at)?;
        Ok(())
    }
}

/// A key of an object.
enum Key {
    Name(String),
    /// The value's fields are taken over.
    Merge,
}

/// Notes the fields of an object, or of each object of a list.
fn merge(value: Value, merged: &mut Vec<Map<String, Value>>) -> Option<()> {
    match value {
        Value::Object(map) => merged.push(map),
        Value::Array(items) => {
            for item in items {
                let Value::Object(map) = item else { return None };
                merged.push(map);
            }
        }
        _ => return None,
    }
    Some(())
}

/// What the names of YAML's own tags begin with.
const YAML: &str = "tag:yaml.org,2002:";

/// The value of a scalar, unless its tag says that it is another than it can be.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Option<Value> {
    let Some(tag) = tag else {
        return match style {
            ScalarStyle::Plain => plain(text),
            _ => Some(Value::String(text.into_owned())),
        };
    };
    let typed = |is: fn(&Value) -> bool| plain(text.clone()).filter(is);
    match tag.suffix_in_namespace(YAML).as_deref() {
        Some("null") => typed(Value::is_null),
        Some("bool") => typed(Value::is_boolean),
        Some("int") => typed(|value| value.is_i64() || value.is_u64()),
        Some("float") => typed(Value::is_number),
        Some("binary") => {
            let digits: String = text.split_ascii_whitespace().collect();
            String::from_utf8(STANDARD.decode(digits).ok()?).ok().map(Value::String)
        }
        // As in Go, a tag that says nothing to JSON leaves the text.
        _ => Some(Value::String(text.into_owned())),
    }
}

/// The value of a text without quotes; none for a number that JSON does not have.
fn plain(text: Cow<'_, str>) -> Option<Value> {
    Some(match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => return None,
        other => match number(other) {
            Some(number) => Value::Number(number),
            None => Value::String(text.into_owned()),
        },
    })
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    let text = text.replace('_', "");
    let (sign, digits) = match text.split_at_checked(1) {
        Some((sign @ ("+" | "-"), digits)) => (if sign == "-" { "-" } else { "" }, digits),
        _ => ("", &*text),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let (radix, whole) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'0'..=b'7', ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if let Ok(whole) = i128::from_str_radix(&format!("{sign}{whole}"), radix)
        && let Some(number) = Number::from_i128(whole)
    {
        return Some(number);
    }
    // Words such as "infinity" are none, whatever Rust says.
    let is_decimal =
        digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_decimal {
        return None;
    }
    Number::from_f64(format!("{sign}{digits}").parse().ok()?)
}

fn text(bytes: &[u8]) -> Result<Cow<'_, str>> {
    let (units, is_little) = match bytes {
        [0xff, 0xfe, units @ ..] => (units, true),
        [0xfe, 0xff, units @ ..] => (units, false),
        _ => {
            return str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                Place::after(&valid)
            });
        }
    };
    let (units, odd) = units.as_chunks::<2>();
    let unit = |bytes: &[u8; 2]| match is_little {
        true => u16::from_le_bytes(*bytes),
        false => u16::from_be_bytes(*bytes),
    };
    let mut text = String::with_capacity(2 * units.len());
    for decoded in char::decode_utf16(units.iter().map(unit)) {
        text.push(decoded.map_err(|_| Place::after(&text))?);
    }
    if odd.is_empty() { Ok(Cow::Owned(text)) } else { Err(Place::after(&text)) }
}

// === impl Place ===

impl Place {
    fn of(marker: &Marker) -> Self {
        Self { line: marker.line() as u64, column: marker.col() as u64 + 1 }
    }

    fn of_error(error: &ScanError) -> Self {
        Self::of(error.marker())
    }

    /// Behind a text.
    fn after(text: &str) -> Self {
        let last = text.rsplit('\n').next().unwrap_or_default();
        Self { line: 1 + text.matches('\n').count() as u64, column: 1 + last.chars().count() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(first_document(text.as_bytes()), Ok(expected), "{text}");
    }

    #[track_caller]
    fn refuse(text: &[u8], line: u64, column: u64) {
        assert_eq!(first_document(text), Err(Place { line, column }), "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn scalars_are_typed_as_kubectl_reads_them() {
        check(
            "[y, Yes, on, true, n, NO, off, False]",
            json!([true, true, true, true, false, false, false, false]),
        );
        check(
            "[yEs, tRUE, 'y', \"no\", nope, NaN, infinity]",
            json!(["yEs", "tRUE", "y", "no", "nope", "NaN", "infinity"]),
        );
        check("[~, null, Null, x]", json!([null, null, null, "x"]));
        check("a:\nb: ''", json!({"a": null, "b": ""}));
        check("[0, -12, +3, 1_000, 0x1F, 0o17, 017, 0b11]", json!([0, -12, 3, 1000, 31, 15, 15, 3]));
        check("[18446744073709551615, 1.5, -1e3, .5, 09.5]", json!([u64::MAX, 1.5, -1000.0, 0.5, 9.5]));
        check(
            "[1.2.3, 10.0.0.1, 12:30, 2026-11-29, +-1, 0x, 1e]",
            json!(["1.2.3", "10.0.0.1", "12:30", "2026-11-29", "+-1", "0x", "1e"]),
        );
        check(
            "- !!str 12\n- ! 12\n- !!int '12'\n- !!binary aGk=\n- !own 12\n",
            json!(["12", "12", 12, "hi", "12"]),
        );
        check("a: |\n  one\n  two\nb: >-\n  one\n  two\n", json!({"a": "one\ntwo\n", "b": "one two"}));
        refuse(b"a: !!int b", 1, 10);
        refuse(b"a: .inf", 1, 4);
    }

    #[test]
    fn json_is_yaml_and_only_the_first_document_counts() {
        check(" {\"a\": [1, \"\\u00e4\"],\n\t\"b\": {}}", json!({"a": [1, "ä"], "b": {}}));
        check("---\na: 1\n---\n}", json!({"a": 1}));
        check("# nothing\n", Value::Null);
        check("", Value::Null);
        check("\u{feff}a: 1", json!({"a": 1}));
        check("a: 1\nb: 2\na: 3\n1: x\ny: z\n", json!({"a": 3, "b": 2, "1": "x", "y": "z"}));
    }

    #[test]
    fn aliases_are_copies_and_merge_keys_fill_what_is_missing() {
        let text = "a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, y: 3}\nd:\n  <<: [{z: 0, x: 9}, *a]\n  w: &w 4\ne: *w\n*w : f\n";
        refuse(text.as_bytes(), 8, 1);
        let text = text.replace("*w : f\n", "&k k: 1\n*k : 2\n'<<': 5\n");
        check(
            &text,
            json!({
                "a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"x": 1, "y": 3},
                "d": {"x": 9, "y": 2, "z": 0, "w": 4}, "e": 4, "k": 2, "<<": 5,
            }),
        );
        refuse(b"a: *nobody", 1, 4);
        refuse(b"a: &a [*a]", 1, 8);
        refuse(b"a: {<<: 1}", 1, 5);
        refuse(b"? [a]\n: b", 1, 3);
    }

    #[test]
    fn errors_are_places() {
        refuse(b"a: b\nc: 'd", 2, 4);
        refuse(b"a: b: c", 1, 5);
        refuse(b"a: [1", 1, 4);
        refuse("ä: b\nc: d\u{e4}".as_bytes().strip_suffix(b"\xa4").unwrap(), 2, 5);
    }

    #[test]
    fn utf_16_is_read_by_its_mark() {
        let text = "a: ä😀\n";
        for (mark, bytes) in
            [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
        {
            let mut encoded = mark.to_vec();
            encoded.extend(text.encode_utf16().flat_map(bytes));
            assert_eq!(first_document(&encoded), Ok(json!({"a": "ä😀"})));
            encoded.push(0);
            refuse(&encoded, 2, 1);
        }
    }

    #[test]
    fn what_grows_without_end_is_refused() {
        // Each line is ten of the one before.
        let mut bomb = String::from("a0: &a0 [xxxxxxxxxx]\n");
        for line in 1..12 {
            let before = format!("*a{}", line - 1);
            bomb += &format!("a{line}: &a{line} [{}]\n", [&*before; 10].join(", "));
        }
        assert!(first_document(bomb.as_bytes()).is_err());

        let mut deep = String::from("a0: &a0 [x]\n");
        for line in 1..2_000 {
            deep += &format!("a{line}: &a{line} [*a{}]\n", line - 1);
        }
        assert!(first_document(deep.as_bytes()).is_err());
        assert!(first_document("[".repeat(100_000).as_bytes()).is_err());
        assert!(first_document("- ".repeat(100_000).as_bytes()).is_err());
        check(
            &format!("{}1{}", "[".repeat(60), "]".repeat(60)),
            (0..60).fold(json!(1), |inner, _| json!([inner])),
        );
    }
}
