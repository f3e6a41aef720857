use serde_json::Value;

use crate::apply::types::{Child, Deduced, ListType, TypeInfo};

/// What the server must know of the type of a field of a built-in kind: how it is owned, and how a strategic merge patch
/// changes it. Scalars and objects of scalars need no word.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A scalar, or an object whose fields are scalars or atomic lists.
    Plain,
    /// An object with these fields among others.
    Struct(&'static [Field]),
    /// An object that is owned as a whole; a patch still merges it.
    Whole(&'static [Field]),
    /// An object with keys of the user's.
    Map,
    /// A list.
    List { own: Own, patch: Patch, item: &'static Shape },
}

/// A field of a built-in type.
pub(crate) type Field = (&'static str, &'static Shape);

/// How a list is owned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Own {
    Atomic,
    Set,
    By(&'static [&'static str]),
}

/// What a strategic merge patch does to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patch {
    /// The patch's list takes its place.
    Replace,
    /// The patch's scalars are added.
    Add,
    /// The patch's items are merged with those that have the same key.
    MergeBy(&'static str),
}

impl Shape {
    /// The shape of a field.
    pub(crate) fn field(&self, name: &str) -> &'static Self {
        match self {
            Self::Struct(fields) | Self::Whole(fields) => {
                fields.iter().find(|(known, _)| *known == name).map_or(&Self::Plain, |(_, shape)| shape)
            }
            _ => &Self::Plain,
        }
    }

    /// What a patch does to a list here.
    pub(crate) fn patch(&self) -> Patch {
        match self {
            Self::List { patch, .. } => *patch,
            _ => Patch::Replace,
        }
    }

    /// The shape of the items of a list here.
    pub(crate) fn items(&self) -> &'static Self {
        match self {
            Self::List { item, .. } => item,
            _ => &Self::Plain,
        }
    }
}

impl TypeInfo for Shape {
    fn is_atomic_map(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    fn list_type(&self) -> ListType<'_> {
        match self {
            Self::List { own: Own::Set, .. } => ListType::Set,
            Self::List { own: Own::By(keys), .. } => ListType::Map(keys.to_vec()),
            _ => ListType::Atomic,
        }
    }

    fn child(&self, field: &str) -> Child<'_> {
        match self {
            Self::Map => Child::Entry(&Deduced),
            _ => Child::Declared(self.field(field)),
        }
    }

    fn item(&self) -> &dyn TypeInfo {
        self.items()
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        (key == "protocol").then(|| Value::from("TCP"))
    }
}
