//! Measures the informers of client-go, kube-rs and Lariat on the same data and prints one table.
//!
//! `benches/peers/run` builds the programs and starts this. Each program runs alone, is told what to do line by line, and
//! is looked at from outside; this process is also the server.

#![forbid(unsafe_code)]

mod measure;
mod process;
mod program;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use lariat_benches::{Data, Lists, Server};

use crate::measure::Bench;
use crate::table::Table;

/// Measures the informers of client-go, kube-rs and Lariat on the same data.
#[derive(Debug, Parser)]
struct Cli {
    /// The folder with the programs.
    #[arg(long)]
    programs: PathBuf,
    /// How many objects are listed.
    #[arg(long, default_value_t = 50_000)]
    objects: usize,
    /// How many events follow.
    #[arg(long, default_value_t = 100_000)]
    events: usize,
    /// How often everything is measured; the medians are printed.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Whether the server refuses streaming lists, or serves them to those who ask.
    #[arg(long, value_enum, default_value_t = ListKind::Classic)]
    list_kind: ListKind,
    /// Measures only these programs.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Prints every measurement as a line of JSON too, on standard error.
    #[arg(long)]
    verbose: bool,
    /// Only serves, for a program that is started by hand: events begin at once, and nothing is measured.
    #[arg(long)]
    serve: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListKind {
    Classic,
    Streaming,
}

/// The programs, in the order of the columns. What is compared with comes last.
const PROGRAMS: [&str; 4] = ["client-go", "kube-rs", "lariat-json", "lariat"];

fn main() -> ExitCode {
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")
        .and_then(|runtime| runtime.block_on(run(Cli::parse())));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<()> {
    let data = Arc::new(Data::new(cli.objects, cli.events)?);
    let (lists, kind) = match cli.list_kind {
        ListKind::Classic => (Lists::Classic, "classic"),
        ListKind::Streaming => (Lists::Streaming, "streaming"),
    };
    let server = Server::bind(data.clone(), lists).await?;
    if cli.serve {
        writeln!(std::io::stdout(), "http://{}", server.address())?;
        server.stage().send_replace(lariat_benches::Stage::Events);
        match server.run().await {}
    }
    let bench = Bench::new(server, data.clone(), kind);
    let mut table = Table::new(&data, kind, cli.rounds);
    for round in 0..cli.rounds {
        for name in PROGRAMS
            .into_iter()
            .filter(|name| cli.only.is_empty() || cli.only.iter().any(|only| only == name))
        {
            let program = cli.programs.join(format!("peer-{name}"));
            let measured =
                bench.measure(&program).await.with_context(|| format!("{name}, round {}", round + 1))?;
            if cli.verbose {
                writeln!(
                    std::io::stderr(),
                    "{}",
                    serde_json::json!({"program": name, "measured": measured})
                )?;
            }
            table.add(name, measured);
        }
    }
    write!(std::io::stdout(), "{table}")?;
    Ok(())
}
