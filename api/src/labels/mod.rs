//! Label selectors: which objects a list, a watch or a controller is about.
//!
//! A [`Selector`] comes from text (`app=web,tier in (front,back),!canary`), from the [`LabelSelector`] object that
//! specs embed, or from [`Requirement`]s made in code. It is validated when it is made, so matching cannot fail; it
//! also allocates nothing, for it runs on every event.
//!
//! Grammar, canonical form and matching are those of Kubernetes, because a selector is evaluated on both sides: by the
//! server for a watch and here for a lister. They must not disagree.
//!
//! # Examples
//!
//! ```
//! use lariat_api::labels::Selector;
//!
//! let selector: Selector = "tier in (front, back), !canary".parse()?;
//! assert!(selector.matches(&[("tier", "back"), ("app", "web")]));
//! assert!(!selector.matches(&[("tier", "back"), ("canary", "true")]));
//! assert_eq!(selector.to_string(), "!canary,tier in (back,front)");
//! # Ok::<(), lariat_api::labels::ParseError>(())
//! ```

mod lexer;
mod object;
mod parser;
mod requirement;
mod validation;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use self::object::{
    LabelSelector, LabelSelectorError, LabelSelectorOperator, LabelSelectorRequirement, format_label_selector,
};
pub use self::parser::ParseError;
pub use self::requirement::{Operator, Requirement, RequirementError};
pub use self::validation::{KeyError, ValueError, validate_key, validate_value};

/// What a [`Selector`] can be matched against.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{Labels, Selector};
///
/// struct Pod {
///     app: String,
/// }
///
/// impl Labels for Pod {
///     fn label(&self, key: &str) -> Option<&str> {
///         (key == "app").then_some(self.app.as_str())
///     }
/// }
///
/// let selector: Selector = "app!=db".parse()?;
/// assert!(selector.matches(&Pod { app: "web".into() }));
/// # Ok::<(), lariat_api::labels::ParseError>(())
/// ```
pub trait Labels {
    /// The value of a label, if it is there.
    fn label(&self, key: &str) -> Option<&str>;
}

/// Selects objects by their labels: those that meet every requirement, or nothing at all.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::Selector;
///
/// let selector: Selector = "app == web , replicas > 2".parse()?;
/// assert_eq!(selector.to_string(), "app==web,replicas>2");
/// assert!(selector.matches(&[("app", "web"), ("replicas", "3")]));
/// # Ok::<(), lariat_api::labels::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Sorted by key. `None` selects nothing.
    requirements: Option<Vec<Requirement>>,
}

impl Selector {
    /// Selects every object; the same as [`Selector::default`] and as parsing the empty text.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Selector;
    ///
    /// assert!(Selector::everything().matches(&[("app", "web")]));
    /// ```
    pub const fn everything() -> Self {
        Self { requirements: Some(Vec::new()) }
    }

    /// Selects no object.
    ///
    /// It has no text form: it prints as the empty text, which a server takes for everything. Ask
    /// [`Selector::is_nothing`] before sending one.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Selector;
    ///
    /// assert!(!Selector::nothing().matches(&[("app", "web")]));
    /// ```
    pub const fn nothing() -> Self {
        Self { requirements: None }
    }

    /// Selects the objects that have every one of these labels with the same value.
    ///
    /// No pairs select everything.
    ///
    /// # Errors
    ///
    /// If a key or a value break the syntax of labels.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use lariat_api::labels::Selector;
    ///
    /// let labels = BTreeMap::from([("tier".to_owned(), "front".to_owned()), ("app".to_owned(), "web".to_owned())]);
    /// assert_eq!(Selector::from_map(&labels)?.to_string(), "app=web,tier=front");
    /// # Ok::<(), lariat_api::labels::RequirementError>(())
    /// ```
    pub fn from_map(labels: &BTreeMap<String, String>) -> Result<Self, RequirementError> {
        labels.iter().map(|(key, value)| Requirement::equals(key, value)).collect()
    }

