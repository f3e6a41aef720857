//! Where this crate answers otherwise than the recorded Go code, and why.

use lariat_fixtures::vectors::Difference;

pub(crate) const DIFFERENCES: &[Difference] = &[];
