//! Objects are checked against the schema, in the order and the words of the server.
//!
//! Each value is checked for its type, then against `anyOf`, `oneOf`, `allOf` and `not`, then for what its own type
//! allows, then against `enum`, then field by field. Alternatives that fail are judged by how far they came: the errors
//! of the one that passed most checks are reported.
//!
//! On an update, errors of a value that did not change are forgiven (validation ratcheting).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::error::{FieldError, FieldErrorKind};
use super::lists;
use super::numbers::{bound_text, compare, is_multiple, is_whole};
use super::path::FieldPath;
use super::structural::{Additional, ListType, Schema, SchemaType, StructuralSchema};
use super::text::{self, GoNumber};
use super::trail::{Step, Trail};

impl StructuralSchema {
    /// Everything that is wrong with an object: its values, the objects that it embeds, its lists.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_values(object, None);
        errors.extend(self.validate_embedded(object));
        errors.extend(self.validate_lists(object, None));
        errors
    }

    /// Everything that is wrong with an object that replaces `old`, except what was wrong with the same value before.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_values(object, Some(old));
        errors.extend(self.validate_embedded(object));
        errors.extend(self.validate_lists(object, Some(old)));
        errors
    }

    /// What is wrong with the values of an object, leaving aside whether lists are proper sets and maps.
    pub fn validate_values(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.root.validate_at(&FieldPath::root(), object, old)
    }

    /// Which items of sets and maps occur twice. An update of lists that were wrong before may leave them wrong.
    pub fn validate_lists(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match old {
            Some(old) if !lists::validate(&self.root, old).is_empty() => Vec::new(),
            _ => lists::validate(&self.root, object),
        }
    }
}

impl Schema {
    /// What is wrong with a value that stands at `path`.
    pub(crate) fn validate_at(
        &self,
        path: &FieldPath,
        value: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let Outcome { mut errors, .. } = Check { prefix: path }.run(self, value, old, &Trail::ROOT);
        let mut seen = BTreeSet::new();
        errors.retain(|error| seen.insert((error.field.clone(), error.message())));
        errors
    }
}

/// What is wrong with a value, and how much is right with it.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    passed: usize,
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.passed += other.passed;
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

struct Check<'a> {
    prefix: &'a FieldPath,
}

