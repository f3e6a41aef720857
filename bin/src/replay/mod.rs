//! `lariat replay`: a recorded watch through client, reflector, store, handlers, queue and the autoscaler.

mod follow;
mod report;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use lariat_fixtures::Recording;
use tracing_subscriber::filter::LevelFilter;

use crate::{logging, output};

/// Play a recording of an API server back and show what the handlers saw and what the autoscaler decided
///
/// The recording runs through the real client, reflector, store, handlers, queue and autoscaler. Whatever the
/// autoscaler writes, the replay answers as if it had been carried out; nothing leaves this process.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The recording: one exchange with an API server on each line, as JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How fast: at the recorded pace in virtual time, which takes no longer than the work, or in real time
    #[arg(long, value_enum, default_value_t = Speed::Max)]
    speed: Speed,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Speed {
    Max,
    Real,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::WARN);
    let recording = Recording::open(&args.file)?;
    let name = args.file.display().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(args.speed == Speed::Max)
        .build()
        .context("no runtime")?;
    let report = runtime.block_on(follow::follow(&recording, name))?;
    output::print(&match args.output {
        Output::Table => report.table(),
        Output::Json => report.json()?,
    })?;
    Ok(())
}
