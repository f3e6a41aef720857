//! From `openAPIV3Schema` to the compiled form.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::formats::Format;
use super::path::FieldPath;
use super::pattern::{Pattern, PatternError};
use super::structural::{
    Additional, Bound, Checks, ListType, MapType, Schema, SchemaType, StructuralSchema, Types,
};

/// Why a schema cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is nested too deeply.
    #[error("{path}: the schema is nested more than {MAX_DEPTH} levels deep")]
    TooDeep {
        /// Where.
        path: String,
    },
    /// A keyword has a value of the wrong kind.
    #[error("{path}: expected {expected}")]
    Malformed {
        /// Which keyword.
        path: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A regular expression is not valid.
    #[error("{path}: {error}")]
    Pattern {
        /// Which keyword.
        path: String,
        /// What is wrong with it.
        error: PatternError,
    },
}

impl StructuralSchema {
    /// Compiles a schema.
    ///
    /// It need not be structural: whether it is, the validation of the definition says. Keywords that are not known
    /// are ignored.
    ///
    /// # Errors
    ///
    /// If a keyword has a value that it cannot have, a pattern is not valid, or the schema is nested too deeply.
    pub fn parse(schema: &Value) -> Result<Self, SchemaError> {
        Ok(Self { root: Arc::new(parse(schema, &FieldPath::root(), 0)?) })
    }
}

fn parse(value: &Value, path: &FieldPath, depth: usize) -> Result<Schema, SchemaError> {
    if depth > MAX_DEPTH {
        return Err(SchemaError::TooDeep { path: path.to_string() });
    }
    let fields = value.as_object().ok_or_else(|| malformed(path, "an object"))?;
    let keywords = Keywords { fields, path, depth };
    let int_or_string = keywords.flag("x-kubernetes-int-or-string")?;
    let types = match keywords.text("type")? {
        _ if int_or_string => Types::IntOrString,
        None | Some("") => Types::Any,
        Some(name) => Types::One(
            SchemaType::from_text(name)
                .ok_or_else(|| malformed(&path.child("type"), "the name of a type"))?,
        ),
    };
    Ok(Schema {
        types,
        nullable: keywords.flag("nullable")?,
        default: keywords.value("default").cloned(),
        properties: keywords
            .object("properties")?
            .into_iter()
            .flatten()
            .map(|(name, schema)| {
                let path = path.child("properties").key(name);
                Ok((name.clone(), parse(schema, &path, depth + 1)?))
            })
            .collect::<Result<_, SchemaError>>()?,
        additional: match keywords.value("additionalProperties") {
            None => None,
            Some(Value::Bool(allowed)) => Some(Additional::Any(*allowed)),
            Some(schema) => Some(Additional::Schema(Box::new(parse(
                schema,
                &path.child("additionalProperties"),
                depth + 1,
            )?))),
        },
        items: keywords.schema("items")?,
        preserve_unknown: keywords.flag("x-kubernetes-preserve-unknown-fields")?,
        embedded: keywords.flag("x-kubernetes-embedded-resource")?,
        list_type: match keywords.text("x-kubernetes-list-type")? {
            None => None,
            Some("atomic") => Some(ListType::Atomic),
            Some("set") => Some(ListType::Set),
            Some("map") => Some(ListType::Map),
            Some(_) => return Err(malformed(&path.child("x-kubernetes-list-type"), "atomic, set or map")),
        },
        list_map_keys: keywords.texts("x-kubernetes-list-map-keys")?,
        map_type: match keywords.text("x-kubernetes-map-type")? {
            None => None,
            Some("granular") => Some(MapType::Granular),
            Some("atomic") => Some(MapType::Atomic),
            Some(_) => return Err(malformed(&path.child("x-kubernetes-map-type"), "granular or atomic")),
        },
        rules: keywords
            .array("x-kubernetes-validations")?
            .iter()
            .filter_map(|rule| rule.get("rule")?.as_str())
            .map(str::to_owned)
            .collect(),
        checks: keywords.checks()?,
    })
}

/// The keywords of one schema.
struct Keywords<'a> {
    fields: &'a Map<String, Value>,
    path: &'a FieldPath,
    depth: usize,
}

