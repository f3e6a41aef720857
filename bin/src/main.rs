//! The `lariat` program: parses the command line, wires the crates together, prints.
//!
//! Nothing is decided here. A command is one module, which returns what it found; printing is apart from it.

#![forbid(unsafe_code)]

mod apiserver;
mod controller;
mod crds;
mod demo;
mod dev;
mod leadership;
mod logging;
mod nodes;
mod output;
mod replay;
mod signals;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// client-go's informers, work queue and the Agones control loops, in Rust.
#[derive(Debug, Parser)]
#[command(name = "lariat", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Replay(replay::Args),
    Controller(Box<controller::Args>),
    Nodes(nodes::Args),
    Demo(demo::Args),
    Dev(dev::Args),
    Crds(crds::Args),
    Apiserver(apiserver::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Replay(args) => replay::run(&args),
        Command::Controller(args) => controller::run(*args),
        Command::Nodes(args) => nodes::run(args),
        Command::Demo(args) => demo::run(&args),
        Command::Dev(args) => dev::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Apiserver(args) => apiserver::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&format!("lariat: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
