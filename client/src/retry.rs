//! Requests that are sent again: what the server asked for by `Retry-After`, and reads whose connection broke before they were
//! answered.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Method, Response};

use crate::error::TransportError;
use crate::limits::RECONNECT_DELAY;

/// How long to wait before the request is sent again; none if it is not to be.
///
/// A server that says when to come back has not carried out the request, so that holds for writes too. Without that, only
/// reads are repeated: a write whose connection broke may have been carried out.
pub(crate) fn delay<B>(method: &Method, outcome: &Result<Response<B>, TransportError>) -> Option<Duration> {
    match outcome {
        Ok(response) => {
            let code = response.status();
            let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
            (code.as_u16() == 429 || code.is_server_error()).then(|| Duration::from_secs(seconds))
        }
        Err(error) => (method == Method::GET && is_broken(error)).then_some(RECONNECT_DELAY),
    }
}

/// Whether a connection was lost, as opposed to never made.
fn is_broken(error: &TransportError) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = Some(&*error.0);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>()
            && error.is_connect()
        {
            return false;
        }
        if error
            .downcast_ref::<hyper::Error>()
            .is_some_and(|error| error.is_incomplete_message() || error.is_closed() || error.is_canceled())
        {
            return true;
        }
        if error.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
            )
        }) {
            return true;
        }
        next = error.source();
    }
    false
}
