//! The syntax of label keys and values.
//!
//! A key is a name of at most 63 bytes, with an optional prefix before a `/` that is a DNS subdomain of at most 253. A
//! value is empty or looks like a name. The parts of a prefix are not limited to the 63 bytes that DNS allows:
//! Kubernetes does not check that either.

/// The longest name part of a key, and the longest value, in bytes.
const MAX_NAME: usize = 63;
/// The longest prefix of a key, in bytes.
const MAX_PREFIX: usize = 253;

/// Why a text is not a label key.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{KeyError, validate_key};
///
/// assert_eq!(validate_key("example.com/role"), Ok(()));
/// assert_eq!(validate_key("/role"), Err(KeyError::EmptyPrefix));
/// assert_eq!(validate_key("-role"), Err(KeyError::NameSyntax));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is more than one `/`.
    #[error("a key has at most one '/', between its prefix and its name")]
    ManySlashes,
    /// Nothing stands before the `/`.
    #[error("nothing stands before the '/': add a prefix or leave out the '/'")]
    EmptyPrefix,
    /// The prefix is too long.
    #[error("the prefix has {length} bytes, {MAX_PREFIX} are allowed")]
    PrefixTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The prefix is not a lower-case DNS subdomain.
    #[error(
        "the prefix must be a DNS subdomain: lower-case letters, digits, '-' and '.', each part between dots \
         beginning and ending with a letter or digit"
    )]
    PrefixSyntax,
    /// There is no name.
    #[error("the name is empty")]
    EmptyName,
    /// The name is too long.
    #[error("the name has {length} bytes, {MAX_NAME} are allowed")]
    NameTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The name holds a character that it must not hold, or not there.
    #[error(
        "the name must consist of letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
    )]
    NameSyntax,
}

/// Why a text is not a label value.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{ValueError, validate_value};
///
/// assert_eq!(validate_value(""), Ok(()));
/// assert_eq!(validate_value("-3"), Err(ValueError::Syntax));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The value is too long.
    #[error("a value of {length} bytes, {MAX_NAME} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The value holds a character that it must not hold, or not there.
    #[error(
        "a value must be empty or consist of letters, digits, '-', '_' and '.', and begin and end with a letter or \
         digit"
    )]
    Syntax,
}

/// Checks that `key` may be the key of a label.
///
/// # Errors
///
/// The first rule that the key breaks.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::validate_key;
///
/// assert!(validate_key("app.kubernetes.io/name").is_ok());
/// assert!(validate_key("App.kubernetes.io/name").is_err());
/// ```
pub fn validate_key(key: &str) -> Result<(), KeyError> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return Err(KeyError::ManySlashes),
        Some((prefix, name)) => {
            validate_prefix(prefix)?;
            name
        }
    };
    if name.is_empty() {
        Err(KeyError::EmptyName)
    } else if name.len() > MAX_NAME {
        Err(KeyError::NameTooLong { length: name.len() })
    } else if !is_name(name) {
        Err(KeyError::NameSyntax)
    } else {
        Ok(())
    }
}

/// Checks that `value` may be the value of a label.
///
/// # Errors
///
/// The first rule that the value breaks.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::validate_value;
///
/// assert!(validate_value("v1.2_rc-3").is_ok());
/// assert!(validate_value("two words").is_err());
/// ```
pub fn validate_value(value: &str) -> Result<(), ValueError> {
    if value.len() > MAX_NAME {
        Err(ValueError::TooLong { length: value.len() })
    } else if value.is_empty() || is_name(value) {
        Ok(())
    } else {
        Err(ValueError::Syntax)
    }
}

fn validate_prefix(prefix: &str) -> Result<(), KeyError> {
    if prefix.is_empty() {
        Err(KeyError::EmptyPrefix)
    } else if prefix.len() > MAX_PREFIX {
        Err(KeyError::PrefixTooLong { length: prefix.len() })
    } else if !prefix.split('.').all(|part| is_framed(part, is_lower_alphanumeric, |b| b == b'-')) {
        Err(KeyError::PrefixSyntax)
    } else {
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    is_framed(text, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.'))
}

/// Only `outer` bytes at both ends, and `outer` or `inner` ones between.
fn is_framed(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => outer(*only),
        [first, middle @ .., last] => {
            outer(*first) && outer(*last) && middle.iter().all(|&b| outer(b) || inner(b))
        }
    }
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}
