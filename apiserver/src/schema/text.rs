//! Values written as Go writes them: clients compare the server's messages as text.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// `%q`: a string in double quotes.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if (c as u32) < 0x80 && c.is_control() => _ = write!(out, "\\x{:02x}", c as u32),
            c if !is_print(c) && (c as u32) > 0xffff => _ = write!(out, "\\U{:08x}", c as u32),
            c if !is_print(c) => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What Go calls printable, as far as the standard library tells: Rust escapes the same characters in `Debug`, and
/// spaces other than U+0020 are not printable in Go either. Combining marks are escaped in Rust only.
pub(crate) fn is_print(c: char) -> bool {
    match c {
        ' ' | '\'' | '"' | '\\' | '\u{300}'..='\u{36f}' => true,
        c => !c.is_control() && !c.is_whitespace() && c.escape_debug().len() == 1,
    }
}

/// `%v` of a float64.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() || value.is_infinite() {
        return if value.is_nan() {
            "NaN".into()
        } else if value > 0.0 {
            "+Inf".into()
        } else {
            "-Inf".into()
        };
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if (-4..21).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// A JSON number as Go sees it: an int64 if it is written as one, otherwise a float64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GoNumber {
    Int(i64),
    Float(f64),
}

impl GoNumber {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or(f64::INFINITY)),
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    pub(crate) fn print(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Float(value) => float(value),
        }
    }
}

/// A value as it stands after "Invalid value: ".
pub(crate) fn bad_value(value: &Value) -> String {
    match value {
        Value::Null => "\"null\"".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => GoNumber::of(number).print(),
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => json(value),
    }
}

/// Compact JSON, with the characters escaped that Go's encoder escapes for the sake of HTML.
pub(crate) fn json(value: &Value) -> String {
    let plain = value.to_string();
    if !plain.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return plain;
    }
    // Outside of strings JSON has none of these characters.
    let mut out = String::with_capacity(plain.len() + 16);
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out
}

/// The Go type of a decoded JSON value, as `%T` prints it.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) => match GoNumber::of(number) {
            GoNumber::Int(_) => "int64",
            GoNumber::Float(_) => "float64",
        },
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `%v` of a decoded JSON value.
pub(crate) fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value, 0);
    out
}

fn write_plain(out: &mut String, value: &Value, depth: usize) {
    match value {
        _ if depth > super::MAX_DEPTH => out.push_str("..."),
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&GoNumber::of(number).print()),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                write_plain(out, item, depth + 1);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (key, field)) in fields.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                out.push_str(key);
                out.push(':');
                write_plain(out, field, depth + 1);
            }
            out.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{bad_value, float, plain, quote};

    #[test]
    fn values_are_written_as_go_writes_them() {
        assert_eq!(quote("a\"b\\c\n\u{1}é\u{200b}"), "\"a\\\"b\\\\c\\n\\x01é\\u200b\"");
        let floats =
            [(1.0, "1"), (1.5, "1.5"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1e-5, "1e-05")];
        for (value, want) in floats {
            assert_eq!(float(value), want);
        }
        assert_eq!(bad_value(&json!({"a": "<"})), "{\"a\":\"\\u003c\"}");
        assert_eq!(plain(&json!({"a": [1, null]})), "map[a:[1 <nil>]]");
    }
}
