//! Custom resources: their definitions, and what a definition's schema means for their objects.
//!
//! A [`CustomResourceDefinition`] is checked when it is written ([`CustomResourceDefinition::validate`]) and compiled
//! into a [`CustomResource`] for each version that is served. From then on, every object that comes in is pruned, filled
//! with defaults and validated by it, and every object that goes out can be shown as a table row, a [`scale`] or a set
//! of selectable fields.
//!
//! Everything works on [`serde_json::Value`], because a server does not know its custom resources' types. There is no
//! I/O, no clock and no state here, and nothing about storage, patches or HTTP.
//!
//! Invariants:
//! - No input makes this panic or recurse without bound: schemas are at most [`MAX_DEPTH`] levels deep, and an object is
//!   followed only as far as its schema goes.
//! - What is pruned stays pruned and what has defaults keeps them: pruning and defaulting are idempotent.
//! - Rules in CEL are not evaluated, not even in part; [`StructuralSchema::cel_rules`] lists them.
//! - Maps are walked in the order of their keys, so that the same object always gives the same errors. The server's
//!   own order differs from run to run where a schema has several fields.

mod columns;
mod default;
mod definition;
mod definition_check;
mod duplicates;
mod error;
mod formats;
mod jsonpath;
mod list_check;
mod lists;
mod metadata;
mod names;
mod numbers;
mod ownership;
mod parse;
mod path;
mod pattern;
mod prune;
mod resource;
mod scale;
mod schema_check;
mod structural;
mod structural_check;
mod text;
mod time;
mod trail;
mod validate;
mod version_check;

pub use columns::{ColumnDefinition, TableColumns};
pub use definition::{
    CLEANUP_FINALIZER, Conversion, CustomResourceDefinition, DefinitionCondition, DefinitionNames,
    DefinitionSchema, DefinitionSpec, DefinitionStatus, DefinitionVersion, PrinterColumn, ScalePaths,
    SelectableField, Subresources,
};
pub use duplicates::duplicate_fields;
pub use error::{FieldError, FieldErrorKind, invalid_status, strict_status};
pub use jsonpath::{JsonPath, JsonPathError};
pub use parse::SchemaError;
pub use pattern::PatternError;
pub use prune::{duplicate_field, unknown_field};
pub use resource::CustomResource;
pub use scale::{ScaleError, apply_scale, apply_scale_version, scale, validate_scale_fields};
pub use structural::{CelRule, ListType, MapType, Schema, SchemaType, Segment, StructuralSchema};

/// How deeply a schema, or a value that no schema describes, may be nested.
///
/// A body is decoded to at most 128 levels, so nothing that was decoded is deeper. A stack of one megabyte is enough for
/// it, in a debug build too.
pub const MAX_DEPTH: usize = 128;

/// What the built-in kinds share with custom resources.
pub(crate) mod shared {
    pub(crate) use super::error::aggregate;
    pub(crate) use super::names::{dns1123_subdomain, path_segment};
    pub(crate) use super::path::FieldPath;
    pub(crate) use super::text::{json, quote};
    pub(crate) use super::time::{age, format_rfc3339, parse_rfc3339};
}
