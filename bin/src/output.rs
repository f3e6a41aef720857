//! Writing to the terminal, or to whatever stands in its place.

use std::io::{self, Write};

/// Writes a text to standard output. That a reader has seen enough and left is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a line to standard error. If that fails, there is nobody left to tell.
pub(crate) fn error(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
