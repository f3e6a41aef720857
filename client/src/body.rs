use std::fmt::{self, Debug, Formatter};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::boxed::Boxed;
use crate::error::TransportError;

/// The body of an answer, without its type: what it takes to drop one would be compiled for each type of object.
pub(crate) struct Incoming(Pin<Box<dyn Body<Data = Bytes, Error = hyper::Error> + Send + Sync>>);

impl Incoming {
    pub(crate) fn new(body: hyper::body::Incoming) -> Self {
        Self(Box::pin(body))
    }

    /// The next bytes, or none at the end.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, TransportError>>> {
        loop {
            match ready!(self.0.as_mut().poll_frame(cx)) {
                // Trailers say nothing that is wanted here.
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        return Poll::Ready(Some(Ok(chunk)));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(TransportError::new(error)))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// All bytes up to the end.
    pub(crate) fn whole(self) -> Boxed<'static, Result<Bytes, TransportError>> {
        Box::pin(async move {
            let collected = self.0.collect().await;
            collected.map(|body| body.to_bytes()).map_err(TransportError::new)
        })
    }
}

impl Debug for Incoming {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}
