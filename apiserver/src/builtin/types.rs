//! What fields the built-in kinds have, and of which types: the table in `types.txt`.
//!
//! A line is a struct of the API: its name, then its fields in their order. A field is `name:type`; before the name may
//! stand the struct that it is embedded from (`VolumeSource.emptyDir`), because decoding errors name that, and after it
//! `?` if it is left out when it is empty, or `??` if it is left out when it is zero (which matters for structs and times,
//! which are never empty).
//!
//! A type is `str`, `bool`, `i32`, `i64`, `bytes`, `time`, `microtime`, `quantity`, `intstr`, `any` or the name of a
//! struct; `*T` may be null, `[]T` is a list, `{}T` a map by text. `=name` is what errors call it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The fields of a struct.
#[derive(Debug, Default)]
pub(crate) struct Struct {
    /// What errors call it.
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The path within the struct as errors write it: the structs it is embedded from, and its name.
    pub(crate) error_path: &'static str,
    pub(crate) omit: Omit,
    pub(crate) shape: Shape,
}

/// When a field is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Omit {
    Never,
    Empty,
    Zero,
}

#[derive(Debug)]
pub(crate) enum Shape {
    Text(&'static str),
    Bool,
    Int32,
    Int64,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Any,
    Struct(&'static str),
    Pointer(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>, &'static str),
}

const TABLE: &str = include_str!("types.txt");

/// The struct of that name.
pub(crate) fn lookup(name: &str) -> Option<&'static Struct> {
    static STRUCTS: OnceLock<BTreeMap<&'static str, Struct>> = OnceLock::new();
    STRUCTS.get_or_init(|| TABLE.lines().filter_map(parse_struct).collect()).get(name)
}

fn parse_struct(line: &'static str) -> Option<(&'static str, Struct)> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next()?;
    let fields = words.filter_map(parse_field).collect();
    // Both groups call theirs `Event`.
    let name = match key {
        "EventsEvent" => "Event",
        "EventsEventSeries" => "EventSeries",
        key => key,
    };
    Some((key, Struct { name, fields }))
}

fn parse_field(word: &'static str) -> Option<Field> {
    let (path, shape) = word.split_once(':')?;
    let (path, omit) = match path.split_once('?') {
        None => (path, Omit::Never),
        Some((path, "?")) => (path, Omit::Zero),
        Some((path, _)) => (path, Omit::Empty),
    };
    let name = path.rsplit('.').next()?;
    Some(Field { name, error_path: path, omit, shape: parse_shape(shape) })
}

fn parse_shape(text: &'static str) -> Shape {
    if let Some(inner) = text.strip_prefix('*') {
        return Shape::Pointer(Box::new(parse_shape(inner)));
    }
    if let Some(inner) = text.strip_prefix("[]") {
        return Shape::List(Box::new(parse_shape(inner)));
    }
    if let Some(inner) = text.strip_prefix("{}") {
        let (inner, name) = inner.split_once('=').unwrap_or((inner, ""));
        return Shape::Map(Box::new(parse_shape(inner)), name);
    }
    match text.split_once('=').unwrap_or((text, "")) {
        ("str", "") => Shape::Text("string"),
        ("str", name) => Shape::Text(name),
        ("bool", _) => Shape::Bool,
        ("i32", _) => Shape::Int32,
        ("i64", _) => Shape::Int64,
        ("bytes", _) => Shape::Bytes,
        ("time", _) => Shape::Time,
        ("microtime", _) => Shape::MicroTime,
        ("quantity", _) => Shape::Quantity,
        ("intstr", _) => Shape::IntOrString,
        ("any", _) => Shape::Any,
        (name, _) => Shape::Struct(name),
    }
}

impl Struct {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Shape {
    /// The type as errors write it.
    pub(crate) fn go_name(&self) -> String {
        match self {
            Self::Text(name) => (*name).into(),
            Self::Bool => "bool".into(),
            Self::Int32 | Self::IntOrString => "int32".into(),
            Self::Int64 => "int64".into(),
            Self::Bytes => "[]uint8".into(),
            Self::Time | Self::MicroTime => "string".into(),
            Self::Quantity => "resource.Quantity".into(),
            Self::Any => "interface {}".into(),
            Self::Struct(name) => format!("v1.{}", lookup(name).map_or(*name, |known| known.name)),
            Self::Pointer(inner) => inner.go_name(),
            Self::List(inner) => format!("[]{}", inner.go_name()),
            Self::Map(inner, "") => format!("map[string]{}", inner.go_name()),
            Self::Map(_, name) => (*name).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, TABLE, lookup};

    fn check(shape: &Shape, at: &str) {
        match shape {
            Shape::Struct(name) => {
                assert!(lookup(name).is_some(), "{at} is of type {name}, which is not there");
            }
            Shape::Pointer(inner) | Shape::List(inner) | Shape::Map(inner, _) => check(inner, at),
            _ => {}
        }
    }

    #[test]
    fn every_type_of_the_table_is_there() {
        for line in TABLE.lines() {
            let key = line.split(' ').next().expect("a name");
            let known = lookup(key).unwrap_or_else(|| panic!("{key} does not parse"));
            assert_eq!(known.fields.len(), line.split(' ').count() - 1, "fields of {key}");
            for field in &known.fields {
                check(&field.shape, &format!("{key}.{}", field.name));
            }
        }
    }
}
