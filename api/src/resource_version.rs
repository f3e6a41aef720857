use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A resourceVersion that can be compared with another of the same resource.
///
/// It is a positive decimal number of any size without leading zeros. `""` and `"0"`, which mean "latest" and "any" in
/// requests, are not versions and do not parse.
///
/// # Example
///
/// ```
/// use lariat_api::ResourceVersion;
///
/// let old: ResourceVersion = "999".parse()?;
/// let new: ResourceVersion = "18446744073709551616".parse()?;
/// assert!(old < new);
/// assert!("0".parse::<ResourceVersion>().is_err());
/// # Ok::<(), lariat_api::InvalidResourceVersion>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Box<str>);

/// A text that is no [`ResourceVersion`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("resourceVersion {0:?} is not a positive decimal number without leading zeros")]
pub struct InvalidResourceVersion(pub String);

impl ResourceVersion {
    /// The version as the server wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares two versions without keeping them.
    ///
    /// # Errors
    ///
    /// If either is not well formed.
    pub fn compare(a: &str, b: &str) -> Result<Ordering, InvalidResourceVersion> {
        check(a)?;
        check(b)?;
        Ok(order(a, b))
    }
}

fn check(text: &str) -> Result<(), InvalidResourceVersion> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    if text.is_empty() || text.starts_with('0') || !digits {
        return Err(InvalidResourceVersion(text.to_owned()));
    }
    Ok(())
}

/// Without leading zeros the longer number is the larger one.
fn order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl FromStr for ResourceVersion {
    type Err = InvalidResourceVersion;

    fn from_str(text: &str) -> Result<Self, InvalidResourceVersion> {
        check(text)?;
        Ok(Self(text.into()))
    }
}

impl Ord for ResourceVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Display for ResourceVersion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
