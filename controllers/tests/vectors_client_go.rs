//! What client-go's libraries answered that the loops build on: amounts, and times that recur.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use lariat_controllers::quantity::{Format, Quantity};
use lariat_controllers::schedule::Cron;
use lariat_fixtures::vectors::{self, Difference, same};
use serde_json::{Value, json};

/// Where this crate answers otherwise on purpose.
const DIFFERENCES: &[Difference] = &[
    Difference { file: "client-go/quantities", case: "q-026", reason: LARGE },
    Difference { file: "client-go/quantities", case: "q-033", reason: LARGE },
    Difference { file: "client-go/quantities", case: "q-041", reason: NO_DIGIT },
    Difference { file: "client-go/quantities", case: "q-042", reason: NO_DIGIT },
    Difference { file: "client-go/quantities", case: "q-043", reason: NO_DIGIT },
    Difference { file: "client-go/quantities", case: "q-124", reason: NO_DIGIT },
    Difference { file: "client-go/quantities", case: "q-157", reason: NO_DIGIT },
    Difference { file: "client-go/quantities", case: "q-091", reason: NEGATIVE },
    Difference { file: "client-go/quantities", case: "q-106", reason: NEGATIVE },
    Difference { file: "client-go/quantities", case: "q-112", reason: NEGATIVE },
];

const LARGE: &str = "beyond 64 bits amounts end here, and wrap around in the original";
const NO_DIGIT: &str = "a sign or a point without a digit is no number; the original takes it for 0";
const NEGATIVE: &str = "the original computes nonsense for large negative amounts with binary suffixes";

#[test]
fn vectors_quantities() {
    vectors::run("client-go/quantities", DIFFERENCES, |case| {
        let parsed = case.input["a"].as_str().unwrap().parse::<Quantity>();
        let a = match parsed {
            Ok(a) => a,
            Err(error) => return case.expect(Err(error)),
        };
        if case.error {
            return case.expect::<String>(Ok(json!(a.to_string())));
        }
        let want = &case.want;
        let format = match a.format() {
            Format::BinarySI => "BinarySI",
            Format::DecimalExponent => "DecimalExponent",
            Format::DecimalSI => "DecimalSI",
        };
        // Go keeps a short text as it was written; this is always the canonical one.
        let canonical = |text: &Value| {
            let text = text.as_str().unwrap();
            let is_kept = case.input["a"] == text || case.input["b"] == text;
            if is_kept { text.parse::<Quantity>().unwrap().to_string() } else { text.to_owned() }
        };
        same("string", &a.to_string(), &canonical(&want["string"]))?;
        same("format", &json!(format), &want["format"])?;
        same("sign", &json!(a.signum()), &want["sign"])?;
        same("isZero", &json!(a.is_zero()), &want["isZero"])?;
        // The original wraps around where a number does not fit.
        if let Some(value) = a.value() {
            same("value", &json!(value), &want["value"])?;
        }
        if let Some(value) = a.milli_value() {
            same("milliValue", &json!(value), &want["milliValue"])?;
        }
        if want["asInt64Ok"] == true {
            same("asInt64", &json!(a.as_i64()), &want["asInt64"])?;
        }
        let (got, float) = (a.as_f64(), want["asApproximateFloat64"].as_f64().unwrap());
        if (got - float).abs() > float.abs() * 1e-9 {
            return Err(format!("asApproximateFloat64: {got}\n    want {float}"));
        }
        let Some(b) = case.input["b"].as_str().and_then(|b| b.parse::<Quantity>().ok()) else {
            return Ok(());
        };
        if want["cmp"].is_null() {
            return Ok(());
        }
        same("cmp", &json!(a.cmp(&b) as i32), &want["cmp"])?;
        same("equal", &json!(a == b), &want["equal"])?;
        same("b", &b.to_string(), &canonical(&want["bString"]))?;
        same("a + b", &json!((a + b).to_string()), &want["addString"])?;
        same("a - b", &json!((a - b).to_string()), &want["subString"])
    });
}

#[test]
fn vectors_cron() {
    vectors::run("client-go/cron", DIFFERENCES, |case| {
        let cron: Cron = match case.input["spec"].as_str().unwrap().parse() {
            Ok(cron) => cron,
            Err(error) => return case.expect(Err(error)),
        };
        let from = case.input["from"].as_str().unwrap();
        let mut at: Timestamp = from.parse().unwrap();
        let zone = offset(from);
        let mut next = Vec::new();
        for _ in 0..6 {
            let found = cron.next(at, &zone);
            next.push(found.map_or(Value::Null, |at| json!(at.to_string())));
            let Some(found) = found else { break };
            at = found;
        }
        if case.error {
            return case.expect::<String>(Ok(json!(next)));
        }
        let want = case.want["next"].as_array().unwrap().iter();
        let want: Vec<Value> = want
            .map(|at| {
                at.as_str().map_or(Value::Null, |at| json!(at.parse::<Timestamp>().unwrap().to_string()))
            })
            .collect();
        same("next", &next, &want)
    });
}

/// The offset of a time in RFC 3339.
fn offset(text: &str) -> TimeZone {
    let pieces = jiff::fmt::temporal::DateTimeParser::new().parse_timestamp(text);
    assert!(pieces.is_ok());
    if text.ends_with('Z') {
        return TimeZone::UTC;
    }
    let (sign, hours) = (&text[text.len() - 6..text.len() - 5], &text[text.len() - 5..]);
    let (hours, minutes) = hours.split_once(':').unwrap();
    let seconds = hours.parse::<i32>().unwrap() * 3_600 + minutes.parse::<i32>().unwrap() * 60;
    TimeZone::fixed(Offset::from_seconds(if sign == "-" { -seconds } else { seconds }).unwrap())
}
