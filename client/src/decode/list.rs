use std::marker::PhantomData;
use std::str;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use lariat_api::{ListMeta, json};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};

use super::scan::{Piece, Scanner, SyntaxError};
use super::{Item, Undecodable};
use crate::limits::{MAX_LIST_ENVELOPE, MAX_OBJECT};

/// Decodes a list while its bytes arrive.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Object};
/// use lariat_client::Item;
/// use lariat_client::decode::ListDecoder;
///
/// let mut decoder = ListDecoder::<DynamicObject>::new();
/// decoder.push(r#"{"kind":"List","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"na"#.into());
/// assert!(decoder.next()?.is_none(), "the first object is not complete");
/// decoder.push(r#"me":"a"}}]}"#.into());
/// assert!(matches!(decoder.next()?, Some(Item::Object(object)) if object.name() == "a"));
/// assert!(decoder.next()?.is_none());
/// assert_eq!(decoder.finish()?.resource_version, "7");
/// # Ok::<(), lariat_client::decode::ListError>(())
/// ```
#[derive(Debug)]
pub struct ListDecoder<K> {
    scanner: Scanner,
    chunk: Bytes,
    at: usize,
    /// The chunk from where it was first looked at up to where it is not UTF-8 any more.
    checked: ByteString,
    /// Where that begins in the chunk.
    checked_from: usize,
    /// What earlier chunks held of the item that is being read.
    carried: BytesMut,
    envelope: Vec<u8>,
    kind: PhantomData<fn() -> K>,
}

/// Why a body is not a list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// It is not JSON.
    #[error("list is not JSON: {0}")]
    Syntax(SyntaxError),
    /// It ends before the list does.
    #[error("list is cut off after {0} bytes")]
    Truncated(u64),
    /// It is one object, or a table, but has no `items`.
    #[error("answer to a list is not a list: it has no \"items\"")]
    NotAList,
    /// It is a table, which was not asked for.
    #[error(
        "answer to a list is a table, though objects were asked for: something changes the Accept header"
    )]
    Table,
    /// What surrounds the items cannot be decoded.
    #[error("list without its items cannot be decoded: {0}")]
    Envelope(serde_json::Error),
    /// An item, or what surrounds the items, is larger than anything a server keeps.
    #[error("list holds {what} of more than {limit} bytes")]
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
}

impl<K: DeserializeOwned> ListDecoder<K> {
    /// A decoder at the start of a body.
    pub fn new() -> Self {
        Self {
            scanner: Scanner::default(),
            chunk: Bytes::new(),
            at: 0,
            checked: ByteString::new(),
            checked_from: 0,
            carried: BytesMut::new(),
            envelope: Vec::new(),
            kind: PhantomData,
        }
    }

    /// Adds the next bytes of the body. [`next`](Self::next) must have returned none before.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.at >= self.chunk.len(), "the last chunk was not read to its end");
        self.scanner.end_chunk(self.chunk.len());
        self.chunk = chunk;
        self.at = 0;
        self.checked = ByteString::new();
    }

    /// The next item that is complete, or none if more bytes are needed.
    ///
    /// # Errors
    ///
    /// If the body is not a list. An item that cannot be decoded is not an error; see [`Item`].
    #[allow(clippy::should_implement_trait)] // an iterator would end at the first none; here more may follow
    pub fn next(&mut self) -> Result<Option<Item<K>>, ListError> {
        while let Some(piece) = self.scanner.next(&self.chunk, self.at).map_err(ListError::Syntax)? {
            match piece {
                Piece::Envelope(bytes) => {
                    self.at = bytes.end;
                    if self.envelope.len() + bytes.len() > MAX_LIST_ENVELOPE {
                        return Err(ListError::TooLarge { what: "an envelope", limit: MAX_LIST_ENVELOPE });
                    }
                    self.envelope.extend_from_slice(&self.chunk[bytes]);
                }
                Piece::Object(start) => {
                    self.at = start;
                    if let Some(object) = self.decode_whole(start) {
                        return Ok(Some(Item::Object(object)));
                    }
                }
                Piece::Item { bytes, last } => {
                    self.at = bytes.end;
                    if self.carried.len() + bytes.len() > MAX_OBJECT {
                        return Err(ListError::TooLarge { what: "an item", limit: MAX_OBJECT });
                    }
                    if last && self.carried.is_empty() {
                        return Ok(Some(decode(&self.chunk[bytes.clone()], || self.chunk.slice(bytes))));
                    }
                    self.carried.extend_from_slice(&self.chunk[bytes]);
                    if last {
                        let item = decode(&self.carried, || Bytes::copy_from_slice(&self.carried));
                        self.carried.clear();
                        return Ok(Some(item));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Decodes the object that begins here, if the chunk holds it whole and it is as it should be. Else the scanner has to say
    /// where it ends.
    fn decode_whole(&mut self, start: usize) -> Option<K> {
        if !(self.checked_from..self.checked_from + self.checked.len()).contains(&start) {
            // The bytes are checked once for the chunk. A character may be cut by its end, or be none: what is before is good.
            let rest = self.chunk.slice(start..);
            self.checked = ByteString::try_from(rest.clone())
                .or_else(|error| ByteString::try_from(rest.slice(..error.valid_up_to())))
                .ok()?;
            self.checked_from = start;
        }
        let (object, length) = json::first::<K>(self.checked.get(start - self.checked_from..)?)?;
        if length > MAX_OBJECT {
            return None;
        }
        self.at = start + length;
        self.scanner.pass();
        Some(object)
    }

    /// The list's metadata, once the whole body was read.
    ///
    /// # Errors
    ///
    /// If the body ended too early or was not a list.
    pub fn finish(self) -> Result<ListMeta, ListError> {
        #[derive(Deserialize)]
        struct Envelope {
            #[serde(default)]
            kind: String,
            #[serde(default)]
            metadata: ListMeta,
        }

        if !self.scanner.is_complete() {
            return Err(ListError::Truncated(self.scanner.offset() + self.chunk.len() as u64));
        }
        if !self.scanner.found_items() {
            return Err(ListError::NotAList);
        }
        let envelope: Envelope = serde_json::from_slice(&self.envelope).map_err(ListError::Envelope)?;
        if envelope.kind == "Table" {
            return Err(ListError::Table);
        }
        Ok(envelope.metadata)
    }
}

impl<K: DeserializeOwned> Default for ListDecoder<K> {
    fn default() -> Self {
        Self::new()
    }
}

fn decode<K: DeserializeOwned>(text: &[u8], raw: impl FnOnce() -> Bytes) -> Item<K> {
    let decoded = match str::from_utf8(text) {
        Ok(text) => json::from_str(text),
        Err(error) => Err(serde_json::Error::custom(error)),
    };
    match decoded {
        Ok(object) => Item::Object(object),
        Err(error) => Item::Undecodable(Undecodable { raw: raw(), error }),
    }
}
