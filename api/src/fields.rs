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

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;

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
    field: String,
    operator: Operator,
    value: String,
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

/// Why a field selector cannot be read or made.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::{Error, Selector};
///
/// let error = "a=b,c".parse::<Selector>().unwrap_err();
/// assert_eq!(error, Error::NoOperator { at: 4, term: "c".into() });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A term compares nothing.
    #[error("at byte {at}: {term:?} has no '=', '==' or '!='; escape a ',' that belongs to a value as '\\,'")]
    NoOperator {
        /// The offset of the term in the selector.
        at: usize,
        /// The term.
        term: String,
    },
    /// A value holds a character that only counts as text behind a `\`.
    #[error("at byte {at}: unescaped {character:?} in a value; write '\\{character}'")]
    Unescaped {
        /// The offset of the character.
        at: usize,
        /// The character.
        character: char,
    },
    /// A `\` stands before something that needs no escape, or at the end of a value.
    #[error("at byte {at}: {sequence:?} is no escape; '\\' may stand before '\\', ',' and '=' only")]
    Escape {
        /// The offset of the `\`.
        at: usize,
        /// The `\` and what follows it.
        sequence: String,
    },
    /// The name of a field, given in code, would be read as something else.
    #[error(
        "field name {field:?} holds one of ',', '=', '!' and '\\', which cannot be written in a selector"
    )]
    FieldName {
        /// The name.
        field: String,
    },
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
        let mut terms = terms(text);
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

// === impl Requirement ===

impl Requirement {
    fn parse(at: usize, term: &str) -> Result<Self, Error> {
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

// === escapes ===

/// Escapes a value, so that it can stand in the text of a selector.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::escape;
///
/// assert_eq!(escape(r"a,b=\c"), r"a\,b\=\\c");
/// assert_eq!(escape("plain"), "plain");
/// ```
pub fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(needs_escape) {
        return Cow::Borrowed(value);
    }
    let mut escaped = String::with_capacity(value.len() + 8);
    for character in value.chars() {
        if needs_escape(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    Cow::Owned(escaped)
}

/// Takes back [`escape`].
///
/// # Errors
///
/// If a `,` or `=` stands without a `\`, or a `\` before anything but `\`, `,` and `=`.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::{Error, unescape};
///
/// assert_eq!(unescape(r"a\,b")?, "a,b");
/// assert_eq!(unescape("a=b"), Err(Error::Unescaped { at: 1, character: '=' }));
/// # Ok::<(), Error>(())
/// ```
pub fn unescape(value: &str) -> Result<Cow<'_, str>, Error> {
    decode(0, value)
}

/// Takes back [`escape`]; `base` is where the value stands in the selector.
fn decode(base: usize, value: &str) -> Result<Cow<'_, str>, Error> {
    if !value.contains(needs_escape) {
        return Ok(Cow::Borrowed(value));
    }
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.char_indices();
    while let Some((offset, character)) = characters.next() {
        let at = base + offset;
        match character {
            '\\' => match characters.next() {
                Some((_, escaped)) if needs_escape(escaped) => plain.push(escaped),
                other => {
                    let sequence = ['\\'].into_iter().chain(other.map(|(_, c)| c)).collect();
                    return Err(Error::Escape { at, sequence });
                }
            },
            ',' | '=' => return Err(Error::Unescaped { at, character }),
            _ => plain.push(character),
        }
    }
    Ok(Cow::Owned(plain))
}

fn needs_escape(character: char) -> bool {
    matches!(character, '\\' | ',' | '=')
}

/// Cuts at every `,` that no `\` precedes, and notes where each term begins.
fn terms(text: &str) -> Vec<(usize, &str)> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push((start, &text[start..]));
    terms
}

/// Where the first operator of a term stands, escaped or not, and how it is written.
fn operator(term: &str) -> Option<(usize, Operator, &'static str)> {
    (0..term.len()).find_map(|at| match &term.as_bytes()[at..] {
        [b'!', b'=', ..] => Some((at, Operator::NotEquals, "!=")),
        [b'=', b'=', ..] => Some((at, Operator::Equals, "==")),
        [b'=', ..] => Some((at, Operator::Equals, "=")),
        _ => None,
    })
}
