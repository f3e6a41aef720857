use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Method;
use lariat_api::{ListMeta, WatchEvent};
use serde::de::DeserializeOwned;

use crate::body::Incoming;
use crate::client::Answer;
use crate::decode::{Item, ListDecoder, ListError, WatchDecoder, WatchError};
use crate::error::Error;

/// The objects of a list, as they arrive.
///
/// # Cancel safety
///
/// A call of [`next`](Self::next) that is dropped loses nothing.
#[derive(Debug)]
pub struct ListStream<K> {
    body: Body,
    decoder: ListDecoder<K>,
    meta: Option<ListMeta>,
}

/// The events of a watch, as they arrive.
///
/// # Cancel safety
///
/// A call of [`next`](Self::next) that is dropped loses nothing.
#[derive(Debug)]
pub struct WatchStream<K> {
    body: Body,
    decoder: WatchDecoder<K>,
}

/// The bytes of an answer, and what it answers.
#[derive(Debug)]
struct Body {
    target: String,
    /// None once it has ended, in whatever way.
    incoming: Option<Incoming>,
    /// How many bytes were read.
    read: u64,
}

// === impl ListStream ===

impl<K: DeserializeOwned> ListStream<K> {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { body: Body::new(answer), decoder: ListDecoder::new(), meta: None }
    }

    /// The next item, or none after the last one.
    ///
    /// # Errors
    ///
    /// If the connection fails or the answer is not a list. The list is over then.
    pub async fn next(&mut self) -> Result<Option<Item<K>>, Error> {
        while !self.body.is_over() {
            match self.decoder.next() {
                Ok(None) => {}
                Ok(item) => return Ok(item),
                Err(cause) => return Err(self.failed(cause)),
            }
            match poll_fn(|cx| self.body.poll_chunk(cx)).await? {
                Some(chunk) => self.decoder.push(chunk),
                None => match std::mem::take(&mut self.decoder).finish() {
                    Ok(meta) => self.meta = Some(meta),
                    Err(cause) => return Err(self.failed(cause)),
                },
            }
        }
        Ok(None)
    }

    /// The list's metadata, once [`next`](Self::next) has returned none.
    pub fn meta(&self) -> Option<&ListMeta> {
        self.meta.as_ref()
    }

    /// How many bytes of the body were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.body.read
    }

    fn failed(&mut self, cause: ListError) -> Error {
        self.body.incoming = None;
        Error::List { target: self.body.target.clone(), cause }
    }
}

// === impl WatchStream ===

impl<K: DeserializeOwned> WatchStream<K> {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { body: Body::new(answer), decoder: WatchDecoder::new() }
    }

    /// The next event, or none once the server has ended the watch.
    ///
    /// # Errors
    ///
    /// If the connection fails, the watch is over. If something came that is no event, the next call goes on after it.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<K>>, Error> {
        while !self.body.is_over() {
            match self.decoder.next() {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(cause) => return Err(self.failed(cause)),
            }
            match poll_fn(|cx| self.body.poll_chunk(cx)).await? {
                Some(chunk) => self.decoder.push(chunk),
                None => {
                    let last = std::mem::take(&mut self.decoder).finish();
                    return last.map_err(|cause| self.failed(cause));
                }
            }
        }
        Ok(None)
    }

    /// The next event, if its bytes are here already; none if [`next`](Self::next) would have to wait, or the watch is over.
    ///
    /// # Errors
    ///
    /// If something came that is no event. The next call goes on after it.
    pub fn next_ready(&mut self) -> Result<Option<WatchEvent<K>>, Error> {
        if self.body.is_over() {
            return Ok(None);
        }
        self.decoder.next().map_err(|cause| self.failed(cause))
    }

    /// How many bytes of the body were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.body.read
    }

    fn failed(&self, cause: WatchError) -> Error {
        Error::Watch { target: self.body.target.clone(), cause }
    }
}

// === impl Body ===

impl Body {
    fn new(answer: Answer) -> Self {
        Self { target: answer.target, incoming: Some(answer.body), read: 0 }
    }

    fn is_over(&self) -> bool {
        self.incoming.is_none()
    }

    /// The next bytes, or none at the end. After that, and after an error, the body is over.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Error>> {
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(Ok(None)) };
        Poll::Ready(match ready!(incoming.poll_chunk(cx)) {
            Some(Ok(chunk)) => {
                self.read += chunk.len() as u64;
                Ok(Some(chunk))
            }
            Some(Err(cause)) => {
                self.incoming = None;
                Err(Error::Transport { method: Method::GET, target: self.target.clone(), cause })
            }
            None => {
                self.incoming = None;
                Ok(None)
            }
        })
    }
}
