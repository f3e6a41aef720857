//! Decoding of the JSON that API servers write.
//!
//! What is in a cache came as JSON, nearly all of it well formed and of the expected shape, and a third of it is passed over. So there
//! is a reader for that case. It knows where values end without looking at their parts, and gives up where anything is wrong or
//! unusual. Then [`serde_json`] decodes the text from its beginning: it alone says what an error is.
//!
//! Invariants:
//! - What both decode is the same.
//! - What `serde_json` decodes, [`from_str`] decodes.
//! - The reader finds less wrong in one place only: within an object or array that is passed over it looks at strings and brackets.

mod marks;
mod numbers;
mod reader;
mod skip;
mod strings;

use serde::Deserialize;

use reader::Reader;

/// Decodes a text that is one JSON value, as [`serde_json::from_str`] does.
///
/// Made for objects as API servers send them: compact, with much that is passed over, and parts that are
/// [`Interned`](crate::Interned). Takes twice as long as `serde_json` for what cannot be decoded.
///
/// # Errors
///
/// Those of `serde_json`. Only damage within an object or array that is passed over may go unnoticed.
///
/// # Example
///
/// ```
/// use lariat_api::json;
///
/// let versions: Vec<u64> = json::from_str("[1, 2]")?;
/// assert_eq!(versions, [1, 2]);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_json::Error> {
    match whole(text) {
        Some(value) => Ok(value),
        None => serde_json::from_str(text),
    }
}

/// Decodes the JSON value with which a text begins, and tells where it ends, in bytes. None if `serde_json` has to say why not.
///
/// ```
/// use lariat_api::json;
///
/// assert_eq!(json::first::<bool>("true, 1]"), Some((true, 4)));
/// assert_eq!(json::first::<bool>("tru"), None);
/// ```
pub fn first<'de, T: Deserialize<'de>>(text: &'de str) -> Option<(T, usize)> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader).ok()?;
    Some((value, reader.offset()))
}

/// The value that a text is, unless `serde_json` has to say why it is none.
pub(crate) fn whole<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader).ok()?;
    reader.is_at_end().then_some(value)
}
