//! The calls of `script.txt`.

use regex::Regex;

use crate::call::{Kubectl, Running};
use crate::mask;
use crate::transcript::{Entry, Transcript};

pub(crate) enum Step {
    /// A call that is compared.
    Call(String),
    /// A call that only has to succeed.
    Quiet(String),
    /// Remembers what a call prints under a name.
    Let(String, String),
    /// Starts a call, and goes on once it has printed so many lines.
    Start(usize, String),
    /// Ends that call once it has printed so many lines in all, or waits for it to end.
    Finish(Option<usize>),
    /// Of the next call only the lines that match are compared.
    Only(Regex),
}

pub(crate) fn parse(script: &str) -> Vec<Step> {
    let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| step(line).unwrap_or_else(|| panic!("no step: {line}"))).collect()
}

fn step(line: &str) -> Option<Step> {
    let (word, rest) = line.split_once(' ')?;
    Some(match word {
        "$" => Step::Call(rest.into()),
        "~" => Step::Quiet(rest.into()),
        "let" => {
            let (name, call) = rest.split_once(' ')?;
            Step::Let(name.into(), call.into())
        }
        "&" => {
            let (lines, call) = rest.split_once(' ')?;
            Step::Start(lines.parse().ok()?, call.into())
        }
        "=" if rest == "end" => Step::Finish(None),
        "=" => Step::Finish(Some(rest.parse().ok()?)),
        "only" => Step::Only(Regex::new(rest).ok()?),
        _ => return None,
    })
}

pub(crate) fn run(kubectl: &Kubectl, steps: &[Step]) -> Transcript {
    let mut transcript = Transcript::default();
    let mut known: Vec<(String, String)> = Vec::new();
    let mut started: Option<(String, Running)> = None;
    let mut only: Option<Regex> = None;
    let arguments = |call: &str, known: &[(String, String)]| {
        let mut call = call.to_owned();
        for (name, value) in known {
            call = call.replace(&format!("${{{name}}}"), value);
        }
        words(&call)
    };
    for step in steps {
        match step {
            Step::Call(call) => {
                let printed = kubectl.call(&arguments(call, &known));
                transcript.push(Entry::new(call, &printed, only.take().as_ref()));
            }
            Step::Quiet(call) => drop(kubectl.must(&arguments(call, &known))),
            Step::Let(name, call) => {
                let value = kubectl.must(&arguments(call, &known));
                known.retain(|(other, _)| other != name);
                known.push((name.clone(), value));
            }
            Step::Start(lines, call) => {
                let mut running = kubectl.start(&arguments(call, &known));
                running.wait_for(*lines);
                started = Some((call.clone(), running));
            }
            Step::Finish(lines) => {
                let (call, mut running) = started.take().expect("a call was started");
                let printed = match lines {
                    None => running.end(),
                    Some(lines) => {
                        running.wait_for(*lines);
                        running.stop()
                    }
                };
                transcript.push(Entry::new(&call, &printed, None));
            }
            Step::Only(lines) => only = Some(lines.clone()),
        }
    }
    mask::check(&transcript);
    transcript
}

/// The words of a call: apart by spaces, or as they are between single quotes.
fn words(call: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for letter in call.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn calls_are_split_at_spaces_that_are_not_quoted() {
    assert_eq!(
        words("get cm -l 'a in (b, c)' ''  -o name"),
        ["get", "cm", "-l", "a in (b, c)", "", "-o", "name"]
    );
}