    /// Converts the selector of a spec, which may be absent: none selects nothing, an empty one everything.
    ///
    /// # Errors
    ///
    /// If an expression has an unknown operator, values that do not fit its operator, or a malformed key or value.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::{LabelSelector, Selector};
    ///
    /// assert!(Selector::from_label_selector(None)?.is_nothing());
    /// assert!(Selector::from_label_selector(Some(&LabelSelector::default()))?.is_empty());
    /// # Ok::<(), lariat_api::labels::LabelSelectorError>(())
    /// ```
    pub fn from_label_selector(selector: Option<&LabelSelector>) -> Result<Self, LabelSelectorError> {
        selector.map_or_else(|| Ok(Self::nothing()), Self::try_from)
    }

    /// The same selector with one more requirement. Nothing stays nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::{Requirement, Selector};
    ///
    /// let selector: Selector = "tier=front".parse()?;
    /// assert_eq!(selector.with(Requirement::exists("app")?).to_string(), "app,tier=front");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with(mut self, requirement: Requirement) -> Self {
        if let Some(requirements) = &mut self.requirements {
            let at = requirements.partition_point(|earlier| earlier.key() <= requirement.key());
            requirements.insert(at, requirement);
        }
        self
    }

    /// Whether an object with these labels is selected. Allocates nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Selector;
    ///
    /// let selector: Selector = "app notin (db, cache)".parse()?;
    /// assert!(selector.matches(&[("app", "web")]));
    /// assert!(selector.matches(&[("tier", "front")]), "a missing label is not in the set");
    /// # Ok::<(), lariat_api::labels::ParseError>(())
    /// ```
    pub fn matches<L: Labels + ?Sized>(&self, labels: &L) -> bool {
        self.requirements
            .as_ref()
            .is_some_and(|requirements| requirements.iter().all(|requirement| requirement.matches(labels)))
    }

    /// Whether this selects everything, because it requires nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Selector;
    ///
    /// assert!(Selector::everything().is_empty());
    /// assert!(!Selector::nothing().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether this is [`Selector::nothing`].
    ///
    /// Requirements that contradict each other (`a=b,a=c`) select nothing either, but this does not tell.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Selector;
    ///
    /// assert!(Selector::nothing().is_nothing());
    /// ```
    pub fn is_nothing(&self) -> bool {
        self.requirements.is_none()
    }

    /// The requirements, sorted by key; those with the same key in the order in which they were given. `None` if this is
    /// [`Selector::nothing`], so that it cannot be taken for everything.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::Selector;
    ///
    /// let selector: Selector = "tier=front,app".parse()?;
    /// let keys: Vec<&str> = selector.requirements().into_iter().flatten().map(|r| r.key()).collect();
    /// assert_eq!(keys, ["app", "tier"]);
    /// assert_eq!(Selector::nothing().requirements(), None);
    /// # Ok::<(), lariat_api::labels::ParseError>(())
    /// ```
    pub fn requirements(&self) -> Option<&[Requirement]> {
        self.requirements.as_deref()
    }
}

impl Default for Selector {
    fn default() -> Self {
        Self::everything()
    }
}

impl FromStr for Selector {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parser::parse(text).map(|requirements| Self { requirements: Some(requirements) })
    }
}

impl FromIterator<Requirement> for Selector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Self { requirements: Some(requirements) }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().flatten().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

// === impl Labels ===

impl<K: Borrow<str> + Ord, V: AsRef<str>> Labels for BTreeMap<K, V> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(AsRef::as_ref)
    }
}

/// The first pair with the key counts.
impl<K: AsRef<str>, V: AsRef<str>> Labels for [(K, V)] {
    fn label(&self, key: &str) -> Option<&str> {
        self.iter().find(|(k, _)| k.as_ref() == key).map(|(_, value)| value.as_ref())
    }
}

impl<K: AsRef<str>, V: AsRef<str>, const N: usize> Labels for [(K, V); N] {
    fn label(&self, key: &str) -> Option<&str> {
        self.as_slice().label(key)
    }
}

/// None is no labels.
impl<L: Labels> Labels for Option<L> {
    fn label(&self, key: &str) -> Option<&str> {
        self.as_ref().and_then(|labels| labels.label(key))
    }
}

impl<L: Labels + ?Sized> Labels for &L {
    fn label(&self, key: &str) -> Option<&str> {
        (**self).label(key)
    }
}
