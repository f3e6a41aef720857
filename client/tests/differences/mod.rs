//! Where the client answers otherwise than client-go on purpose, and why.

use lariat_fixtures::vectors::Difference;

/// None yet. What differs is not in the recorded cases: a context that names an unknown user is an error here, where
/// client-go goes on as an anonymous client.
pub(crate) const DIFFERENCES: &[Difference] = &[];
