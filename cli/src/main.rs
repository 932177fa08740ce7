//! `ctxe`: compact and inspect the sessions of language-model agents.

mod alike;
mod args;
mod compact;
mod config;
mod count;
mod events;
mod failure;
mod files;
mod harmless;
mod input;
mod inspect;
mod output;
mod progress;
mod report;
mod session;
mod store;
mod strategy;
mod time;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Compact(args) => compact::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Session(command) => session::run(command),
        Command::Config(command) => config::run(command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody is left to tell if standard error is closed.
            let _ = writeln!(std::io::stderr(), "ctxe: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
