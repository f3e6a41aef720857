//! Fields that the schema does not know are dropped.

use std::fmt::Write as _;

use serde_json::Value;

use super::MAX_DEPTH;
use super::metadata;
use super::structural::{Additional, Schema, StructuralSchema};

/// The fields that every object has, whatever its schema says.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// `unknown field "…"`: how a warning or a strict error names a field that was dropped.
pub fn unknown_field(path: &str) -> String {
    // The server puts the path between quotes as it is, without escapes.
    format!("unknown field \"{path}\"")
}

/// `duplicate field "…"`: how a warning or a strict error names a field that a body holds twice.
pub fn duplicate_field(path: &str) -> String {
    format!("duplicate field \"{path}\"")
}

impl StructuralSchema {
    /// Drops the fields of an object that the schema does not know, and says which: first those of the metadata, then
    /// the others in order, then those of the metadata of embedded objects. `apiVersion`, `kind` and `metadata` stay.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut pruning = Pruning::default();
        pruning.known(object, &self.root, true, false);
        let Pruning { mut dropped, mut metadata, .. } = pruning;
        dropped.sort_unstable();
        // The root is visited first, so its metadata comes first here; that of embedded objects comes last.
        let own = metadata.iter().take_while(|path| path.starts_with("metadata.")).count();
        let embedded = metadata.split_off(own);
        metadata.append(&mut dropped);
        metadata.extend(embedded);
        metadata
    }
}

impl Schema {
    /// Drops the fields of a value that the schema does not know, and says whether there were any.
    pub(crate) fn prune_value(&self, value: &mut Value) -> bool {
        let mut pruning = Pruning::default();
        pruning.known(value, self, self.embedded, false);
        !pruning.dropped.is_empty()
    }
}

#[derive(Default)]
struct Pruning {
    /// Where the walk is.
    path: String,
    depth: usize,
    dropped: Vec<String>,
    /// What was dropped from the metadata of objects.
    metadata: Vec<String>,
}

impl Pruning {
    /// Keeps what `schema` knows of `value`, and the rest too if it preserves unknown fields or `keep` is set.
    fn known(&mut self, value: &mut Value, schema: &Schema, is_object: bool, keep: bool) {
        let keep = keep || schema.preserve_unknown;
        match value {
            Value::Object(fields) => {
                if is_object && let Some(own) = fields.get_mut("metadata") {
                    let path = if self.path.is_empty() {
                        "metadata".into()
                    } else {
                        format!("{}.metadata", self.path)
                    };
                    metadata::prune(own, &path, &mut self.metadata);
                }
                let mut unknown = Vec::new();
                for (key, field) in fields.iter_mut() {
                    if is_object && OBJECT_FIELDS.contains(&key.as_str()) {
                        continue;
                    }
                    match (schema.properties.get(key), &schema.additional) {
                        (Some(known), _) => {
                            self.at(key, |this| this.known(field, known, known.embedded, false));
                        }
                        (None, Some(Additional::Schema(known))) => {
                            self.at(key, |this| this.known(field, known, known.embedded, false));
                        }
                        (None, Some(Additional::Any(_))) => self.at(key, |this| this.unknown(field)),
                        (None, None) if keep => {}
                        (None, None) => unknown.push(key.clone()),
                    }
                }
                for key in unknown {
                    self.drop_field(&key);
                    fields.remove(&key);
                }
            }
            Value::Array(items) => match &schema.items {
                // A list that preserves unknown fields hands that on to its items.
                Some(item) => {
                    self.each_item(items, |this, value| this.known(value, item, item.embedded, keep));
                }
                None if keep => {}
                None => self.each_item(items, Self::unknown),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Of `value`, nothing is known.
    fn unknown(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.keys().for_each(|key| self.drop_field(key));
                fields.clear();
            }
            Value::Array(items) if self.depth > MAX_DEPTH => items.clear(),
            Value::Array(items) => self.each_item(items, Self::unknown),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn drop_field(&mut self, key: &str) {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.dropped.push(path);
    }

    fn at(&mut self, key: &str, step: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        step(self);
        self.path.truncate(length);
    }

    fn each_item(&mut self, items: &mut [Value], mut step: impl FnMut(&mut Self, &mut Value)) {
        let length = self.path.len();
        self.depth += 1;
        for (index, item) in
            items.iter_mut().enumerate().filter(|(_, item)| item.is_object() || item.is_array())
        {
            _ = write!(self.path, "[{index}]");
            step(self, item);
            self.path.truncate(length);
        }
        self.depth -= 1;
    }
}
