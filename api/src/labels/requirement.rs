//! One condition of a selector.

use std::fmt;

use super::Labels;
use super::validation::{KeyError, ValueError, validate_key, validate_value};

/// How a [`Requirement`] compares a label.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::Operator;
///
/// assert_eq!(Operator::NotIn.to_string(), "notin");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `key=value`: the label is there and has this value.
    Equals,
    /// `key==value`: the same as [`Operator::Equals`]; kept apart so that a selector prints as it was written.
    DoubleEquals,
    /// `key!=value`: the label is missing or has another value.
    NotEquals,
    /// `key in (a,b)`: the label is there and has one of these values.
    In,
    /// `key notin (a,b)`: the label is missing or has none of these values.
    NotIn,
    /// `key`: the label is there.
    Exists,
    /// `!key`: the label is missing.
    DoesNotExist,
    /// `key>5`: the label is an integer above this one.
    GreaterThan,
    /// `key<5`: the label is an integer below this one.
    LessThan,
}

/// One condition that labels meet or do not meet.
///
/// Only valid ones can be made, so every requirement can be printed and parsed again.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{Operator, Requirement};
///
/// let requirement = Requirement::new("env", Operator::In, ["prod", "dev"])?;
/// assert_eq!(requirement.to_string(), "env in (dev,prod)");
/// assert!(requirement.matches(&[("env", "dev")]));
/// # Ok::<(), lariat_api::labels::RequirementError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, for printing and for the binary search in matching.
    values: Vec<String>,
    /// The value of `>` and `<` as a number; 0 for the other operators.
    bound: i64,
}

/// Why a [`Requirement`] cannot be made.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{Operator, Requirement, RequirementError};
///
/// let error = Requirement::new("size", Operator::GreaterThan, ["big"]).unwrap_err();
/// assert_eq!(error, RequirementError::NotAnInteger { key: "size".into(), value: "big".into() });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The key is not a label key.
    #[error("label key {key:?}: {reason}")]
    Key {
        /// The key.
        key: String,
        /// The rule that it breaks.
        reason: KeyError,
    },
    /// A value is not a label value.
    #[error("value {value:?} for label {key:?}: {reason}")]
    Value {
        /// The key that the value is for.
        key: String,
        /// The value.
        value: String,
        /// The rule that it breaks.
        reason: ValueError,
    },
    /// `in` or `notin` has nothing to choose from.
    #[error("label {key:?}: '{operator}' needs at least one value")]
    NoValues {
        /// The key.
        key: String,
        /// The operator.
        operator: Operator,
    },
    /// An operator that compares with one value was given none or several.
    #[error("label {key:?}: '{operator}' needs exactly one value, not {count}")]
    NotOneValue {
        /// The key.
        key: String,
        /// The operator.
        operator: Operator,
        /// How many values there were.
        count: usize,
    },
    /// An operator that only asks whether the label is there was given values.
    #[error("label {key:?}: '{operator}' takes no values, not {count}")]
    SuperfluousValues {
        /// The key.
        key: String,
        /// The operator.
        operator: Operator,
        /// How many values there were.
        count: usize,
    },
    /// The value of `>` or `<` is not a whole number of 64 bits.
    #[error("label {key:?}: '>' and '<' compare with an integer of 64 bits, not with {value:?}")]
    NotAnInteger {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
}

impl Requirement {
    /// Makes a requirement of any kind.
    ///
    /// Values are kept sorted; one given twice is kept and printed twice. The value of `>` and `<` must be a label value
    /// and an integer at once, so it cannot be negative: `-4` begins with a `-`.
    ///
    /// # Errors
    ///
    /// If key or a value break the syntax of labels, or if the number or kind of values does not fit the operator.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::{Operator, Requirement};
    ///
    /// assert!(Requirement::new("tier", Operator::NotIn, ["front", "back"]).is_ok());
    /// assert!(Requirement::new("tier", Operator::Equals, ["front", "back"]).is_err());
    /// ```
    pub fn new<V: Into<String>>(
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        Self::build(key.into(), operator, values.into_iter().map(Into::into).collect())
    }

    /// Makes `key=value`.
    ///
    /// # Errors
    ///
    /// If key or value break the syntax of labels.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Requirement;
    ///
    /// assert_eq!(Requirement::equals("app", "web")?.to_string(), "app=web");
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn equals(key: impl Into<String>, value: impl Into<String>) -> Result<Self, RequirementError> {
        Self::build(key.into(), Operator::Equals, vec![value.into()])
    }

