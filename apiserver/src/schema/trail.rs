//! Where a check stands in an object.

use std::fmt::Write as _;

/// Where a value stands, relative to where validation began. It is written out only when there is an error.
pub(super) struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

pub(super) enum Step<'a> {
    Root,
    Field(&'a str),
    /// A key of a map. At the root it begins with a dot.
    Key(&'a str),
    Item(usize),
}

impl<'a> Trail<'a> {
    pub(super) const ROOT: Trail<'static> = Trail { parent: None, step: Step::Root };

    pub(super) fn then(&'a self, step: Step<'a>) -> Trail<'a> {
        Trail { parent: Some(self), step }
    }

    pub(super) fn write(&self) -> String {
        let mut steps = vec![&self.step];
        let mut trail = self;
        while let Some(parent) = trail.parent {
            trail = parent;
            steps.push(&trail.step);
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) | Step::Key(name) => _ = write!(path, ".{name}"),
                Step::Item(index) => _ = write!(path, "[{index}]"),
            }
        }
        path
    }
}