impl<'a> Keywords<'a> {
    fn checks(&self) -> Result<Checks, SchemaError> {
        Ok(Checks {
            format: self.text("format")?.and_then(|name| Some((Format::from_name(name)?, name.to_owned()))),
            allowed: self.array("enum")?.to_vec(),
            minimum: self.bound("minimum", "exclusiveMinimum")?,
            maximum: self.bound("maximum", "exclusiveMaximum")?,
            multiple_of: self.number("multipleOf")?,
            min_length: self.count("minLength")?,
            max_length: self.count("maxLength")?,
            pattern: match self.text("pattern")? {
                None | Some("") => None,
                Some(pattern) => Some(Pattern::new(pattern).map_err(|error| SchemaError::Pattern {
                    path: self.path.child("pattern").to_string(),
                    error,
                })?),
            },
            min_items: self.count("minItems")?,
            max_items: self.count("maxItems")?,
            min_properties: self.count("minProperties")?,
            max_properties: self.count("maxProperties")?,
            required: self.texts("required")?,
            all_of: self.schemas("allOf")?,
            any_of: self.schemas("anyOf")?,
            one_of: self.schemas("oneOf")?,
            not: self.schema("not")?,
        })
    }

    /// The value of a keyword. A null is the same as none.
    fn value(&self, keyword: &str) -> Option<&'a Value> {
        self.fields.get(keyword).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        keyword: &str,
        expected: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, SchemaError> {
        match self.value(keyword) {
            None => Ok(None),
            Some(value) => {
                read(value).map(Some).ok_or_else(|| malformed(&self.path.child(keyword), expected))
            }
        }
    }

    fn text(&self, keyword: &str) -> Result<Option<&'a str>, SchemaError> {
        self.read(keyword, "a string", Value::as_str)
    }

    fn flag(&self, keyword: &str) -> Result<bool, SchemaError> {
        self.read(keyword, "a boolean", Value::as_bool).map(Option::unwrap_or_default)
    }

    fn number(&self, keyword: &str) -> Result<Option<f64>, SchemaError> {
        self.read(keyword, "a number", Value::as_f64)
    }

    /// A bound for a count. Nothing can be below zero, so a negative bound is as good as zero from below, and from
    /// above it refuses everything that zero refuses and more, which no schema means.
    fn count(&self, keyword: &str) -> Result<Option<u64>, SchemaError> {
        self.read(keyword, "a whole number", Value::as_i64)
            .map(|count| count.map(|count| count.max(0).unsigned_abs()))
    }

    fn bound(&self, keyword: &str, exclusive: &str) -> Result<Option<Bound>, SchemaError> {
        let exclusive = self.flag(exclusive)?;
        Ok(self.number(keyword)?.map(|value| Bound { value, exclusive }))
    }

    fn array(&self, keyword: &str) -> Result<&'a [Value], SchemaError> {
        self.read(keyword, "an array", Value::as_array).map(|array| array.map_or(&[][..], Vec::as_slice))
    }

    fn object(&self, keyword: &str) -> Result<Option<&'a Map<String, Value>>, SchemaError> {
        self.read(keyword, "an object", Value::as_object)
    }

    fn texts(&self, keyword: &str) -> Result<Vec<String>, SchemaError> {
        let texts =
            self.array(keyword)?.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>();
        texts.ok_or_else(|| malformed(&self.path.child(keyword), "an array of strings"))
    }

    fn schema(&self, keyword: &str) -> Result<Option<Box<Schema>>, SchemaError> {
        self.value(keyword)
            .map(|schema| parse(schema, &self.path.child(keyword), self.depth + 1).map(Box::new))
            .transpose()
    }

    fn schemas(&self, keyword: &str) -> Result<Vec<Schema>, SchemaError> {
        let schemas = self.array(keyword)?.iter().enumerate();
        schemas
            .map(|(index, schema)| parse(schema, &self.path.child(keyword).index(index), self.depth + 1))
            .collect()
    }
}

fn malformed(path: &FieldPath, expected: &'static str) -> SchemaError {
    SchemaError::Malformed { path: path.to_string(), expected }
}
