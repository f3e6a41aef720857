use std::cmp::Ordering;

use serde_json::{Number, Value};

/// How deep an object may nest; it is what a JSON document that was read with `serde_json` cannot exceed. It bounds every
/// recursion in this module and in [`crate::patch`].
pub const MAX_DEPTH: usize = 128;

/// Whether a value nests no deeper than `limit`.
pub(crate) fn is_within(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => limit > 0 && items.iter().all(|item| is_within(item, limit - 1)),
        Value::Object(fields) => limit > 0 && fields.values().all(|field| is_within(field, limit - 1)),
        _ => true,
    }
}

/// Whether two values say the same: like `==`, but 1 and 1.0 are the same number.
pub(crate) fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| is_same(value, other)))
        }
        (Value::Number(left), Value::Number(right)) => order_numbers(left, right).is_eq(),
        _ => left == right,
    }
}

/// A total order of values; equal means the same in the sense of [`is_same`].
pub(crate) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => order_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let items = left.iter().zip(right).map(|(left, right)| order(left, right));
            items.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let fields = left.iter().zip(right);
            let fields =
                fields.map(|((key, value), (other, with))| key.cmp(other).then_with(|| order(value, with)));
            fields.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn order_numbers(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    // A JSON number is never NaN, and -0.0 must be 0.
    let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
    (left + 0.0).total_cmp(&(right + 0.0))
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
