use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use super::value;

/// One step from a value to a part of it.
///
/// # Example
///
/// ```
/// use lariat_apiserver::apply::PathElement;
/// use serde_json::json;
///
/// let item = PathElement::parse(r#"k:{"port":80,"protocol":"TCP"}"#).unwrap();
/// assert_eq!(item, PathElement::key([("protocol", json!("TCP")), ("port", json!(80))]));
/// assert_eq!(item.to_string(), r#"[port=80,protocol="TCP"]"#);
/// assert_eq!(item.to_key(), r#"k:{"port":80,"protocol":"TCP"}"#);
/// ```
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of an object.
    Field(String),
    /// The item of a list whose key fields have these values.
    Key(BTreeMap<String, Value>),
    /// The item of a list that is this value.
    Value(Value),
    /// The item of a list at this position.
    Index(i64),
}

/// Steps from an object to a part of it, as conflicts show them: `.spec.items[name="x"].v`.
pub(crate) struct Path<'a>(pub(crate) &'a [PathElement]);

impl PathElement {
    /// The step to a field.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// The step to the list item with these key fields.
    pub fn key<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self::Key(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The step that a key of fieldsV1 stands for, such as `f:spec`; none if it stands for none.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(rest.to_owned())),
            "k" => serde_json::from_str(rest).ok().map(Self::Key),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// The step as a key of fieldsV1.
    pub fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields =
                    fields.iter().map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())));
                format!("k:{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => order_fields(left, right),
            (Self::Value(left), Self::Value(right)) => value::order(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl Display for PathElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

fn order_fields(left: &BTreeMap<String, Value>, right: &BTreeMap<String, Value>) -> Ordering {
    for ((name, value), (other, with)) in left.iter().zip(right) {
        let order = name.cmp(other).then_with(|| value::order(value, with));
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}
