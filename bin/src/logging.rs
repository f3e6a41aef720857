//! Log lines on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Logs from `level` on, unless the environment variable `RUST_LOG` says otherwise. Colours are for terminals only.
pub(crate) fn init(level: LevelFilter) {
    let filter = EnvFilter::builder().with_default_directive(level.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .init();
}
