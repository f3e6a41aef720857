//! Amounts of resources: `500m`, `1Gi`, `2e3`.
//!
//! The server writes every amount in its shortest exact form with the kind of suffix that it came with.

use std::cmp::Ordering;

/// What an amount that does not parse is answered with.
pub(crate) const SYNTAX: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// An amount, to the billionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantity {
    nanos: i128,
    suffix: Suffix,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suffix {
    Decimal,
    Exponent,
    Binary,
}

const NANO: i128 = 1_000_000_000;
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] =
    [("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("u", -6), ("n", -9)];
/// Amounts are cut to this, as the server does: 2^63 - 1.
const MOST: i128 = i64::MAX as i128 * NANO;

impl Quantity {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, unit) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let (suffix, factor, exponent) = parse_suffix(unit)?;
        let mut mantissa: i128 = 0;
        let mut scale: i32 = exponent;
        let mut inexact = false;
        for (index, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
            let fractional = index >= whole.len();
            // More digits than fit are cut off: either the amount is beyond the largest, or they are beyond a billionth.
            match mantissa.checked_mul(10).and_then(|m| m.checked_add(i128::from(digit - b'0'))) {
                Some(next) if next < i128::MAX / 10_000 => {
                    mantissa = next;
                    scale = scale.saturating_sub(i32::from(fractional));
                }
                _ => {
                    inexact |= digit != b'0';
                    scale = scale.saturating_add(i32::from(!fractional));
                }
            }
        }
        let mut nanos = mantissa.checked_mul(factor).unwrap_or(MOST);
        let mut power = scale.saturating_add(9);
        while power > 0 && nanos != 0 && nanos < MOST {
            nanos = nanos.checked_mul(10).unwrap_or(MOST);
            power -= 1;
        }
        while power < 0 && nanos != 0 {
            inexact |= nanos % 10 != 0;
            nanos /= 10;
            power += 1;
        }
        // Less than a billionth counts as one.
        let nanos = (nanos + i128::from(inexact)).min(MOST);
        Some(Self { nanos: if negative { -nanos } else { nanos }, suffix })
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The shortest exact form.
    pub(crate) fn print(self) -> String {
        let magnitude = self.nanos.unsigned_abs();
        let nano = NANO.unsigned_abs();
        let sign = if self.nanos < 0 { "-" } else { "" };
        if self.suffix == Suffix::Binary && magnitude.is_multiple_of(nano) && magnitude / nano >= 1024 {
            let mut whole = magnitude / nano;
            let mut unit = 0;
            while whole.is_multiple_of(1024) && unit + 1 < BINARY.len() {
                whole /= 1024;
                unit += 1;
            }
            return format!("{sign}{whole}{}", BINARY.get(unit).copied().unwrap_or_default());
        }
        if magnitude == 0 {
            return "0".into();
        }
        let mut value = magnitude;
        let mut power = -9;
        while value.is_multiple_of(1000) && power < 18 {
            value /= 1000;
            power += 3;
        }
        match self.suffix {
            Suffix::Exponent if power != 0 => format!("{sign}{value}e{power}"),
            _ => {
                let unit = DECIMAL.iter().find(|(_, exponent)| *exponent == power);
                format!("{sign}{value}{}", unit.map_or("", |(unit, _)| unit))
            }
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.nanos.partial_cmp(&other.nanos)
    }
}

/// The kind of suffix, a factor and a power of ten.
fn parse_suffix(unit: &str) -> Option<(Suffix, i128, i32)> {
    if let Some(index) = BINARY.iter().skip(1).position(|known| *known == unit) {
        return Some((Suffix::Binary, 1_i128.checked_shl(10 * (u32::try_from(index).ok()? + 1))?, 0));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == unit) {
        return Some((Suffix::Decimal, 1, *power));
    }
    let exponent = unit.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((Suffix::Exponent, 1, exponent.parse().ok().filter(|power| (-999..1000).contains(power))?))
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn amounts_are_written_in_their_shortest_form() {
        for (text, want) in [
            ("1000m", Some("1")),
            ("0.5", Some("500m")),
            ("1.5Gi", Some("1536Mi")),
            ("1024Mi", Some("1Gi")),
            ("0.1Gi", Some("107374182400m")),
            ("1024Ki", Some("1Mi")),
            ("4000m", Some("4")),
            ("1.5", Some("1500m")),
            ("100M", Some("100M")),
            ("1e3", Some("1e3")),
            ("12e6", Some("12e6")),
            ("500Ki", Some("500Ki")),
            ("0", Some("0")),
            ("-2", Some("-2")),
            ("0.0000000001", Some("1n")),
            ("", None),
            ("x", None),
            ("1x", None),
            (".", None),
            ("1.2.3", None),
            ("1e-2147483648", None),
            ("99999999999999999999999999999999999999999999999E", Some("9223372036854775807")),
        ] {
            assert_eq!(Quantity::parse(text).map(Quantity::print).as_deref(), want, "{text:?}");
        }
    }

    #[test]
    fn amounts_have_an_order() {
        let parse = |text| Quantity::parse(text).expect("an amount");
        assert!(parse("1Gi") > parse("1G"));
        assert!(parse("999m") < parse("1"));
        assert!(parse("-1").is_negative() && parse("0m").is_zero());
    }
}
