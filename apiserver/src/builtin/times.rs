//! Times in objects: what the server takes, and how it writes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::schema::shared::{format_rfc3339, parse_rfc3339};

const SECONDS: [&str; 12] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00"];
const MICROS: [&str; 13] =
    ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000", "Z07:00"];

/// The begin of the years that can be written, in seconds from 1970, and their end.
const YEAR_0: i64 = -62_167_219_200;
const YEAR_10000: i64 = 253_402_300_800;

/// Whether a text is a time to the second, or to the microsecond, in the words of the server.
pub(crate) fn check(text: &str, micro: bool) -> Result<(), String> {
    let layout: &[&str] = if micro { &MICROS } else { &SECONDS };
    let mut rest = text;
    for element in layout {
        let length = match *element {
            // Seconds may have a fraction though the layout has none.
            "Z07:00" if !micro && rest.starts_with('.') => {
                let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
                let (_, after) = rest.split_at_checked(digits + 1).unwrap_or((rest, ""));
                rest = after;
                zone_length(rest)
            }
            "Z07:00" => zone_length(rest),
            ".000000" => {
                let digits = rest.bytes().skip(1).take(6).filter(u8::is_ascii_digit).count();
                (rest.starts_with('.') && digits == 6).then_some(7)
            }
            literal @ ("-" | "T" | ":") => rest.starts_with(literal).then_some(1),
            number => {
                let digits = rest.bytes().take(number.len()).filter(u8::is_ascii_digit).count();
                (digits == number.len()).then_some(digits)
            }
        };
        let Some((_, after)) = length.and_then(|length| rest.split_at_checked(length)) else {
            let layout = layout.concat();
            return Err(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}"));
        };
        rest = after;
    }
    if !rest.is_empty() {
        return Err(format!("parsing time {text:?}: extra text: {rest:?}"));
    }
    match parse_rfc3339(text) {
        Some(_) => Ok(()),
        None => Err(format!("parsing time {text:?}: {} out of range", out_of_range(text))),
    }
}

fn zone_length(rest: &str) -> Option<usize> {
    let zone = rest.as_bytes();
    match zone {
        [b'Z', ..] => Some(1),
        [b'+' | b'-', a, b, b':', c, d, ..] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()) => {
            Some(6)
        }
        _ => None,
    }
}

fn out_of_range(text: &str) -> &'static str {
    let part = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    match (part(5..7), part(11..13), part(14..16), part(17..19)) {
        (Some(0 | 13..), ..) => "month",
        (_, Some(24..), ..) => "hour",
        (_, _, Some(60..), _) => "minute",
        (_, _, _, Some(60..)) => "second",
        _ => "day",
    }
}

/// A time in the form in which the server writes it; `None` if it is none.
pub(crate) fn canonical(text: &str, micro: bool) -> Option<String> {
    let (seconds, nanos) = parse_rfc3339(text)?;
    Some(format(seconds, nanos, micro))
}

/// The time so many seconds after 1970, in the form in which the server writes it; `None` if that form has no such year.
pub(crate) fn of_parts(seconds: i64, nanos: u32, micro: bool) -> Option<String> {
    (YEAR_0..YEAR_10000).contains(&seconds).then(|| format(seconds, nanos, micro))
}

fn format(seconds: i64, nanos: u32, micro: bool) -> String {
    let whole = format_rfc3339(system_time(seconds));
    match whole.strip_suffix('Z') {
        Some(clock) if micro => format!("{clock}.{:06}Z", nanos / 1000),
        _ => whole,
    }
}

/// The time so many seconds after a time that stands in an object; before it if they are negative.
pub(crate) fn shift(text: &str, by: i64) -> Option<String> {
    let (seconds, _) = parse_rfc3339(text)?;
    Some(format(seconds.saturating_add(by), 0, false))
}

/// A time so many seconds after `now`, as it is written into objects.
pub(crate) fn after(now: SystemTime, seconds: i64) -> String {
    let moved = u64::try_from(seconds).ok().and_then(|seconds| now.checked_add(Duration::from_secs(seconds)));
    format_rfc3339(moved.unwrap_or(now))
}

fn system_time(seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let moved = if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    moved.unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::{canonical, check, shift};

    #[test]
    fn times_are_refused_in_the_words_of_the_server() {
        for (text, micro, want) in [
            ("2026-01-01T00:00:00Z", false, ""),
            ("2026-01-01T00:00:00.5+02:00", false, ""),
            ("2026-01-01T00:00:00.000000Z", true, ""),
            ("x", false, r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#),
            (
                "2026-01-01T00:00:00Z",
                true,
                r#"parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
            ),
            ("2026-13-01T00:00:00Z", false, r#"parsing time "2026-13-01T00:00:00Z": month out of range"#),
            ("2026-01-01T00:00:00Zx", false, r#"parsing time "2026-01-01T00:00:00Zx": extra text: "x""#),
        ] {
            assert_eq!(check(text, micro).err().unwrap_or_default(), want, "{text}");
        }
    }

    #[test]
    fn times_have_one_form() {
        assert_eq!(canonical("2026-01-01T02:00:00.5+02:00", false).as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(
            canonical("2026-01-01T00:00:00.123456Z", true).as_deref(),
            Some("2026-01-01T00:00:00.123456Z")
        );
        assert_eq!(shift("2026-01-01T00:00:10Z", -11).as_deref(), Some("2025-12-31T23:59:59Z"));
        assert_eq!(canonical("x", true), None);
    }
}
