use std::borrow::Borrow;
use std::fmt::{self, Debug, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

/// The key of an object within its kind: `namespace/name`, or `name` where there is no namespace.
///
/// A clone shares the text, so that a store, its indexes and a work queue hold one allocation for each object. A map
/// keyed by `ObjectKey` can be asked with a plain `&str`.
///
/// # Example
///
/// ```
/// use lariat_api::ObjectKey;
///
/// let key: ObjectKey = "default/simple".parse()?;
/// assert_eq!((key.namespace(), key.name()), ("default", "simple"));
/// assert_eq!(key, ObjectKey::new("default", "simple"));
/// assert_eq!(ObjectKey::new("", "node-1").as_str(), "node-1");
/// # Ok::<(), lariat_api::KeyError>(())
/// ```
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct ObjectKey(Arc<str>);

/// Why a text or an object has no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text has more than one `/`.
    #[error("unexpected key {0:?}: want \"namespace/name\" or \"name\"")]
    Format(String),
    /// The object has no `metadata.name`.
    #[error("object in namespace {namespace:?} has no metadata.name (uid {uid:?}), so it has no key")]
    NoName {
        /// The object's namespace, `""` if it has none.
        namespace: String,
        /// The object's uid, `""` if it has none.
        uid: String,
    },
}

impl ObjectKey {
    /// The key of the object `name` in `namespace` (`""` for none). Neither part is checked.
    pub fn new(namespace: &str, name: &str) -> Self {
        if namespace.is_empty() {
            return Self(name.into());
        }
        let length = namespace.len() + 1 + name.len();
        // A key is made for each object that comes. Nearly all fit where nothing need be allocated for the text alone.
        let mut short = [0; 128];
        if let Some(text) = short.get_mut(..length) {
            text[..namespace.len()].copy_from_slice(namespace.as_bytes());
            text[namespace.len()] = b'/';
            text[namespace.len() + 1..].copy_from_slice(name.as_bytes());
            if let Ok(text) = str::from_utf8(text) {
                return Self(text.into());
            }
        }
        Self([namespace, "/", name].concat().into())
    }

    /// A key of any form, for what is cached under a key of its own choosing.
    pub fn explicit(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace, `""` if the key has none.
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

/// Parses `namespace/name` or `name`. An empty namespace is dropped: `/name` is `name`.
impl FromStr for ObjectKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        match text.split_once('/') {
            Some((_, name)) if name.contains('/') => Err(KeyError::Format(text.to_owned())),
            Some(("", name)) => Ok(Self(name.into())),
            _ => Ok(Self(text.into())),
        }
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// As `str` hashes, which [`Borrow`] demands.
impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ObjectKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Display for ObjectKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Debug for ObjectKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}
