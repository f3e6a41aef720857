//! The `lariat` program: parses the command line, wires the crates together, prints.
//!
//! Nothing is decided here. A command is one module, which returns what it found; printing is apart from it.

#![forbid(unsafe_code)]

mod apiserver;
mod controller;
mod crds;
mod demo;
mod dev;
mod logging;
mod nodes;
mod output;
mod preflight;
mod rbac;
mod replay;
mod signals;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

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
    Rbac(rbac::Args),
    Apiserver(apiserver::Args),
}

/// The command line. An environment variable that is empty counts as one that is not set: charts set them all.
fn parse() -> Result<Cli, clap::Error> {
    let unset = |arg: clap::Arg| match arg.get_env() {
        Some(name) if std::env::var_os(name).is_some_and(|value| value.is_empty()) => {
            arg.env("").hide_env(true)
        }
        _ => arg,
    };
    let mut command = Cli::command();
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |command| command.mut_args(unset));
    }
    let matches = command.clone().try_get_matches().map_err(|error| from_environment(command, error))?;
    Cli::from_arg_matches(&matches)
}

/// An error that says so if what is wrong was not on the command line.
fn from_environment(mut command: clap::Command, mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (Some(arg), Some(value)) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue)) else {
        return error;
    };
    // Arguments only know what they are called once they are built.
    command.build();
    let mut args = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let name = args.find(|known| known.to_string() == arg).and_then(clap::Arg::get_env);
    let name = name.map(|name| name.to_string_lossy().into_owned());
    if let Some(name) = name.filter(|name| std::env::var(name).is_ok_and(|set| set == value)) {
        let arg = format!("{arg} (environment variable {name})");
        error.insert(ContextKind::InvalidArg, ContextValue::String(arg));
    }
    error
}

fn main() -> ExitCode {
    let cli = parse().unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Replay(args) => replay::run(&args),
        Command::Controller(args) => controller::run(*args),
        Command::Nodes(args) => nodes::run(args),
        Command::Demo(args) => demo::run(&args),
        Command::Dev(args) => dev::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Rbac(args) => rbac::run(&args),
        Command::Apiserver(args) => apiserver::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&format!("lariat: {}", output::chain(&error)));
            ExitCode::FAILURE
        }
    }
}
