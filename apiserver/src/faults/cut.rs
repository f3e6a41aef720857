//! A body that breaks off.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::active::Chosen;
use super::line::Line;
use crate::answer::AnswerBody;

/// The first bytes of a body, and then the end of the connection or, over HTTP/2, of the stream.
pub(crate) struct CutBody {
    /// None when it was cut.
    body: Option<AnswerBody>,
    /// What the whole body says, so that the head of the answer is as it would be.
    size: SizeHint,
    left: usize,
    breaks: Breaks,
    chosen: Chosen,
}

enum Breaks {
    Connection(Arc<Line>),
    Stream(Option<Pin<Box<Sleep>>>),
}

/// How long a stream of HTTP/2 stays after its last bytes. Those that are not sent yet go with a reset.
const SENT: Duration = Duration::from_millis(10);

impl CutBody {
    /// Cuts a body after so many bytes. The connection breaks, or only its stream if no line is given.
    pub(crate) fn new(body: AnswerBody, bytes: usize, line: Option<Arc<Line>>, chosen: Chosen) -> Self {
        let breaks = line.map_or(Breaks::Stream(None), Breaks::Connection);
        Self { size: body.size_hint(), body: Some(body), left: bytes, breaks, chosen }
    }
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left > 0
            && let Some(body) = &mut self.body
        {
            let Some(frame) = ready!(Pin::new(body).poll_frame(cx)?) else { return Poll::Ready(None) };
            let Ok(mut data) = frame.into_data() else { return Poll::Ready(None) };
            data.truncate(self.left);
            self.left -= data.len();
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if self.body.take().is_some() {
            self.chosen.happened();
        }
        match &mut self.breaks {
            // The stream below breaks when the bytes were sent, which this body would not know.
            Breaks::Connection(line) => line.cut(),
            Breaks::Stream(sent) => {
                ready!(sent.get_or_insert_with(|| Box::pin(sleep(SENT))).as_mut().poll(cx));
                return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())));
            }
        }
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}
