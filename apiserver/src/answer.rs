//! The bodies of answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};

use crate::watch::WatchBody;

pub(crate) enum AnswerBody {
    Whole(Option<Bytes>),
    Watch(Box<WatchBody>),
}

impl AnswerBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
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
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(Some(bytes)) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Self::Whole(None) => http_body::SizeHint::with_exact(0),
            Self::Watch(_) => http_body::SizeHint::default(),
        }
    }
}
