//! What fields the built-in kinds have, and of which types: the table in `types.txt`.
//!
//! A line is a struct of the API: its name, then its fields in their order. A field is `name#number:type`; before the name
//! may stand the struct that it is embedded from (`VolumeSource.emptyDir`), because decoding errors name that, and after it
//! `?` if it is left out when it is empty, or `??` if it is left out when it is zero (which matters for structs and times,
//! which are never empty). A field that is always written is required of clients, and one that may be left out is not, but
//! for those with `~` and `!`, where it is the other way round. The number is the field's in protobuf; one of an embedded
//! struct has that of the struct before it (`#2.1`), and the fields that the envelope of a message holds have none.
//!
//! A type is `str`, `bool`, `i32`, `i64`, `f64`, `bytes`, `time`, `microtime`, `quantity`, `intstr`, `any` or the name of a
//! struct; `*T` may be null, `[]T` is a list, `{}T` a map by text. `=name` is what errors call it. The values that a text
//! of such a name may have are in `enums.txt`.

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
    /// Whether schemas require it.
    pub(crate) is_required: bool,
    /// Its numbers in protobuf, from the struct that it is embedded from to its own; none if it is not in the message.
    pub(crate) wire: Vec<u32>,
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
    Float,
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

const ENUMS: &str = include_str!("enums.txt");

/// Definitions of custom resources in the form of `types.txt`, without numbers, for schemas only: [`crate::schema`] reads them.
const DEFINITIONS: &str = include_str!("definition.txt");

type Structs = BTreeMap<&'static str, Struct>;

/// The struct of that name.
pub(crate) fn lookup(name: &str) -> Option<&'static Struct> {
    static STRUCTS: OnceLock<Structs> = OnceLock::new();
    STRUCTS.get_or_init(|| TABLE.lines().filter_map(parse_struct).collect()).get(name)
}

/// The struct of that name, also of those that only have a schema.
pub(crate) fn lookup_schema(name: &str) -> Option<&'static Struct> {
    static STRUCTS: OnceLock<Structs> = OnceLock::new();
    let definitions = || DEFINITIONS.lines().filter_map(parse_struct).collect();
    lookup(name).or_else(|| STRUCTS.get_or_init(definitions).get(name))
}

/// The values that a text of a type such as `v1.Protocol` may have; none if it may have any.
pub(crate) fn values_of(type_name: &str) -> Option<Vec<&'static str>> {
    let wanted = type_name.strip_prefix("v1.")?;
    ENUMS.lines().find_map(|line| {
        let (name, values) = line.split_once(' ')?;
        let values = || values.split(' ').map(|value| if value == "\"\"" { "" } else { value });
        (name == wanted).then(|| values().collect())
    })
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
    let (path, numbers) = path.split_once('#').unwrap_or((path, ""));
    let wire = numbers.split('.').filter_map(|number| number.parse().ok()).collect();
    let (path, is_unusual) = match path.strip_suffix(['!', '~']) {
        Some(path) => (path, true),
        None => (path, false),
    };
    let (path, omit) = match path.split_once('?') {
        None => (path, Omit::Never),
        Some((path, "?")) => (path, Omit::Zero),
        Some((path, _)) => (path, Omit::Empty),
    };
    let name = path.rsplit('.').next()?;
    let is_required = (omit == Omit::Never) != is_unusual;
    Some(Field { name, error_path: path, omit, is_required, wire, shape: parse_shape(shape) })
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
        ("f64", _) => Shape::Float,
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
    /// The type below the name that a type has of its own.
    pub(crate) fn basic_name(&self) -> String {
        match self {
            Self::Text(_) => "string".into(),
            other => other.go_name(),
        }
    }

    /// The type as errors write it.
    pub(crate) fn go_name(&self) -> String {
        match self {
            Self::Text(name) => (*name).into(),
            Self::Bool => "bool".into(),
            Self::Int32 | Self::IntOrString => "int32".into(),
            Self::Int64 => "int64".into(),
            Self::Float => "float64".into(),
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
    use super::{Shape, TABLE, lookup, values_of};

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
                let is_of_envelope = matches!(field.name, "kind" | "apiVersion");
                assert!(is_of_envelope || !field.wire.is_empty(), "{key}.{} has no number", field.name);
                let same = known.fields.iter().filter(|other| other.wire == field.wire);
                assert!(field.wire.is_empty() || same.count() == 1, "two fields of {key} have one number");
            }
        }
    }

    #[test]
    fn texts_of_some_types_have_a_choice() {
        assert_eq!(values_of("v1.Protocol"), Some(vec!["SCTP", "TCP", "UDP"]));
        assert_eq!(values_of("v1.IPFamily"), Some(vec!["", "IPv4", "IPv6"]));
        assert_eq!(values_of("string"), None);
    }
}
