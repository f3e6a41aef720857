//! Reads typed fields out of a parsed document, with Go's rules for JSON: a missing or null field is the zero value, and
//! no value is converted. What does not fit is reported by its place, never by its content, which may be a secret.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

/// As Go's `base64.StdEncoding`, which requires padding and ignores stray bits in the last letter.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A value that is not what its field holds.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) at: String,
    pub(super) reason: String,
}

/// The fields of an object.
pub(super) struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    at: String,
}

impl<'a> Fields<'a> {
    /// The fields of `value`, none if it is null.
    pub(super) fn of(value: &'a Value, at: String) -> Result<Self, Misfit> {
        match value {
            Value::Null => Ok(Self { map: None, at }),
            Value::Object(map) => Ok(Self { map: Some(map), at }),
            other => Err(misfit(at, other, "an object")),
        }
    }

    /// Where these fields are.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// The same fields, called otherwise in messages.
    pub(super) fn called(self, at: String) -> Self {
        Self { at, ..self }
    }

    pub(super) fn text(&self, key: &str) -> Result<String, Misfit> {
        match self.value(key) {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            other => Err(misfit(self.place(key), other, "text (put it in quotes)")),
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Misfit> {
        match self.value(key) {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(*flag),
            other => Err(misfit(self.place(key), other, "true or false")),
        }
    }

    /// Bytes in base64.
    pub(super) fn data(&self, key: &str) -> Result<Vec<u8>, Misfit> {
        let text = self.text(key)?.replace(['\r', '\n'], "");
        BASE64
            .decode(text)
            .map_err(|_| Misfit { at: self.place(key), reason: "not valid base64 with padding".to_owned() })
    }

    pub(super) fn object(&self, key: &str) -> Result<Fields<'a>, Misfit> {
        Fields::of(self.value(key), self.place(key))
    }

    pub(super) fn optional_object(&self, key: &str) -> Result<Option<Fields<'a>>, Misfit> {
        if self.value(key).is_null() { Ok(None) } else { self.object(key).map(Some) }
    }

    /// The elements of a list with the place of each.
    pub(super) fn list(&self, key: &str) -> Result<Vec<(&'a Value, String)>, Misfit> {
        match self.value(key) {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, item)| (item, format!("{}[{index}]", self.place(key))))
                .collect()),
            other => Err(misfit(self.place(key), other, "a list")),
        }
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, Misfit> {
        self.list(key)?
            .into_iter()
            .map(|(item, at)| match item {
                Value::Null => Ok(String::new()),
                Value::String(text) => Ok(text.clone()),
                other => Err(misfit(at, other, "text (put it in quotes)")),
            })
            .collect()
    }

    /// An object of which `read` reads each field.
    pub(super) fn map<T>(
        &self,
        key: &str,
        read: impl Fn(&Fields<'a>, &str) -> Result<T, Misfit>,
    ) -> Result<BTreeMap<String, T>, Misfit> {
        let object = self.object(key)?;
        let Some(map) = object.map else { return Ok(BTreeMap::new()) };
        let mut fields = BTreeMap::new();
        for key in map.keys() {
            fields.insert(key.clone(), read(&object, key)?);
        }
        Ok(fields)
    }

    fn value(&self, key: &str) -> &'a Value {
        self.map.and_then(|map| map.get(key)).unwrap_or(&Value::Null)
    }

    fn place(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }
}

fn misfit(at: String, found: &Value, expected: &str) -> Misfit {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let at = if at.is_empty() { "the document".to_owned() } else { at };
    Misfit { at, reason: format!("{found} where {expected} is expected") }
}
