use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::credentials::bearer_header;

/// How long a token that was read is taken for good, and how much earlier it is read again; client-go's figures.
const LIFETIME: Duration = Duration::from_secs(60);
const LEEWAY: Duration = Duration::from_secs(10);

/// After a failed read the file is left alone for this long, so that a lost file costs no read per request.
const RETRY: Duration = Duration::from_secs(10);

/// A token in a file that somebody else rotates, as the kubelet does with service account tokens.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    state: Mutex<State>,
}

/// Why there is no token.
#[derive(Debug)]
pub(super) enum Failure {
    Read(io::Error),
    Empty,
    Illegal,
}

#[derive(Debug, Default)]
struct State {
    current: Option<HeaderValue>,
    next_read: Option<Instant>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, state: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The header with the token of the file. When the file cannot be used: that with the previous token, else
    /// `fallback`.
    ///
    /// One caller reads the file while the others are served with the previous token. Dropping the future at any point
    /// loses nothing; the next read is then `RETRY` away.
    pub(super) async fn header(&self, fallback: Option<&HeaderValue>) -> Result<HeaderValue, Failure> {
        let now = Instant::now();
        let previous = {
            let mut state = self.lock();
            match &state.current {
                Some(current) if state.next_read.is_some_and(|at| now < at) => return Ok(current.clone()),
                _ => {}
            }
            state.next_read = Some(now + RETRY);
            state.current.clone()
        };

        match read(self.path.clone()).await {
            Ok(header) => {
                let mut state = self.lock();
                state.current = Some(header.clone());
                state.next_read = Some(Instant::now() + (LIFETIME - LEEWAY));
                Ok(header)
            }
            Err(failure) => {
                let Some(header) = previous.or_else(|| fallback.cloned()) else { return Err(failure) };
                tracing::warn!(path = %self.path.display(), ?failure, "cannot use the token file; the previous token stays");
                let mut state = self.lock();
                if state.current.is_none() {
                    state.current = Some(header.clone());
                }
                Ok(header)
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read(path: PathBuf) -> Result<HeaderValue, Failure> {
    let text = tokio::task::spawn_blocking(move || fs::read_to_string(path))
        .await
        .unwrap_or_else(|gone| Err(io::Error::other(gone)))
        .map_err(Failure::Read)?;
    if text.trim().is_empty() {
        return Err(Failure::Empty);
    }
    bearer_header(&text).ok_or(Failure::Illegal)
}
