//! What kubectl printed, call by call, and how that of two servers differs.

use std::fmt::{self, Display, Formatter};

use regex::Regex;

use crate::call::Printed;
use crate::mask;

/// The calls in their order.
#[derive(Default)]
pub(crate) struct Transcript(Vec<Entry>);

/// A call and what it printed, masked. Lines begin with `|` (standard output), `!` (standard error) or `=` (exit code).
#[derive(Clone)]
pub(crate) struct Entry {
    call: String,
    lines: Vec<String>,
}

/// The lines of a call that differ: `-` for the real server's, `+` for ours.
pub(crate) struct Difference {
    call: String,
    lines: Vec<String>,
}

/// The differences that are listed.
pub(crate) struct Known(Vec<Difference>);

impl Entry {
    pub(crate) fn new(call: &str, printed: &Printed, only: Option<&Regex>) -> Self {
        let out = if call.starts_with("explain ") {
            mask::without_descriptions(&printed.out)
        } else {
            printed.out.clone()
        };
        let wanted = |line: &&str| only.is_none_or(|only| only.is_match(line));
        let mut lines: Vec<String> =
            out.lines().filter(wanted).map(|line| prefixed('|', &mask::line(line))).collect();
        lines.extend(printed.err.lines().map(|line| prefixed('!', &mask::line(line))));
        let code = printed.code.map_or_else(|| "ended".to_owned(), |code| code.to_string());
        lines.push(format!("= {code}"));
        Self { call: call.to_owned(), lines }
    }
}

fn prefixed(mark: char, line: &str) -> String {
    if line.is_empty() { mark.into() } else { format!("{mark} {line}") }
}

impl Transcript {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut transcript = Self::default();
        for line in text.lines() {
            match line.strip_prefix("$ ") {
                Some(call) => transcript.push(Entry { call: call.to_owned(), lines: Vec::new() }),
                None => transcript.0.last_mut().expect("a call comes first").lines.push(line.to_owned()),
            }
        }
        transcript
    }
}

impl Display for Transcript {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for entry in &self.0 {
            writeln!(f, "$ {}", entry.call)?;
            for line in &entry.lines {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

/// What differs between the calls of two transcripts, which have to be the same.
pub(crate) fn differences(real: &Transcript, ours: &Transcript) -> Vec<Difference> {
    let calls =
        |transcript: &Transcript| transcript.0.iter().map(|entry| entry.call.clone()).collect::<Vec<_>>();
    assert_eq!(calls(real), calls(ours), "real.txt is of another script: record it again");
    let pairs = real.0.iter().zip(&ours.0).filter(|(real, ours)| real.lines != ours.lines);
    pairs
        .map(|(real, ours)| Difference { call: real.call.clone(), lines: changed(&real.lines, &ours.lines) })
        .collect()
}

/// The lines that are only in one of two, by their longest common sequence.
fn changed(real: &[String], ours: &[String]) -> Vec<String> {
    let mut common = vec![vec![0_usize; ours.len() + 1]; real.len() + 1];
    for (i, line) in real.iter().enumerate().rev() {
        for (j, other) in ours.iter().enumerate().rev() {
            common[i][j] =
                if line == other { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut changed) = (0, 0, Vec::new());
    while i < real.len() || j < ours.len() {
        if i < real.len() && j < ours.len() && real[i] == ours[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == ours.len() || (i < real.len() && common[i + 1][j] >= common[i][j + 1]) {
            changed.push(format!("-{}", real[i]));
            i += 1;
        } else {
            changed.push(format!("+{}", ours[j]));
            j += 1;
        }
    }
    changed
}

impl Known {
    /// Reads `differences.txt`: calls with their differing lines, after the reason as a comment.
    pub(crate) fn parse(text: &str) -> Self {
        let mut known: Vec<Difference> = Vec::new();
        let mut has_reason = false;
        for line in text.lines().filter(|line| !line.is_empty()) {
            if line.starts_with('#') {
                has_reason = true;
            } else if let Some(call) = line.strip_prefix("$ ") {
                assert!(has_reason, "no reason for {call}");
                has_reason = false;
                known.push(Difference { call: call.to_owned(), lines: Vec::new() });
            } else {
                assert!(!line[1..].starts_with('='), "an exit code differs: {line}");
                known.last_mut().expect("a call comes first").lines.push(line.to_owned());
            }
        }
        Self(known)
    }

    /// What is found and not listed, and what is listed and not found.
    pub(crate) fn judge(&self, found: &[Difference]) -> Vec<String> {
        let mut listed: Vec<&Difference> = self.0.iter().collect();
        let mut problems = Vec::new();
        for difference in found {
            let place = listed
                .iter()
                .position(|known| known.call == difference.call && known.lines == difference.lines);
            match place {
                Some(place) => drop(listed.remove(place)),
                None => problems.push(format!("$ {}\n{}\n", difference.call, difference.lines.join("\n"))),
            }
        }
        problems.extend(listed.iter().map(|known| format!("listed, but not so: $ {}\n", known.call)));
        problems
    }
}

#[test]
fn lines_of_one_side_are_found() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(changed(&lines("a b c d"), &lines("a x c e d")), ["-b", "+x", "+e"]);
}
