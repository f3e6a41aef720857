use std::fmt;

/// A value that never shows: not in `Debug`, and it has no `Display`.
///
/// # Example
///
/// ```
/// use lariat_client::config::Secret;
///
/// let token = Secret::from("s3cr3t");
/// assert_eq!(format!("{token:?}"), "[redacted]");
/// assert_eq!(token.expose(), "s3cr3t");
/// ```
#[derive(Clone, Default)]
pub struct Secret<T = String>(T);

impl<T> Secret<T> {
    /// Hides a value.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Secret;
    ///
    /// assert_eq!(Secret::new(vec![1_u8]).expose(), &[1]);
    /// ```
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for whoever really sends it.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::Secret;
    ///
    /// assert_eq!(Secret::from("t").expose(), "t");
    /// ```
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value)
    }
}
