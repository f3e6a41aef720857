//! When two templates are the same: as typed Go values, not as text (trap 8 of the reference, F-2).
//!
//! Written differently but the same are nothing, null and an empty list or map; a number that is 0 and none, unless Go keeps a
//! pointer to it; amounts such as `1` and `1000m`; and whatever is in fields that nobody knows. `types.txt` says which
//! fields there are: a line for each type, `*` for a pointer, `[]` for a list, `{}` for a map.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use lariat::api::Interned;
use serde_json::{Map, Value};

use crate::types::{GameServerTemplate, Verbatim};
use crate::validation::quantity;

/// The fields of each type, with their types.
type Types = BTreeMap<&'static str, Vec<(&'static str, &'static str)>>;

const ROOT: &str = "GameServerTemplate";

/// Whether two templates make the same servers.
///
/// Texts that are no JSON objects are the same only if they are equal.
///
/// # Example
///
/// ```
/// use lariat_controllers::template::same_template;
/// use lariat_controllers::types::{GameServerTemplate, Verbatim};
/// use serde_json::json;
///
/// let template = |value| serde_json::from_value::<Verbatim<GameServerTemplate>>(value).unwrap().into();
/// let short = template(json!({"spec": {"ports": null, "health": {}}}));
/// assert!(same_template(&short, &template(json!({"spec": {}}))));
/// assert!(!same_template(&short, &template(json!({"spec": {"container": "game"}}))));
/// ```
pub fn same_template(
    one: &Interned<Verbatim<GameServerTemplate>>,
    other: &Interned<Verbatim<GameServerTemplate>>,
) -> bool {
    if Interned::is_shared(one, other) || one.text() == other.text() {
        return true;
    }
    let canonical = |template: &Verbatim<GameServerTemplate>| {
        let text = template.text().unwrap_or("null");
        serde_json::from_str::<Value>(text).ok().map(|value| structure(&value, ROOT))
    };
    match (canonical(one), canonical(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| {
        let lines = include_str!("types.txt").lines();
        lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, fields)| {
                (name, fields.split(' ').filter_map(|field| field.split_once(':')).collect())
            })
            .collect()
    })
}

/// The known fields of an object that say something.
fn structure(value: &Value, kind: &str) -> Value {
    let Some(fields) = types().get(kind) else { return value.clone() };
    let Some(object) = value.as_object() else { return value.clone() };
    let mut canonical = Map::new();
    for (name, kind) in fields {
        let Some(value) = object.get(*name).filter(|value| !value.is_null()) else { continue };
        let (is_pointer, kind) = match kind.strip_prefix('*') {
            Some(kind) => (true, kind),
            None => (false, *kind),
        };
        let value = part(value, kind);
        if is_pointer || !says_nothing(&value) {
            canonical.insert((*name).to_owned(), value);
        }
    }
    Value::Object(canonical)
}

fn part(value: &Value, kind: &str) -> Value {
    if let Some(kind) = kind.strip_prefix("[]") {
        return match value.as_array() {
            Some(items) => items.iter().map(|item| part(item, kind)).collect(),
            None => value.clone(),
        };
    }
    if let Some(kind) = kind.strip_prefix("{}") {
        return match value.as_object() {
            Some(entries) => entries.iter().map(|(key, value)| (key.clone(), part(value, kind))).collect(),
            None => value.clone(),
        };
    }
    match kind {
        "quantity" => match quantity(value) {
            Some(amount) if amount.is_zero() => Value::from(0),
            // One form for all, since a number of units and of bytes are compared by value.
            Some(amount) => Value::String(amount.in_decimal().to_string()),
            None => value.clone(),
        },
        kind => structure(value, kind),
    }
}

/// What Go has where nothing was written.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}