impl Check<'_> {
    fn run(&self, schema: &Schema, value: &Value, old: Option<&Value>, trail: &Trail<'_>) -> Outcome {
        let mut outcome = self.unforgiving(schema, value, old, trail);
        if !outcome.is_valid() && old == Some(value) {
            outcome.errors.clear();
        }
        outcome
    }

    fn unforgiving(&self, schema: &Schema, value: &Value, old: Option<&Value>, trail: &Trail<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.errors.extend(self.null(schema, trail));
            outcome.errors.extend(self.allowed(schema, value, trail));
            return outcome;
        }
        if !schema.types.is_any() || schema.checks.format.is_some() {
            match self.wrong_type(schema, value, trail) {
                Some(error) => outcome.errors.push(error),
                None => outcome.passed += 1,
            }
            outcome.passed += 1;
        }
        outcome.merge(self.alternatives(schema, value, old, trail));
        outcome.passed += 1;
        match value {
            Value::String(text) => {
                outcome.errors.extend(self.string(schema, text, trail));
                outcome.errors.extend(self.format(schema, text, trail));
                outcome.passed += 2;
            }
            Value::Number(number) => {
                outcome.errors.extend(self.number(schema, GoNumber::of(number), trail));
                outcome.passed += 2;
            }
            Value::Array(items) => {
                outcome.merge(self.array(schema, items, old.and_then(Value::as_array), trail));
                outcome.passed += 2;
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        outcome.errors.extend(self.allowed(schema, value, trail));
        outcome.passed += 1;
        if let Value::Object(fields) = value {
            outcome.merge(self.object(schema, fields, old.and_then(Value::as_object), trail));
            outcome.passed += 1;
        }
        outcome.passed += 1;
        outcome
    }

    fn null(&self, schema: &Schema, trail: &Trail<'_>) -> Option<FieldError> {
        let allowed = schema.types.is_any() || schema.nullable;
        (!allowed).then(|| self.type_error(trail, schema.types.name(), "null"))
    }

    fn wrong_type(&self, schema: &Schema, value: &Value, trail: &Trail<'_>) -> Option<FieldError> {
        let (found, found_format) = match value {
            Value::Null | Value::Bool(_) => (SchemaType::Boolean, ""),
            Value::Number(number) => match GoNumber::of(number) {
                GoNumber::Int(_) => (SchemaType::Integer, "int64"),
                GoNumber::Float(_) => (SchemaType::Number, "float64"),
            },
            Value::String(_) => (SchemaType::String, ""),
            Value::Array(_) => (SchemaType::Array, ""),
            Value::Object(_) => (SchemaType::Object, ""),
        };
        let types = schema.types;
        let whole = value.as_f64().is_some_and(is_whole) && types.contains(SchemaType::Integer);
        let integer_as_number = found == SchemaType::Integer && types.contains(SchemaType::Number);
        let fits = types.contains(found) || found == SchemaType::Number && whole || integer_as_number;
        if let Some((_, format)) = &schema.checks.format {
            if matches!(found, SchemaType::String | SchemaType::Array) {
                // The format has the last word on these, and lists have no format: the server lets them pass.
                if !types.contains(SchemaType::Number) && !types.contains(SchemaType::Integer) {
                    return None;
                }
            } else if !fits {
                return Some(self.type_error(trail, format, found_format));
            }
        }
        (!fits).then(|| self.type_error(trail, types.name(), found.as_str()))
    }

    fn alternatives(
        &self,
        schema: &Schema,
        value: &Value,
        old: Option<&Value>,
        trail: &Trail<'_>,
    ) -> Outcome {
        let checks = &schema.checks;
        let mut outcome = Outcome { errors: Vec::new(), passed: 1 };
        let run = |schema| self.unforgiving(schema, value, old, trail);
        if !checks.any_of.is_empty() {
            let mut best: Option<Outcome> = None;
            for schema in &checks.any_of {
                let result = run(schema);
                let valid = result.is_valid();
                if valid || best.as_ref().is_none_or(|best| result.passed > best.passed) {
                    best = Some(result);
                }
                if valid {
                    break;
                }
            }
            if best.as_ref().is_some_and(|best| !best.is_valid()) {
                outcome.errors.push(self.composite(trail, "must validate at least one schema (anyOf)"));
            }
            outcome.merge(best.unwrap_or_default());
        }
        if !checks.one_of.is_empty() {
            let (mut success, mut best): (Option<Outcome>, Option<Outcome>) = (None, None);
            let mut valid = 0;
            for schema in &checks.one_of {
                let result = run(schema);
                if result.is_valid() {
                    valid += 1;
                    success.get_or_insert(result);
                } else if best.as_ref().is_none_or(|best| result.passed > best.passed) {
                    best = Some(result);
                }
            }
            match valid {
                1 => outcome.merge(success.unwrap_or_default()),
                0 => {
                    let found = "must validate one and only one schema (oneOf). Found none valid";
                    outcome.errors.push(self.composite(trail, found));
                    outcome.merge(best.unwrap_or_default());
                }
                more => {
                    let found = format!(
                        "must validate one and only one schema (oneOf). Found {more} valid alternatives"
                    );
                    outcome.errors.push(self.composite(trail, &found));
                }
            }
        }
        if !checks.all_of.is_empty() {
            let mut valid = 0;
            for schema in &checks.all_of {
                let result = run(schema);
                valid += usize::from(result.is_valid());
                outcome.merge(result);
            }
            if valid != checks.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome
                    .errors
                    .push(self.composite(trail, &format!("must validate all the schemas (allOf){none}")));
            }
        }
        if checks.not.as_ref().is_some_and(|schema| run(schema).is_valid()) {
            outcome.errors.push(self.composite(trail, "must not validate the schema (not)"));
        }
        outcome
    }

    /// Only the first thing that is wrong with a string is reported.
    fn string(&self, schema: &Schema, text: &str, trail: &Trail<'_>) -> Option<FieldError> {
        let checks = &schema.checks;
        let length = || u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(most) = checks.max_length
            && length() > most
        {
            return Some(FieldError::too_long(&self.path(&trail.write()), most));
        }
        if let Some(least) = checks.min_length
            && length() < least
        {
            return Some(self.invalid(trail, text, &format!("should be at least {least} chars long")));
        }
        let pattern = checks.pattern.as_ref().filter(|pattern| !pattern.is_match(text))?;
        Some(self.invalid(trail, text, &format!("should match '{}'", pattern.as_str())))
    }

    fn format(&self, schema: &Schema, text: &str, trail: &Trail<'_>) -> Option<FieldError> {
        let (format, name) = schema.checks.format.as_ref()?;
        (!format.is_valid(text)).then(|| self.type_error(trail, name, text))
    }

    fn number(&self, schema: &Schema, number: GoNumber, trail: &Trail<'_>) -> Vec<FieldError> {
        let checks = &schema.checks;
        let mut errors = Vec::new();
        let value = || match number {
            GoNumber::Int(int) => Value::from(int),
            GoNumber::Float(float) => Value::from(float),
        };
        if let Some(factor) = checks.multiple_of {
            let printed = bound_text(number, factor);
            if factor < 0.0 {
                let path = trail.write();
                let detail = format!("factor MultipleOf declared for {path} must be positive: {printed}");
                errors.push(FieldError::invalid(&self.path(&path), factor, detail));
            } else if !is_multiple(number, factor) {
                errors.push(self.invalid(trail, value(), &format!("should be a multiple of {printed}")));
            }
        }
        // The server names the lower bound before the upper one.
        let bounds = [
            (checks.minimum, Ordering::Less, "greater than"),
            (checks.maximum, Ordering::Greater, "less than"),
        ];
        for (bound, beyond, relation) in bounds {
            let Some(bound) = bound else { continue };
            let order = compare(number, bound.value);
            if order == Some(beyond) || bound.exclusive && order == Some(Ordering::Equal) {
                let or_equal = if bound.exclusive { "" } else { " or equal to" };
                let detail = format!("should be {relation}{or_equal} {}", bound_text(number, bound.value));
                errors.push(self.invalid(trail, value(), &detail));
            }
        }
        errors
    }

    fn array(
        &self,
        schema: &Schema,
        items: &[Value],
        old: Option<&Vec<Value>>,
        trail: &Trail<'_>,
    ) -> Outcome {
        let mut outcome = Outcome { errors: Vec::new(), passed: 1 };
        if let Some(item_schema) = &schema.items {
            let old = OldItems::new(schema, old);
            for (index, item) in items.iter().enumerate() {
                outcome.merge(self.run(
                    item_schema,
                    item,
                    old.of(schema, item),
                    &trail.then(Step::Item(index)),
                ));
            }
        }
        let (length, checks) = (items.len(), &schema.checks);
        if let Some(least) = checks.min_items
            && is_below(length, least)
        {
            outcome.errors.push(self.invalid(trail, length, &format!("should have at least {least} items")));
        }
        if let Some(most) = checks.max_items
            && is_above(length, most)
        {
            outcome.errors.push(FieldError::too_many(&self.path(&trail.write()), length, most));
        }
        outcome
    }

    fn allowed(&self, schema: &Schema, value: &Value, trail: &Trail<'_>) -> Option<FieldError> {
        let allowed = &schema.checks.allowed;
        // A null in the list allows nothing: the server compares by type, and null has none.
        let is_same = |known: &Value| match (known, value) {
            (Value::Null, _) => false,
            (Value::Number(known), Value::Number(value)) => {
                GoNumber::of(known).as_f64() == GoNumber::of(value).as_f64()
            }
            (known, value) => known == value,
        };
        if allowed.is_empty() || allowed.iter().any(is_same) {
            return None;
        }
        let names: Vec<_> = allowed
            .iter()
            .map(|value| value.as_str().map_or_else(|| text::json(value), str::to_owned))
            .collect();
        Some(FieldError::not_supported(&self.path(&trail.write()), value.clone(), &names))
    }

    fn object(
        &self,
        schema: &Schema,
        fields: &Map<String, Value>,
        old: Option<&Map<String, Value>>,
        trail: &Trail<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let (count, checks) = (fields.len(), &schema.checks);
        if let Some(least) = checks.min_properties
            && is_below(count, least)
        {
            outcome.errors.push(self.invalid(
                trail,
                count,
                &format!("should have at least {least} properties"),
            ));
            return outcome;
        }
        if let Some(most) = checks.max_properties
            && is_above(count, most)
        {
            outcome.errors.push(FieldError::too_many(&self.path(&trail.write()), count, most));
            return outcome;
        }
        let others = fields.iter().filter(|(key, _)| !schema.properties.contains_key(*key));
        match &schema.additional {
            Some(Additional::Any(false)) => outcome.errors.extend(others.map(|(key, _)| {
                let path = trail.write();
                let detail = format!("{path}.{key} in body is a forbidden property");
                FieldError::invalid(&self.path(&path), key.as_str(), detail)
            })),
            Some(Additional::Schema(schema)) => {
                for (key, field) in others {
                    let old = old.and_then(|old| old.get(key));
                    outcome.merge(self.run(schema, field, old, &trail.then(Step::Key(key))));
                }
            }
            Some(Additional::Any(true)) | None => {}
        }
        for (name, property) in &schema.properties {
            if let Some(field) = fields.get(name) {
                let old = old.and_then(|old| old.get(name));
                outcome.merge(self.run(property, field, old, &trail.then(Step::Field(name))));
            }
        }
        for name in checks.required.iter().filter(|name| !fields.contains_key(*name)) {
            let path = trail.then(Step::Key(name)).write();
            outcome.errors.push(FieldError::required(&self.path(&path), ""));
        }
        outcome
    }

    fn path(&self, relative: &str) -> FieldPath {
        self.prefix.relative(relative)
    }

    fn invalid(&self, trail: &Trail<'_>, value: impl Into<Value>, detail: &str) -> FieldError {
        let path = trail.write();
        FieldError::invalid(&self.path(&path), value, format!("{path} in body {detail}"))
    }

    fn type_error(&self, trail: &Trail<'_>, wanted: &str, found: &str) -> FieldError {
        let path = trail.write();
        let detail = format!("{path} in body must be of type {wanted}: {}", text::quote(found));
        FieldError::type_invalid(&self.path(&path), found, detail)
    }

    /// The server does not attribute these to a field.
    fn composite(&self, trail: &Trail<'_>, detail: &str) -> FieldError {
        let detail = format!("{} {detail}", text::quote(&trail.write()));
        FieldError::new(FieldErrorKind::Invalid, self.prefix.to_string(), "", detail)
    }
}

/// The items of a list before the update, by their keys. Only items that have keys can be found again.
struct OldItems<'a>(BTreeMap<String, &'a Value>);

impl<'a> OldItems<'a> {
    fn new(schema: &Schema, old: Option<&'a Vec<Value>>) -> Self {
        let old = old.filter(|_| schema.list_type() == ListType::Map && !schema.list_map_keys.is_empty());
        Self(
            old.into_iter().flatten().map(|item| (lists::item_key(schema, item).to_string(), item)).collect(),
        )
    }

    fn of(&self, schema: &Schema, item: &Value) -> Option<&'a Value> {
        if self.0.is_empty() { None } else { self.0.get(&lists::item_key(schema, item).to_string()).copied() }
    }
}

fn is_below(count: usize, least: u64) -> bool {
    u64::try_from(count).is_ok_and(|count| count < least)
}

fn is_above(count: usize, most: u64) -> bool {
    u64::try_from(count).is_ok_and(|count| count > most)
}
