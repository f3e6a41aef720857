//! Numbers: whole ones that fit, and those that `serde_json` reads.

/// A number that is read without anybody's help.
pub(super) enum Number {
    Unsigned(u64),
    Negative(i64),
}

/// The number that a text is, if it is a whole one of at most 18 digits, and not a negative zero.
pub(super) fn whole(text: &[u8]) -> Option<Number> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let value = match digits {
        [digit @ b'0'..=b'9'] => i64::from(digit - b'0'),
        [b'1'..=b'9', ..] if digits.len() <= 18 => digits.iter().try_fold(0, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
        })?,
        _ => return None,
    };
    match (negative, value) {
        (true, 0) => None,
        (true, value) => Some(Number::Negative(-value)),
        (false, value) => Some(Number::Unsigned(value.unsigned_abs())),
    }
}

/// How many bytes from the beginning may belong to a number.
pub(super) fn length(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        .unwrap_or(text.len())
}
