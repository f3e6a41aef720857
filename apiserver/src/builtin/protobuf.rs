//! Bodies in protobuf, which Go's clients send for built-in kinds, as JSON.
//!
//! A body is a prefix and an envelope that says of what version and kind the message in it is. What the message means is in
//! the table of [`types`](super::types): numbers, names and types. What nobody knows is skipped, as all of protobuf does.

mod reader;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::times;
use super::types::{Shape, Struct, lookup};
use reader::{Datum, Problem, Reader};

/// What a body begins with.
const PREFIX: &[u8] = b"k8s\0";

/// How much of a body that is none is repeated to the client.
const SHOWN: usize = 30;

/// The structs of the table are not as deep as this.
const MAX_DEPTH: usize = 32;

/// An envelope and the message in it.
pub(super) struct Message<'a> {
    /// `""` if the envelope does not say.
    pub(super) api_version: String,
    pub(super) kind: String,
    raw: &'a [u8],
}

impl<'a> Message<'a> {
    /// Opens the envelope of a body.
    ///
    /// # Errors
    ///
    /// Why it is none, in the words of the server.
    pub(super) fn open(body: &'a [u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("empty data".into());
        }
        let Some(envelope) = body.strip_prefix(PREFIX) else {
            return Err(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                    .into(),
            );
        };
        if envelope.is_empty() {
            return Err("empty body".into());
        }
        let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
        let mut reader = Reader::new(envelope);
        while let Some((number, datum)) = reader.next().map_err(|problem| problem.to_string())? {
            let read = match number {
                1 => type_meta(datum, &mut api_version, &mut kind),
                2 => datum.bytes("Raw").map(|bytes| raw = bytes),
                3 | 4 => datum.bytes("ContentEncoding").and_then(|encoding| match encoding {
                    // Only what is packed or is no protobuf says how.
                    [] | b"application/vnd.kubernetes.protobuf" => Ok(()),
                    _ => Err(Problem::Encoding),
                }),
                _ => Ok(()),
            };
            read.map_err(|problem| problem.to_string())?;
        }
        Ok(Self { api_version, kind, raw })
    }

    /// The message, of a struct of the table.
    ///
    /// # Errors
    ///
    /// Where it is not of that struct, in the words of the server.
    pub(super) fn decode(&self, type_name: &str) -> Result<Value, String> {
        let mut object = Map::new();
        if let Some(known) = lookup(type_name) {
            fields(known, &[], self.raw, &mut object, MAX_DEPTH).map_err(|problem| problem.to_string())?;
        }
        Ok(object.into())
    }
}

/// A body as the server repeats it when it can make nothing of it.
pub(super) fn shown(body: &[u8]) -> String {
    let is_text = std::str::from_utf8(body).is_ok_and(|text| !text.chars().any(char::is_control));
    let start = body.get(..SHOWN).unwrap_or(body);
    let rest = if start.len() < body.len() { " ..." } else { "" };
    match (body, is_text) {
        ([], _) => "<empty>".into(),
        (_, true) => String::from_utf8_lossy(start).into_owned() + rest,
        (_, false) => start.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + rest,
    }
}

fn type_meta(datum: Datum<'_>, api_version: &mut String, kind: &mut String) -> Result<(), Problem> {
    let mut reader = Reader::new(datum.bytes("TypeMeta")?);
    while let Some((number, datum)) = reader.next()? {
        match number {
            1 => *api_version = datum.text("APIVersion")?,
            2 => *kind = datum.text("Kind")?,
            _ => {}
        }
    }
    Ok(())
}

/// Reads the fields of a struct, or those that it has from the struct that is embedded at a path of numbers.
fn fields(
    known: &'static Struct,
    path: &[u32],
    bytes: &[u8],
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), Problem> {
    let depth = depth.checked_sub(1).ok_or(Problem::Depth)?;
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        let path = [path, &[number]].concat();
        if let Some(field) = known.fields.iter().find(|field| field.wire == path) {
            // A message that comes in parts is put together.
            let before = object.remove(field.name);
            let value = value(&field.shape, datum, before, field.name, depth)?;
            object.insert(field.name.into(), value);
        } else if known.fields.iter().any(|field| field.wire.starts_with(&path)) {
            fields(known, &path, datum.bytes("an embedded message")?, object, depth)?;
        }
    }
    Ok(())
}

