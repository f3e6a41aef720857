//! The compiled form of a custom resource's schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::formats::Format;
use super::pattern::Pattern;

/// A structural schema, compiled from a definition's `openAPIV3Schema`.
///
/// It prunes, fills in defaults, validates, and says how fields merge. A clone shares the schema.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::StructuralSchema;
/// use serde_json::json;
///
/// let schema = StructuralSchema::parse(&json!({
///     "type": "object",
///     "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
/// }))?;
/// let mut object = json!({"kind": "Widget", "spec": {"colour": "red"}});
/// assert_eq!(schema.prune(&mut object), ["spec.colour"]);
/// schema.default(&mut object);
/// assert_eq!(object, json!({"kind": "Widget", "spec": {"size": 1}}));
/// assert!(schema.validate(&object).is_empty());
/// # Ok::<(), lariat_apiserver::schema::SchemaError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StructuralSchema {
    pub(crate) root: Arc<Schema>,
}

/// The schema of one value.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    pub(crate) types: Types,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) list_type: Option<ListType>,
    pub(crate) list_map_keys: Vec<String>,
    pub(crate) map_type: Option<MapType>,
    pub(crate) rules: Vec<String>,
    pub(crate) checks: Checks,
}

/// What is demanded of a value beyond its type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) format: Option<(Format, String)>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) required: Vec<String>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
}

/// A bound of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) exclusive: bool,
}

/// What is allowed for fields that are not among the properties.
#[derive(Debug, Clone)]
pub(crate) enum Additional {
    Any(bool),
    Schema(Box<Schema>),
}

/// The types that a value may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Types {
    #[default]
    Any,
    One(SchemaType),
    IntOrString,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaType {
    /// A list.
    Array,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A map or structure.
    Object,
    /// A text.
    String,
}

/// How a list is merged: `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ListType {
    /// As one value.
    #[default]
    Atomic,
    /// As a set of scalars.
    Set,
    /// By keys of its items; see [`Schema::list_map_keys`].
    Map,
}

/// How a map or structure is merged: `x-kubernetes-map-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MapType {
    /// Field by field.
    #[default]
    Granular,
    /// As one value.
    Atomic,
}

/// A step from a value to a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// The field or key of this name.
    Field(&'a str),
    /// Any item of a list.
    Item,
}

/// A rule in CEL, which this crate does not evaluate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CelRule {
    /// Where in the schema it stands, such as `spec.items[*]`.
    pub path: String,
    /// The rule.
    pub rule: String,
}

// === impl StructuralSchema ===

impl StructuralSchema {
    /// The schema of the object itself.
    pub fn root(&self) -> &Schema {
        &self.root
    }

    /// The schema of the part at `path`, if the schema knows it. What it does not know merges as
    /// [`ListType::Atomic`] and [`MapType::Granular`].
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_apiserver::schema::{ListType, Segment, StructuralSchema};
    /// use serde_json::json;
    ///
    /// let schema = StructuralSchema::parse(&json!({"type": "object", "properties": {"ports": {
    ///     "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    ///     "items": {"type": "object", "properties": {"name": {"type": "string"}}},
    /// }}}))?;
    /// let ports = schema.at(&[Segment::Field("ports")]).expect("it is in the schema");
    /// assert_eq!((ports.list_type(), ports.list_map_keys()), (ListType::Map, &["name".to_owned()][..]));
    /// # Ok::<(), lariat_apiserver::schema::SchemaError>(())
    /// ```
    pub fn at(&self, path: &[Segment<'_>]) -> Option<&Schema> {
        path.iter().try_fold(self.root(), |schema, segment| schema.child(*segment))
    }

    /// The rules in CEL that the schema holds (`x-kubernetes-validations`). They are not evaluated: whoever serves the
    /// schema should say so.
    pub fn cel_rules(&self) -> Vec<CelRule> {
        let mut found = Vec::new();
        self.root.collect_rules(&mut String::new(), &mut found);
        found
    }
}

// === impl Schema ===

impl Schema {
    /// The schema of a field or of the items of a list.
    pub fn child(&self, segment: Segment<'_>) -> Option<&Schema> {
        match segment {
            Segment::Field(name) => self.field(name),
            Segment::Item => self.items.as_deref(),
        }
    }

    /// The type, if there is exactly one.
    pub fn schema_type(&self) -> Option<SchemaType> {
        match self.types {
            Types::One(one) => Some(one),
            Types::Any | Types::IntOrString => None,
        }
    }

    /// How a list is merged.
    pub fn list_type(&self) -> ListType {
        self.list_type.unwrap_or_default()
    }

    /// The fields that identify an item of a list of [`ListType::Map`].
    pub fn list_map_keys(&self) -> &[String] {
        &self.list_map_keys
    }

    /// How a map or structure is merged.
    pub fn map_type(&self) -> MapType {
        self.map_type.unwrap_or_default()
    }

    /// The value of the field when it is absent.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Whether fields that the schema does not know are kept.
    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve_unknown
    }

    /// The schema of a property, or of any other key of a map.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    pub(crate) fn additional_schema(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            Some(Additional::Any(_)) | None => None,
        }
    }

    fn collect_rules(&self, path: &mut String, found: &mut Vec<CelRule>) {
        found.extend(self.rules.iter().map(|rule| CelRule { path: path.clone(), rule: rule.clone() }));
        let length = path.len();
        let children = self.properties.iter().map(|(name, schema)| (name.as_str(), schema));
        for (name, schema) in children.chain(self.additional_schema().map(|schema| ("*", schema))) {
            if length > 0 {
                path.push('.');
            }
            path.push_str(name);
            schema.collect_rules(path, found);
            path.truncate(length);
        }
        if let Some(items) = &self.items {
            path.push_str("[*]");
            items.collect_rules(path, found);
            path.truncate(length);
        }
    }
}

// === impl SchemaType ===

impl SchemaType {
    pub(crate) const ALL: [(&'static str, Self); 6] = [
        ("array", Self::Array),
        ("boolean", Self::Boolean),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("object", Self::Object),
        ("string", Self::String),
    ];

    /// The type as a schema writes it.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, known)| *known)
    }
}

// === impl Types ===

impl Types {
    pub(crate) fn contains(self, wanted: SchemaType) -> bool {
        match self {
            Self::Any => false,
            Self::One(one) => one == wanted,
            Self::IntOrString => matches!(wanted, SchemaType::Integer | SchemaType::String),
        }
    }

    pub(crate) fn is_any(self) -> bool {
        self == Self::Any
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::One(one) => one.as_str(),
            Self::IntOrString => "integer,string",
        }
    }
}
