//! Paths of fields, in the form in which errors name them.

use std::fmt::{self, Display, Formatter};

/// The path of a field, such as `spec.items[1].name`. The root has no name: it is written `<nil>`, as the server does.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FieldPath(String);

impl FieldPath {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    pub(crate) fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.into()) } else { Self(format!("{}.{name}", self.0)) }
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path of what a schema validator names relative to this path.
    pub(crate) fn relative(&self, name: &str) -> Self {
        match name.strip_prefix('.').unwrap_or(name) {
            "" => self.clone(),
            name => self.child(name),
        }
    }
}

impl Display for FieldPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}
