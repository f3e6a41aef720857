//! What all kinds have in common.

use super::shape::{Field, Own, Patch, Shape};

pub(crate) use Shape::{Map, Plain, Struct, Whole};

/// A list that is owned and patched as a whole. A list of which nothing is said is one, too.
pub(crate) const ATOMIC: Shape = Shape::List { own: Own::Atomic, patch: Patch::Replace, item: &Plain };

/// An object that is owned as a whole, such as a reference or a label selector.
pub(crate) const WHOLE: Shape = Whole(&[]);

/// Conditions, by type.
pub(crate) const CONDITIONS: Shape = by(&["type"], "type", &Plain);

/// References to secrets and the like, by name.
pub(crate) const REFERENCES: Shape = by(&["name"], "name", &WHOLE);

/// Maps of quantities.
pub(crate) const RESOURCES: Shape = Struct(&[
    ("claims", &Shape::List { own: Own::By(&["name"]), patch: Patch::Replace, item: &Plain }),
    ("limits", &Map),
    ("requests", &Map),
]);

/// `metadata`.
pub(crate) const META: Shape = Struct(&[
    ("annotations", &Map),
    ("finalizers", &Shape::List { own: Own::Set, patch: Patch::Add, item: &Plain }),
    ("labels", &Map),
    ("managedFields", &ATOMIC),
    ("ownerReferences", &by(&["uid"], "uid", &WHOLE)),
]);

/// A list whose items are owned by some keys and patched by one of them.
pub(crate) const fn by(
    keys: &'static [&'static str],
    patched_by: &'static str,
    item: &'static Shape,
) -> Shape {
    Shape::List { own: Own::By(keys), patch: Patch::MergeBy(patched_by), item }
}

/// The metadata field that every kind has.
pub(crate) const METADATA: Field = ("metadata", &META);
