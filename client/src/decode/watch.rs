use std::marker::PhantomData;

use bytes::{Bytes, BytesMut};
use lariat_api::{EventError, WatchEvent};
use memchr::memchr;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::limits::{MAX_OBJECT, MAX_UNENDED};

/// Decodes a watch while its bytes arrive.
///
/// An event usually is one line; one that goes over several lines is accepted too.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, WatchEvent};
/// use lariat_client::decode::WatchDecoder;
///
/// let mut decoder = WatchDecoder::<DynamicObject>::new();
/// decoder.push("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n{\"type\"".into());
/// assert!(matches!(decoder.next()?, Some(WatchEvent::Added(_))));
/// assert!(decoder.next()?.is_none(), "the second event is not complete");
/// # Ok::<(), lariat_client::decode::WatchError>(())
/// ```
#[derive(Debug)]
pub struct WatchDecoder<K> {
    chunk: Bytes,
    at: usize,
    /// What earlier chunks, or earlier lines, held of the event that is being read.
    carried: BytesMut,
    /// What a line held behind its first event.
    rest: Bytes,
    kind: PhantomData<fn() -> K>,
}

/// Why bytes of a watch are no event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// It is no event, or not one that is known.
    #[error("{error}")]
    Event {
        /// What was wrong.
        error: EventError,
        /// The event as the server sent it.
        raw: Bytes,
    },
    /// The answer is something else than a stream of events.
    #[error("answer to a watch is of type {0:?}, not JSON")]
    NotJson(String),
    /// It goes on for longer than any object.
    #[error("watch holds an event of more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl<K: DeserializeOwned> WatchDecoder<K> {
    /// A decoder at the start of a body.
    pub fn new() -> Self {
        Self { chunk: Bytes::new(), at: 0, carried: BytesMut::new(), rest: Bytes::new(), kind: PhantomData }
    }

    /// Adds the next bytes of the body. [`next`](Self::next) must have returned none before.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.at >= self.chunk.len(), "the last chunk was not read to its end");
        self.chunk = chunk;
        self.at = 0;
    }

    /// The next event that is complete, or none if more bytes are needed.
    ///
    /// # Errors
    ///
    /// If a line is no event. It is left behind, and the next call goes on after it.
    #[allow(clippy::should_implement_trait)] // an iterator would end at the first none; here more may follow
    pub fn next(&mut self) -> Result<Option<WatchEvent<K>>, WatchError> {
        while !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            if let Some(event) = self.decode_first(line)? {
                return Ok(Some(event));
            }
        }
        while self.at < self.chunk.len() {
            let start = self.at;
            let Some(length) = memchr(b'\n', &self.chunk[start..]) else {
                self.at = self.chunk.len();
                self.carry(start)?;
                // Servers end their lines. From one that does not, an event is known by its last brace.
                if self.carried.trim_ascii_end().ends_with(b"}") && self.carried.len() <= MAX_UNENDED {
                    let line = self.carried.split().freeze();
                    if let Some(event) = self.decode_first(line)? {
                        return Ok(Some(event));
                    }
                }
                break;
            };
            self.at = start + length + 1;
            let whole = self.carried.is_empty();
            if !whole {
                self.carry(start)?;
            }
            let line = if whole { &self.chunk[start..self.at] } else { &self.carried[..] };
            match decode(line) {
                Ok(None) => self.carried.clear(),
                Ok(event) => {
                    self.carried.clear();
                    return Ok(event);
                }
                // The event goes on in the next line.
                Err(EventError::Truncated(_)) if whole => self.carry(start)?,
                Err(EventError::Truncated(_)) => {}
                Err(error) => {
                    let raw =
                        if whole { self.chunk.slice(start..self.at) } else { self.carried.split().freeze() };
                    if !matches!(error, EventError::Json(_)) {
                        return Err(WatchError::Event { error, raw });
                    }
                    if let Some(event) = self.decode_first(raw)? {
                        return Ok(Some(event));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The event that the end of the body completes, if there is one.
    ///
    /// # Errors
    ///
    /// [`EventError::Truncated`] if the body ended inside an event.
    pub fn finish(mut self) -> Result<Option<WatchEvent<K>>, WatchError> {
        decode(&self.carried).map_err(|error| WatchError::Event { error, raw: self.carried.split().freeze() })
    }

    /// The first event of a line that holds more than one. What follows it is for the next call.
    fn decode_first(&mut self, line: Bytes) -> Result<Option<WatchEvent<K>>, WatchError> {
        let mut values = serde_json::Deserializer::from_slice(&line).into_iter::<IgnoredAny>();
        let end = match values.next() {
            Some(Ok(_)) => values.byte_offset(),
            _ => line.len(),
        };
        self.rest = line.slice(end..);
        let first = line.slice(..end);
        match decode(&first) {
            Ok(event) => Ok(event),
            Err(EventError::Truncated(_)) => {
                self.carried.extend_from_slice(&first);
                Ok(None)
            }
            Err(error) => Err(WatchError::Event { error, raw: first }),
        }
    }

    fn carry(&mut self, start: usize) -> Result<(), WatchError> {
        if self.carried.len() + self.at - start > MAX_OBJECT {
            self.carried.clear();
            return Err(WatchError::TooLarge { limit: MAX_OBJECT });
        }
        self.carried.extend_from_slice(&self.chunk[start..self.at]);
        Ok(())
    }
}

impl<K: DeserializeOwned> Default for WatchDecoder<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// Decodes a line. White space alone is no event.
fn decode<K: DeserializeOwned>(line: &[u8]) -> Result<Option<WatchEvent<K>>, EventError> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    WatchEvent::from_bytes(line).map(Some)
}
