use std::fmt::{self, Write as _};

use super::Fields;
use super::text::{Error, decode, needs_escape, operator};

/// One condition that a field meets or does not meet.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::{Operator, Selector};
///
/// let selector: Selector = r"note=a\,b".parse()?;
/// let requirement = &selector.requirements()[0];
/// assert_eq!((requirement.field(), requirement.operator(), requirement.value()), ("note", Operator::Equals, "a,b"));
/// # Ok::<(), lariat_api::fields::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    pub(super) field: String,
    pub(super) operator: Operator,
    pub(super) value: String,
}

/// How a [`Requirement`] compares a field.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::Operator;
///
/// assert_eq!(Operator::NotEquals.to_string(), "!=");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `field=value`, also written `field==value`.
    Equals,
    /// `field!=value`.
    NotEquals,
}

// === impl Requirement ===

impl Requirement {
    pub(super) fn parse(at: usize, term: &str) -> Result<Self, Error> {
        let (length, operator, sign) =
            operator(term).ok_or_else(|| Error::NoOperator { at, term: term.to_owned() })?;
        let value = length + sign.len();
        Ok(Self {
            field: term[..length].to_owned(),
            operator,
            value: decode(at + value, &term[value..])?.into_owned(),
        })
    }

    /// The name of the field.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// assert_eq!(Selector::equals("metadata.name", "web")?.requirements()[0].field(), "metadata.name");
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn field(&self) -> &str {
        &self.field
    }

    /// How the field is compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::{Operator, Selector};
    ///
    /// assert_eq!("a==b".parse::<Selector>()?.requirements()[0].operator(), Operator::Equals);
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What the field is compared with, decoded.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// assert_eq!(r"a=b\=c".parse::<Selector>()?.requirements()[0].value(), "b=c");
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether the fields of an object meet this requirement. Allocates nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// let selector: Selector = "a!=".parse()?;
    /// assert!(selector.requirements()[0].matches(&[("a", "b")]));
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn matches<F: Fields + ?Sized>(&self, fields: &F) -> bool {
        let equal = fields.field(&self.field).unwrap_or_default() == self.value;
        match self.operator {
            Operator::Equals => equal,
            Operator::NotEquals => !equal,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.field, self.operator)?;
        self.value.chars().try_for_each(|character| {
            if needs_escape(character) {
                f.write_char('\\')?;
            }
            f.write_char(character)
        })
    }
}

// === impl Operator ===

impl Operator {
    /// The operator as it is printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Operator;
    ///
    /// assert_eq!(Operator::Equals.as_str(), "=");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::NotEquals => "!=",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