    /// Makes `key`: the label is there, whatever its value.
    ///
    /// # Errors
    ///
    /// If the key breaks the syntax of labels.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Requirement;
    ///
    /// assert!(Requirement::exists("app")?.matches(&[("app", "")]));
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn exists(key: impl Into<String>) -> Result<Self, RequirementError> {
        Self::build(key.into(), Operator::Exists, Vec::new())
    }

    /// Makes `!key`: the label is missing.
    ///
    /// # Errors
    ///
    /// If the key breaks the syntax of labels.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Requirement;
    ///
    /// assert_eq!(Requirement::does_not_exist("app")?.to_string(), "!app");
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn does_not_exist(key: impl Into<String>) -> Result<Self, RequirementError> {
        Self::build(key.into(), Operator::DoesNotExist, Vec::new())
    }

    fn build(key: String, operator: Operator, mut values: Vec<String>) -> Result<Self, RequirementError> {
        if let Err(reason) = validate_key(&key) {
            return Err(RequirementError::Key { key, reason });
        }
        let bound = match (operator, values.as_slice()) {
            (Operator::In | Operator::NotIn, []) => return Err(RequirementError::NoValues { key, operator }),
            (Operator::In | Operator::NotIn, _) => 0,
            (Operator::Exists | Operator::DoesNotExist, []) => 0,
            (Operator::Exists | Operator::DoesNotExist, _) => {
                return Err(RequirementError::SuperfluousValues { key, operator, count: values.len() });
            }
            (Operator::Equals | Operator::DoubleEquals | Operator::NotEquals, [_]) => 0,
            (Operator::GreaterThan | Operator::LessThan, [value]) => match value.parse() {
                Ok(bound) => bound,
                Err(_) => return Err(RequirementError::NotAnInteger { key, value: value.clone() }),
            },
            _ => return Err(RequirementError::NotOneValue { key, operator, count: values.len() }),
        };
        for value in &values {
            if let Err(reason) = validate_value(value) {
                return Err(RequirementError::Value { key, value: value.clone(), reason });
            }
        }
        values.sort_unstable();
        Ok(Self { key, operator, values, bound })
    }

    /// The key of the label.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Requirement;
    ///
    /// assert_eq!(Requirement::exists("app")?.key(), "app");
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label is compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::{Operator, Requirement};
    ///
    /// assert_eq!(Requirement::exists("app")?.operator(), Operator::Exists);
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What the label is compared with, sorted.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::{Operator, Requirement};
    ///
    /// assert_eq!(Requirement::new("n", Operator::In, ["2", "1"])?.values(), ["1", "2"]);
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether labels meet this requirement. Allocates nothing.
    ///
    /// A label that is no integer of 64 bits is neither greater nor less than anything. `007` and `+5` are integers.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::{Operator, Requirement};
    ///
    /// let large = Requirement::new("size", Operator::GreaterThan, ["5"])?;
    /// assert!(large.matches(&[("size", "007")]));
    /// assert!(!large.matches(&[("size", "7.5")]));
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn matches<L: Labels + ?Sized>(&self, labels: &L) -> bool {
        self.admits(labels.label(&self.key))
    }

    fn admits(&self, label: Option<&str>) -> bool {
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => label.is_some_and(|v| self.lists(v)),
            Operator::NotEquals | Operator::NotIn => !label.is_some_and(|v| self.lists(v)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => integer(label).is_some_and(|number| number > self.bound),
            Operator::LessThan => integer(label).is_some_and(|number| number < self.bound),
        }
    }

    fn lists(&self, value: &str) -> bool {
        match self.values.as_slice() {
            [only] => only == value,
            sorted => sorted.binary_search_by(|listed| listed.as_str().cmp(value)).is_ok(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = match self.operator {
            Operator::Exists => return f.write_str(&self.key),
            Operator::DoesNotExist => return write!(f, "!{}", self.key),
            Operator::Equals => ("=", ""),
            Operator::DoubleEquals => ("==", ""),
            Operator::NotEquals => ("!=", ""),
            Operator::GreaterThan => (">", ""),
            Operator::LessThan => ("<", ""),
            Operator::In => (" in (", ")"),
            Operator::NotIn => (" notin (", ")"),
        };
        write!(f, "{}{open}", self.key)?;
        for (index, value) in self.values.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{value}")?;
        }
        f.write_str(close)
    }
}

// === impl Operator ===

impl Operator {
    /// The name that Kubernetes gives to this operator in code.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Operator;
    ///
    /// assert_eq!(Operator::GreaterThan.as_str(), "gt");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Exists => "exists",
            Self::DoesNotExist => "!",
            Self::GreaterThan => "gt",
            Self::LessThan => "lt",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn integer(label: Option<&str>) -> Option<i64> {
    label?.parse().ok()
}
