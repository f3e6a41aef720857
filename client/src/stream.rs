use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use lariat_api::{ListMeta, WatchEvent};
use serde::de::DeserializeOwned;

use crate::client::Answer;
use crate::decode::{Item, ListDecoder, ListError, WatchDecoder, WatchError};
use crate::error::{Error, TransportError};

/// The objects of a list, as they arrive.
///
/// # Cancel safety
///
/// A call of [`next`](Self::next) that is dropped loses nothing.
#[derive(Debug)]
pub struct ListStream<K> {
    target: String,
    body: Option<Incoming>,
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
    target: String,
    body: Option<Incoming>,
    decoder: WatchDecoder<K>,
}

impl<K: DeserializeOwned> ListStream<K> {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { target: answer.target, body: Some(answer.body), decoder: ListDecoder::new(), meta: None }
    }

    /// The next item, or none after the last one.
    ///
    /// # Errors
    ///
    /// If the connection fails or the answer is not a list. The list is over then.
    pub async fn next(&mut self) -> Result<Option<Item<K>>, Error> {
        loop {
            let Some(body) = &mut self.body else { return Ok(None) };
            match self.decoder.next() {
                Ok(None) => {}
                Ok(item) => return Ok(item),
                Err(cause) => return Err(self.failed(cause)),
            }
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.decoder.push(chunk);
                    }
                }
                Some(Err(error)) => {
                    self.body = None;
                    return Err(transport(&self.target, error));
                }
                None => {
                    self.body = None;
                    match std::mem::take(&mut self.decoder).finish() {
                        Ok(meta) => self.meta = Some(meta),
                        Err(cause) => return Err(self.failed(cause)),
                    }
                }
            }
        }
    }

    /// The list's metadata, once [`next`](Self::next) has returned none.
    pub fn meta(&self) -> Option<&ListMeta> {
        self.meta.as_ref()
    }

    fn failed(&mut self, cause: ListError) -> Error {
        self.body = None;
        Error::List { target: self.target.clone(), cause }
    }
}

impl<K: DeserializeOwned> WatchStream<K> {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { target: answer.target, body: Some(answer.body), decoder: WatchDecoder::new() }
    }

    /// The next event, or none once the server has ended the watch.
    ///
    /// # Errors
    ///
    /// If the connection fails, the watch is over. If something came that is no event, the next call goes on after it.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<K>>, Error> {
        loop {
            let Some(body) = &mut self.body else { return Ok(None) };
            match self.decoder.next() {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(cause) => return Err(self.failed(cause)),
            }
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.decoder.push(chunk);
                    }
                }
                Some(Err(error)) => {
                    self.body = None;
                    return Err(transport(&self.target, error));
                }
                None => {
                    self.body = None;
                    let last = std::mem::take(&mut self.decoder).finish();
                    return last.map_err(|cause| self.failed(cause));
                }
            }
        }
    }

    fn failed(&self, cause: WatchError) -> Error {
        Error::Watch { target: self.target.clone(), cause }
    }
}

fn transport(target: &str, error: hyper::Error) -> Error {
    Error::Transport { method: Method::GET, target: target.to_owned(), cause: TransportError::new(error) }
}
