//! Field selectors: which objects, by fields such as `metadata.name` or `status.phase`.
//!
//! A server knows only a few fields of each kind and refuses others; this module knows none and takes any name. A field
//! that is missing counts as empty, so `spec.nodeName=` finds the pods without a node.
//!
//! In a value, `\` escapes `\`, `,` and `=`. Nothing is trimmed and names are not decoded. Terms without a name and a
//! value (an empty one, but also `=` and even `!=`) are skipped.
//! Terms are sorted by their text as it was written, before it is decoded: that is the order in which Kubernetes prints
//! them.
//!
//! # Examples
//!
//! ```
//! use lariat_api::fields::Selector;
//!
//! let selector: Selector = "status.phase!=Running,metadata.namespace=games".parse()?;
//! assert!(selector.matches(&[("metadata.namespace", "games"), ("status.phase", "Pending")]));
//! assert_eq!(selector.to_string(), "metadata.namespace=games,status.phase!=Running");
//! # Ok::<(), lariat_api::fields::Error>(())
//! ```

mod requirement;
mod text;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use requirement::{Operator, Requirement};
pub use text::{Error, escape, unescape};

/// What a [`Selector`] can be matched against.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::{Fields, Selector};
///
/// struct Pod {
///     ready: bool,
/// }
///
/// impl Fields for Pod {
///     fn field(&self, name: &str) -> Option<&str> {
///         (name == "status.ready").then_some(if self.ready { "true" } else { "false" })
///     }
/// }
///
/// assert!(Selector::equals("status.ready", "true")?.matches(&Pod { ready: true }));
/// # Ok::<(), lariat_api::fields::Error>(())
/// ```
pub trait Fields {
    /// The value of a field; `None` is the same as the empty text.
    fn field(&self, name: &str) -> Option<&str>;
}

/// Selects objects by their fields: those that meet every requirement.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::Selector;
///
/// let selector: Selector = "metadata.name==web".parse()?;
/// assert_eq!(selector.to_string(), "metadata.name=web");
/// assert_eq!(selector, Selector::equals("metadata.name", "web")?);
/// # Ok::<(), lariat_api::fields::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// Selects every object; the same as [`Selector::default`] and as parsing the empty text.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// assert!(Selector::everything().is_empty());
    /// ```
    pub const fn everything() -> Self {
        Self { requirements: Vec::new() }
    }

    /// Selects the objects whose field has this value. The value may be any text.
    ///
    /// # Errors
    ///
    /// If the name of the field is empty or holds a character that has a meaning in selectors.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// assert_eq!(Selector::equals("metadata.name", "a=b")?.to_string(), r"metadata.name=a\=b");
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn equals(field: impl Into<String>, value: impl Into<String>) -> Result<Self, Error> {
        Self::one(field.into(), Operator::Equals, value.into())
    }

    /// Selects the objects whose field has another value, or none.
    ///
    /// # Errors
    ///
    /// If the name of the field is empty or holds a character that has a meaning in selectors.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// let pending = Selector::not_equals("status.phase", "Running")?;
    /// assert!(pending.matches(&[("status.phase", "Pending")]));
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn not_equals(field: impl Into<String>, value: impl Into<String>) -> Result<Self, Error> {
        Self::one(field.into(), Operator::NotEquals, value.into())
    }

    fn one(field: String, operator: Operator, value: String) -> Result<Self, Error> {
        if field.is_empty() || field.contains([',', '=', '!', '\\']) {
            return Err(Error::FieldName { field });
        }
        Ok(Self { requirements: vec![Requirement { field, operator, value }] })
    }

    /// Selects what both selectors select.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// let both = Selector::equals("a", "1")?.and(Selector::not_equals("b", "2")?);
    /// assert_eq!(both.to_string(), "a=1,b!=2");
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.requirements.extend(other.requirements);
        self
    }

    /// Whether an object with these fields is selected. Allocates nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// let unscheduled: Selector = "spec.nodeName=".parse()?;
    /// assert!(unscheduled.matches(&[("metadata.name", "web")]), "a missing field is empty");
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn matches<F: Fields + ?Sized>(&self, fields: &F) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(fields))
    }

    /// Whether this selects everything, because it requires nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// assert!(",".parse::<Selector>()?.is_empty());
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements, in the order in which they are printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// let selector: Selector = "b=2,a=1".parse()?;
    /// assert_eq!(selector.requirements()[0].field(), "a");
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The value that the field must have, if the selector demands a single one.
    ///
    /// A watch on `metadata.name=x` is about one object, and can be served by a look-up.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::fields::Selector;
    ///
    /// let selector: Selector = "metadata.name=web,status.phase!=Failed".parse()?;
    /// assert_eq!(selector.exact("metadata.name"), Some("web"));
    /// assert_eq!(selector.exact("status.phase"), None);
    /// # Ok::<(), lariat_api::fields::Error>(())
    /// ```
    pub fn exact(&self, field: &str) -> Option<&str> {
        let demands = |r: &&Requirement| r.field == field && r.operator == Operator::Equals;
        self.requirements.iter().find(demands).map(Requirement::value)
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut terms = text::terms(text);
        terms.sort_by_key(|&(_, term)| term);
        let mut requirements = Vec::with_capacity(terms.len());
        for (at, term) in terms.into_iter().filter(|(_, term)| !term.is_empty()) {
            let requirement = Requirement::parse(at, term)?;
            if !(requirement.field.is_empty() && requirement.value.is_empty()) {
                requirements.push(requirement);
            }
        }
        Ok(Self { requirements })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

// === impl Fields ===

impl<K: Borrow<str> + Ord, V: AsRef<str>> Fields for BTreeMap<K, V> {
    fn field(&self, name: &str) -> Option<&str> {
        self.get(name).map(AsRef::as_ref)
    }
}

/// The first pair with the name counts.
impl<K: AsRef<str>, V: AsRef<str>> Fields for [(K, V)] {
    fn field(&self, name: &str) -> Option<&str> {
        self.iter().find(|(k, _)| k.as_ref() == name).map(|(_, value)| value.as_ref())
    }
}

impl<K: AsRef<str>, V: AsRef<str>, const N: usize> Fields for [(K, V); N] {
    fn field(&self, name: &str) -> Option<&str> {
        self.as_slice().field(name)
    }
}

impl<F: Fields + ?Sized> Fields for &F {
    fn field(&self, name: &str) -> Option<&str> {
        (**self).field(name)
    }
}
