//! What came of a story.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// What came of a story.
///
/// ```
/// let report = lariat_simulation::run(2);
/// assert_eq!(report.seed, 2);
/// assert!(report.requests > 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What was done, in its order: seconds since the beginning, and words.
    pub story: Vec<String>,
    /// What must never be and was. Empty if all is well.
    pub violations: Vec<String>,
    /// How many requests the server has seen.
    pub requests: usize,
    /// How often each kind of fault struck.
    pub faults: BTreeMap<String, usize>,
    /// How many servers players got.
    pub allocated: usize,
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "LARIAT_SEED={}: {} requests, {:?}", self.seed, self.requests, self.faults)?;
        for step in &self.story {
            writeln!(f, "  {step}")?;
        }
        for violation in &self.violations {
            writeln!(f, "  VIOLATION {violation}")?;
        }
        Ok(())
    }
}
