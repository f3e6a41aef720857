/// A text that is not a duration as Go writes them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration: want numbers with units, such as \"1h30m\" or \"500ms\", up to 290 years")]
pub struct InvalidDuration(pub String);

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A duration as Go writes them, in nanoseconds.
///
/// # Errors
///
/// If the text is none, or more than 64 bits hold.
///
/// # Example
///
/// ```
/// use lariat_controllers::schedule::parse_duration;
///
/// assert_eq!(parse_duration("1h30m").unwrap(), 5_400_000_000_000);
/// assert_eq!(parse_duration("-.5s").unwrap(), -500_000_000);
/// assert!(parse_duration("1d").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<i64, InvalidDuration> {
    parse(text).ok_or_else(|| InvalidDuration(text.to_owned()))
}

fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, after) = rest.split_at(end);
        let (part, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())),
            None => ("", after),
        };
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let (_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut nanos = whole.checked_mul(*unit)?;
        nanos = nanos.checked_add(fraction(part, *unit))?;
        total = total.checked_add(nanos)?;
        if total > 1 << 63 {
            return None;
        }
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (false, Ok(total)) => Some(total),
        (true, Ok(total)) => Some(-total),
        (true, Err(_)) => Some(i64::MIN),
        (false, Err(_)) => None,
    }
}

/// A decimal fraction of a unit, cut off to whole nanoseconds.
fn fraction(digits: &str, unit: u64) -> u64 {
    let mut number: u128 = 0;
    let mut scale: u128 = 1;
    for digit in digits.bytes().take(18) {
        number = number * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    u64::try_from(number * u128::from(unit) / scale).unwrap_or(u64::MAX)
}
