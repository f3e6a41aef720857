//! The bodies of answers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};

use crate::faults::{Chosen, CutBody, Line};
use crate::watch::WatchBody;

pub(crate) enum AnswerBody {
    Whole(Option<Bytes>),
    Watch(Box<WatchBody>),
    Cut(Box<CutBody>),
}

impl AnswerBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }

    /// The same body, which breaks off after so many bytes; whole if it is not longer.
    pub(crate) fn cut(self, bytes: usize, line: Option<Arc<Line>>, chosen: Chosen) -> Self {
        match &self {
            Self::Whole(whole) if whole.as_ref().is_none_or(|whole| whole.len() <= bytes) => self,
            _ => Self::Cut(Box::new(CutBody::new(self, bytes, line, chosen))),
        }
    }

    pub(crate) fn watch(body: Box<WatchBody>) -> Self {
        Self::Watch(body)
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Watch(body) => Pin::new(&mut **body).poll_frame(cx),
            Self::Cut(body) => Pin::new(&mut **body).poll_frame(cx),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(Some(bytes)) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Self::Whole(None) => http_body::SizeHint::with_exact(0),
            Self::Watch(_) => http_body::SizeHint::default(),
            Self::Cut(body) => body.size_hint(),
        }
    }
}
