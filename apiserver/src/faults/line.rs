//! The stream below a connection, which can be broken from above.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;

/// How a connection ends. It is shared by those who answer and the stream below.
#[derive(Default)]
pub(crate) struct Line(AtomicU8);

/// A stream that breaks when its line says so.
pub(crate) struct Breakable<S: Abort> {
    stream: S,
    line: Arc<Line>,
}

/// A stream that can tell its peer that something went wrong.
pub(crate) trait Abort: AsyncRead + AsyncWrite + Unpin {
    /// From now on, the end of the stream is a reset if there is such a thing.
    fn abort(&self);
}

/// The connection breaks when all that was written is on its way.
const CUT: u8 = 1;

/// The connection is reset when it is dropped.
const RESET: u8 = 2;

// === impl Line ===

impl Line {
    /// Breaks the connection as soon as what was written so far has been sent.
    pub(crate) fn cut(&self) {
        self.0.store(CUT, Ordering::Release);
    }

    /// Makes the end of the connection a reset, by which what was not sent yet is lost.
    pub(crate) fn reset(&self) {
        self.0.store(RESET, Ordering::Release);
    }

    fn is(&self, end: u8) -> bool {
        self.0.load(Ordering::Acquire) == end
    }
}

// === impl Breakable ===

impl<S: Abort> Breakable<S> {
    pub(crate) fn new(stream: S, line: Arc<Line>) -> Self {
        Self { stream, line }
    }
}

impl<S: Abort> AsyncRead for Breakable<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl<S: Abort> AsyncWrite for Breakable<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        // Whoever flushes has written all that it had.
        if self.line.is(CUT) {
            Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()))
        } else {
            Poll::Ready(Ok(()))
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl<S: Abort> Drop for Breakable<S> {
    fn drop(&mut self) {
        if self.line.is(RESET) {
            self.stream.abort();
        }
    }
}

impl Abort for TcpStream {
    fn abort(&self) {
        // If it cannot be set the connection ends all the same, only more politely.
        let _ = self.set_zero_linger();
    }
}

impl Abort for DuplexStream {
    fn abort(&self) {}
}