/// Reads a value, or what is to be added to the one that was read before.
fn value(
    shape: &'static Shape,
    datum: Datum<'_>,
    before: Option<Value>,
    name: &'static str,
    depth: usize,
) -> Result<Value, Problem> {
    let depth = depth.checked_sub(1).ok_or(Problem::Depth)?;
    Ok(match shape {
        Shape::Pointer(inner) => value(inner, datum, before, name, depth)?,
        Shape::Text(_) => datum.text(name)?.into(),
        Shape::Bool => (datum.number(name)? != 0).into(),
        Shape::Int32 => truncated(datum.number(name)?).into(),
        Shape::Int64 => datum.number(name)?.cast_signed().into(),
        // None of the table's fields is one.
        Shape::Float => return Err(datum.wrong(name)),
        Shape::Bytes => STANDARD.encode(datum.bytes(name)?).into(),
        Shape::Time => time(datum.bytes(name)?, false)?,
        Shape::MicroTime => time(datum.bytes(name)?, true)?,
        Shape::Quantity => quantity(datum.bytes(name)?)?,
        Shape::IntOrString => int_or_string(datum.bytes(name)?)?,
        Shape::Any => any(datum.bytes(name)?)?,
        Shape::Struct(type_name) => {
            let mut object = match before {
                Some(Value::Object(object)) => object,
                _ => Map::new(),
            };
            if let Some(known) = lookup(type_name) {
                fields(known, &[], datum.bytes(name)?, &mut object, depth)?;
            }
            object.into()
        }
        Shape::List(inner) => {
            let mut items = match before {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            match (&**inner, datum) {
                // Numbers may come in one piece.
                (Shape::Int32 | Shape::Int64 | Shape::Bool, Datum::Bytes(bytes)) => {
                    let mut reader = Reader::new(bytes);
                    while let Some(number) = reader.number()? {
                        items.push(value(inner, Datum::Number(number), None, name, depth)?);
                    }
                }
                (_, datum) => items.push(value(inner, datum, None, name, depth)?),
            }
            items.into()
        }
        Shape::Map(inner, _) => {
            let mut entries = match before {
                Some(Value::Object(entries)) => entries,
                _ => Map::new(),
            };
            let (key, entry) = entry(inner, datum.bytes(name)?, name, depth)?;
            entries.insert(key, entry);
            entries.into()
        }
    })
}

fn entry(
    shape: &'static Shape,
    bytes: &[u8],
    name: &'static str,
    depth: usize,
) -> Result<(String, Value), Problem> {
    let (mut key, mut entry) = (String::new(), None);
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        match (number, shape) {
            (1, _) => key = datum.text(name)?,
            // A list is a message of its own there.
            (2, Shape::List(_)) => {
                let mut items = Reader::new(datum.bytes(name)?);
                while let Some((number, datum)) = items.next()? {
                    if number == 1 {
                        entry = Some(value(shape, datum, entry, name, depth)?);
                    }
                }
            }
            (2, _) => entry = Some(value(shape, datum, None, name, depth)?),
            _ => {}
        }
    }
    // What is not said is empty.
    let entry = match (entry, shape) {
        (Some(entry), _) => entry,
        (None, Shape::List(_)) => Value::Array(Vec::new()),
        (None, Shape::Quantity) => "0".into(),
        (None, _) => "".into(),
    };
    Ok((key, entry))
}

/// Numbers of 32 bits have their sign in all 64.
fn truncated(number: u64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// A time of seconds and nanoseconds; null if it is none.
fn time(bytes: &[u8], micro: bool) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        match number {
            1 => seconds = datum.number("Seconds")?.cast_signed(),
            2 => nanos = truncated(datum.number("Nanos")?),
            _ => {}
        }
    }
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000).ok_or(Problem::Time)?;
    times::of_parts(seconds, nanos, micro).map(Value::String).ok_or(Problem::Time)
}

fn quantity(bytes: &[u8]) -> Result<Value, Problem> {
    let mut text = String::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        if number == 1 {
            text = datum.text("String_")?;
        }
    }
    Ok(if text.is_empty() { "0".into() } else { text.into() })
}

fn int_or_string(bytes: &[u8]) -> Result<Value, Problem> {
    let (mut is_text, mut int, mut text) = (false, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        match number {
            1 => is_text = datum.number("Type")? == 1,
            2 => int = truncated(datum.number("IntVal")?),
            3 => text = datum.text("StrVal")?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { int.into() })
}

/// A value that is in JSON even there.
fn any(bytes: &[u8]) -> Result<Value, Problem> {
    let mut raw = &[][..];
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        if number == 1 {
            raw = datum.bytes("Raw")?;
        }
    }
    if raw.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(raw).map_err(|_| Problem::Json) }
}

#[cfg(test)]
mod tests;
