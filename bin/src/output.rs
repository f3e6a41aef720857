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

/// An error and its causes in one line. Many errors have the text of their cause in their own, and say it once.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("deep").context("GET /: deep").context("the server does not answer");
        assert_eq!(chain(&error), "the server does not answer: GET /: deep");
    }
}
