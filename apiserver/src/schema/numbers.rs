//! Numbers compared as Go compares them.

use std::cmp::Ordering;

use super::text::{self, GoNumber};

/// How a number stands to a bound. An integer is compared with what is left of the bound when it is made one.
pub(super) fn compare(number: GoNumber, bound: f64) -> Option<Ordering> {
    match number {
        GoNumber::Int(int) => Some(int.cmp(&(bound as i64))),
        GoNumber::Float(float) => float.partial_cmp(&bound),
    }
}

/// Whether a float is a whole number, within the tolerance that the server has.
pub(super) fn is_whole(value: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    if !value.is_finite() || value.abs() > LARGEST {
        return false;
    }
    let difference = (value - value.round()).abs();
    value == value.round() || difference < TOLERANCE * value.abs().min(1.0)
}

pub(super) fn is_multiple(number: GoNumber, factor: f64) -> bool {
    match number {
        // The server divides integers as integers. A factor below one is zero then, which it does not survive.
        GoNumber::Int(int) if factor >= 1.0 => int.checked_rem(factor as i64).is_none_or(|rest| rest == 0),
        _ if factor == 0.0 => false,
        number if factor < 1.0 => is_whole(1.0 / factor * number.as_f64()),
        number => is_whole(number.as_f64() / factor),
    }
}

/// A bound as it is compared with the number: integers are compared with integers.
pub(super) fn bound_text(number: GoNumber, bound: f64) -> String {
    match number {
        GoNumber::Int(_) => (bound as i64).to_string(),
        GoNumber::Float(_) => text::float(bound),
    }
}
