use serde_json::Value;

use super::Errors;
use crate::quantity::Quantity;

/// Requests and limits of a container are not negative, and no request is above its limit.
pub(super) fn resources(errors: &mut Errors, resources: &Value, path: &str) {
    let limits = &resources["limits"];
    for (name, amount) in amounts(limits) {
        if amount.is_some_and(|amount| amount.signum() < 0) {
            errors.invalid(format!("{path}.limits[{name}]"), "must not be negative");
        }
    }
    for (name, amount) in amounts(&resources["requests"]) {
        let Some(amount) = amount else { continue };
        if amount.signum() < 0 {
            errors.invalid(format!("{path}.requests[{name}]"), "must not be negative");
        }
        if quantity(&limits[name]).is_some_and(|limit| amount > limit) {
            errors.invalid(format!("{path}.requests"), format!("{name}: must be at most the limit"));
        }
    }
}

fn amounts(map: &Value) -> impl Iterator<Item = (&str, Option<Quantity>)> {
    map.as_object().into_iter().flatten().map(|(name, amount)| (name.as_str(), quantity(amount)))
}

/// A quantity in JSON: a text, or a number.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}
