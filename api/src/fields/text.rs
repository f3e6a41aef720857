//! The text of field selectors: terms, escapes, and what can be wrong with them.

use std::borrow::Cow;

use super::Operator;

/// Why a field selector cannot be read or made.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::{Error, Selector};
///
/// let error = "a=b,c".parse::<Selector>().unwrap_err();
/// assert_eq!(error, Error::NoOperator { at: 4, term: "c".into() });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A term compares nothing.
    #[error("at byte {at}: {term:?} has no '=', '==' or '!='; escape a ',' that belongs to a value as '\\,'")]
    NoOperator {
        /// The offset of the term in the selector.
        at: usize,
        /// The term.
        term: String,
    },
    /// A value holds a character that only counts as text behind a `\`.
    #[error("at byte {at}: unescaped {character:?} in a value; write '\\{character}'")]
    Unescaped {
        /// The offset of the character.
        at: usize,
        /// The character.
        character: char,
    },
    /// A `\` stands before something that needs no escape, or at the end of a value.
    #[error("at byte {at}: {sequence:?} is no escape; '\\' may stand before '\\', ',' and '=' only")]
    Escape {
        /// The offset of the `\`.
        at: usize,
        /// The `\` and what follows it.
        sequence: String,
    },
    /// The name of a field, given in code, would be read as something else.
    #[error(
        "field name {field:?} holds one of ',', '=', '!' and '\\', which cannot be written in a selector"
    )]
    FieldName {
        /// The name.
        field: String,
    },
}

/// Escapes a value, so that it can stand in the text of a selector.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::escape;
///
/// assert_eq!(escape(r"a,b=\c"), r"a\,b\=\\c");
/// assert_eq!(escape("plain"), "plain");
/// ```
pub fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(needs_escape) {
        return Cow::Borrowed(value);
    }
    let mut escaped = String::with_capacity(value.len() + 8);
    for character in value.chars() {
        if needs_escape(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    Cow::Owned(escaped)
}

/// Takes back [`escape`].
///
/// # Errors
///
/// If a `,` or `=` stands without a `\`, or a `\` before anything but `\`, `,` and `=`.
///
/// # Examples
///
/// ```
/// use lariat_api::fields::{Error, unescape};
///
/// assert_eq!(unescape(r"a\,b")?, "a,b");
/// assert_eq!(unescape("a=b"), Err(Error::Unescaped { at: 1, character: '=' }));
/// # Ok::<(), Error>(())
/// ```
pub fn unescape(value: &str) -> Result<Cow<'_, str>, Error> {
    decode(0, value)
}

/// Takes back [`escape`]; `base` is where the value stands in the selector.
pub(super) fn decode(base: usize, value: &str) -> Result<Cow<'_, str>, Error> {
    if !value.contains(needs_escape) {
        return Ok(Cow::Borrowed(value));
    }
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.char_indices();
    while let Some((offset, character)) = characters.next() {
        let at = base + offset;
        match character {
            '\\' => match characters.next() {
                Some((_, escaped)) if needs_escape(escaped) => plain.push(escaped),
                other => {
                    let sequence = ['\\'].into_iter().chain(other.map(|(_, c)| c)).collect();
                    return Err(Error::Escape { at, sequence });
                }
            },
            ',' | '=' => return Err(Error::Unescaped { at, character }),
            _ => plain.push(character),
        }
    }
    Ok(Cow::Owned(plain))
}

pub(super) fn needs_escape(character: char) -> bool {
    matches!(character, '\\' | ',' | '=')
}

/// Cuts at every `,` that no `\` precedes, and notes where each term begins.
pub(super) fn terms(text: &str) -> Vec<(usize, &str)> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push((start, &text[start..]));
    terms
}

/// Where the first operator of a term stands, escaped or not, and how it is written.
pub(super) fn operator(term: &str) -> Option<(usize, Operator, &'static str)> {
    (0..term.len()).find_map(|at| match &term.as_bytes()[at..] {
        [b'!', b'=', ..] => Some((at, Operator::NotEquals, "!=")),
        [b'=', b'=', ..] => Some((at, Operator::Equals, "==")),
        [b'=', ..] => Some((at, Operator::Equals, "=")),
        _ => None,
    })
}
