//! Amounts of resources, as Kubernetes writes them: `500m`, `1Gi`, `2e3`.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::ops::{Add, Sub};
use std::str::FromStr;

/// An amount of a resource: a decimal number, down to billionths, and the form that it was written in.
///
/// Smaller parts are rounded up, away from zero. Two quantities are equal if their numbers are.
///
/// # Example
///
/// ```
/// use lariat_controllers::quantity::Quantity;
///
/// let memory: Quantity = "1024Mi".parse()?;
/// assert_eq!(memory, "1Gi".parse()?);
/// assert_eq!(memory.to_string(), "1Gi");
/// # Ok::<(), lariat_controllers::quantity::InvalidQuantity>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// The form that a quantity was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// With a suffix for a power of 1,024, such as `Mi`.
    BinarySI,
    /// With an exponent, such as `e3`.
    DecimalExponent,
    /// With a suffix for a power of 1,000, such as `m` or `k`, or with none.
    DecimalSI,
}

/// A text that is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity: want a number and a suffix, such as \"500m\", \"1Gi\" or \"2e3\"")]
pub struct InvalidQuantity(pub String);

const NANO: i128 = 1_000_000_000;

/// The largest number of units: as in Kubernetes, more is cut off to this where it cannot be held.
const MOST: i128 = i64::MAX as i128 * NANO;

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    /// The form.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The number in units, rounded up, away from zero; `None` if it does not fit.
    pub fn value(&self) -> Option<i64> {
        self.rounded_up(NANO)
    }

    /// The number in thousandths, rounded up, away from zero; `None` if it does not fit.
    pub fn milli_value(&self) -> Option<i64> {
        self.rounded_up(NANO / 1_000)
    }

    /// The number in units, if it is a whole one.
    pub fn as_i64(&self) -> Option<i64> {
        if self.nanos % NANO == 0 { i64::try_from(self.nanos / NANO).ok() } else { None }
    }

    /// About the number in units.
    #[allow(clippy::cast_precision_loss)] // it is about the number
    pub fn as_f64(&self) -> f64 {
        self.nanos as f64 / NANO as f64
    }

    /// The same amount in decimal form, so that equal amounts are written alike.
    #[must_use]
    pub fn in_decimal(self) -> Self {
        Self { format: Format::DecimalSI, ..self }
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self.nanos.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    fn rounded_up(&self, unit: i128) -> Option<i64> {
        i64::try_from(divided_up(self.nanos, unit)).ok()
    }

    fn combined(self, other: Self, nanos: i128) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos, format }
    }
}

/// Rounded away from zero.
fn divided_up(number: i128, by: i128) -> i128 {
    let whole = number / by;
    if number % by == 0 { whole } else { whole + number.signum() }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combined(other, self.nanos.saturating_add(other.nanos))
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.combined(other, self.nanos.saturating_sub(other.nanos))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, InvalidQuantity> {
        parse(text).ok_or_else(|| InvalidQuantity(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.contains('.') || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let digits = [whole, part].concat();
    let digits = digits.trim_start_matches('0');
    let point = i32::try_from(part.len()).ok()?;

    let (format, nanos) = if let Some((_, bits)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        (Format::BinarySI, scaled(digits, -point, 1 << bits))
    } else if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        (Format::DecimalSI, scaled(digits, exponent - point, 1))
    } else {
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        let exponent: i32 = exponent.parse().ok()?;
        (Format::DecimalExponent, scaled(digits, exponent.saturating_sub(point), 1))
    };
    let nanos = if negative { -nanos } else { nanos };
    let nanos = if format == Format::BinarySI { nanos.clamp(-MOST, MOST) } else { nanos };
    Some(Quantity { nanos, format })
}

/// `digits * 10^exponent * factor` in billionths, rounded up.
fn scaled(digits: &str, exponent: i32, factor: i128) -> i128 {
    let most = i128::MAX / 4;
    let mut number: i128 = 0;
    let mut exponent = exponent.saturating_add(9);
    let mut sticky = false;
    for digit in digits.bytes() {
        match number.checked_mul(10).map(|number| number + i128::from(digit - b'0')) {
            Some(next) if next < most / (1 << 61) => number = next,
            // Digits beyond what counts.
            _ => {
                sticky |= digit != b'0';
                exponent = exponent.saturating_add(1);
            }
        }
    }
    if number == 0 {
        return 0;
    }
    number *= factor;
    while exponent > 0 {
        exponent -= 1;
        number = match number.checked_mul(10) {
            Some(next) if next < most => next,
            _ => return MOST,
        };
    }
    while exponent < 0 {
        exponent += 1;
        sticky |= number % 10 != 0;
        number /= 10;
    }
    number + i128::from(sticky)
}

/// In the canonical form: the largest suffix that leaves a whole number.
impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.pad("0");
        }
        if self.format == Format::BinarySI && self.nanos % NANO == 0 && self.nanos.abs() >= 1024 * NANO {
            let units = self.nanos / NANO;
            let fits = BINARY.iter().rev().find(|(_, bits)| units % (1 << bits) == 0);
            return match fits {
                Some((suffix, bits)) => f.pad(&format!("{}{suffix}", units >> bits)),
                None => f.pad(&units.to_string()),
            };
        }
        if self.format == Format::BinarySI && self.nanos % NANO == 0 {
            return f.pad(&(self.nanos / NANO).to_string());
        }
        let mut number = self.nanos;
        let mut exponent = -9;
        while number % 1_000 == 0 && (exponent < 18 || self.format == Format::DecimalExponent) {
            number /= 1_000;
            exponent += 3;
        }
        match self.format {
            Format::DecimalExponent if exponent == 0 => f.pad(&number.to_string()),
            Format::DecimalExponent => f.pad(&format!("{number}e{exponent}")),
            _ => {
                let suffix =
                    DECIMAL.iter().find(|(_, known)| *known == exponent).map_or("", |(name, _)| name);
                f.pad(&format!("{number}{suffix}"))
            }
        }
    }
}
