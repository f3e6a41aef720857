//! Measures the work queues of client-go, controller-runtime and Lariat in the same shapes and prints one table.
//!
//! `benches/peers/run-queue` builds the Go program and starts this. In each round each shape is run in Go, in a process of its own,
//! and then here. Of all rounds the shortest counts, since all that disturbs a measurement makes it longer.

#![forbid(unsafe_code)]

#[path = "../../../../src/queue.rs"]
mod queue;

use std::error::Error;
use std::process::{Command, ExitCode};

use crate::queue::{SHAPES, Shape};

/// How many operations a measurement is.
const OPERATIONS: u64 = 200_000;

const ROUNDS: usize = 5;

/// Nanoseconds of one operation.
struct Row {
    shape: &'static Shape,
    go: f64,
    lariat: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer-queues: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let Some((go, rest)) = arguments.split_first() else {
        return Err("usage: peer-queues GO-PROGRAM [ROUNDS [PART-OF-A-NAME]]".into());
    };
    let rounds = rest.first().map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let part = rest.get(1).map_or("", String::as_str);
    let chosen = SHAPES.iter().filter(|shape| shape.name.contains(part));
    let mut rows: Vec<Row> =
        chosen.map(|shape| Row { shape, go: f64::INFINITY, lariat: f64::INFINITY }).collect();
    for round in 1..=rounds {
        for Row { shape, go: best, lariat } in &mut rows {
            eprint!("\r\x1b[Kround {round} of {rounds}: {}", shape.name);
            *best = best.min(in_go(go, shape)?);
            *lariat = lariat.min((shape.run)(OPERATIONS).as_nanos() as f64 / OPERATIONS as f64);
        }
    }
    eprintln!("\r\x1b[K");
    println!("{OPERATIONS} operations; the shortest of {rounds} rounds; ns per operation");
    println!("\n{:32}{:>10}{:>10}{:>8}{:>8}", "", "Go", "lariat", "ratio", "goal");
    for Row { shape, go, lariat } in rows {
        let goal = if shape.goal > 1.0 { format!("{:.0}", shape.goal) } else { String::from("1") };
        println!("{:32}{go:>10.1}{lariat:>10.1}{:>8.1}{goal:>8}", shape.name, go / lariat);
    }
    Ok(())
}

/// What `go test -bench` prints: name, count, nanoseconds and their unit.
fn in_go(program: &str, shape: &Shape) -> Result<f64, Box<dyn Error>> {
    let pattern = shape.peer.split('/').map(|part| format!("^{part}$")).collect::<Vec<_>>().join("/");
    let pattern = pattern.replacen('^', "^Benchmark", 1);
    let output = Command::new(program)
        .args(["-test.run", "^$", "-test.bench", &pattern])
        .args(["-test.benchtime", &format!("{OPERATIONS}x")])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find(|line| line.starts_with("Benchmark"));
    let nanos = line
        .and_then(|line| line.split_whitespace().nth(2))
        .ok_or_else(|| format!("{}: {text}", shape.peer))?;
    Ok(nanos.parse()?)
}
