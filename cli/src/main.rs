//! `ctxe`: compact and inspect the sessions of language-model agents.

mod args;
mod compact;
mod count;
mod failure;
mod files;
mod harmless;
mod inspect;
mod output;
mod progress;
mod report;
mod session;
mod strategy;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Compact(args) => compact::run(args),
        Command::Inspect(args) => inspect::run(args),
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
