use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// A number, or a text that stands for one: usually a percentage.
///
/// # Example
///
/// ```
/// use lariat_api::IntOrString;
///
/// let surge: IntOrString = serde_json::from_str("\"25%\"").unwrap();
/// assert_eq!(surge.scaled(10, true)?, 3);
/// assert_eq!(IntOrString::from(4).scaled(10, true)?, 4);
/// # Ok::<(), lariat_api::NotAPercentage>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A number.
    Int(i64),
    /// A text.
    String(String),
}

/// A text that is no percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a percentage: want a whole number and '%', such as \"25%\"")]
pub struct NotAPercentage(pub String);

impl IntOrString {
    /// The number itself, or that percentage of `total`, rounded up or down.
    ///
    /// # Errors
    ///
    /// If it is a text that is no percentage.
    pub fn scaled(&self, total: i64, round_up: bool) -> Result<i64, NotAPercentage> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::String(text) => {
                let percent = text.strip_suffix('%').and_then(whole_number);
                let percent = percent.ok_or_else(|| NotAPercentage(text.clone()))?;
                let exact = i128::from(percent) * i128::from(total);
                let floor = exact.div_euclid(100);
                let rounded = floor + i128::from(round_up && exact.rem_euclid(100) != 0);
                let bound = if rounded < 0 { i64::MIN } else { i64::MAX };
                Ok(i64::try_from(rounded).unwrap_or(bound))
            }
        }
    }

    /// The number, or the whole number that is left of the text without its percent signs, wherever they stand.
    ///
    /// Older parts of Kubernetes, and Agones, read percentages in this way.
    ///
    /// # Errors
    ///
    /// If no whole number is left.
    pub fn without_percent_signs(&self) -> Result<i64, NotAPercentage> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::String(text) => {
                whole_number(&text.replace('%', "")).ok_or_else(|| NotAPercentage(text.clone()))
            }
        }
    }
}

/// Digits with or without a sign.
fn whole_number(text: &str) -> Option<i64> {
    text.parse().ok()
}

impl From<i64> for IntOrString {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl Display for IntOrString {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::String(text) => text.fmt(f),
        }
    }
}
