//! `cargo xtask`: how this repository is built, tried and checked.
//!
//! Plain `cargo build` cannot make the plugins: they are WebAssembly components, another target with another
//! profile and one step after the compiler. The commands here do that and what follows from it.
//!
//! Assumes: it is run by cargo, in a checkout. Promises: every command can be repeated, writes only below the
//! target folder (`sample` apart), says what it decides and why, and ends with the exit code of what it ran.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool speaks to its terminal")]

mod checks;
mod components;
mod demo;
mod process;
mod sample;
mod toolchain;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use workspace::Workspace;

/// Exit code for a command line that makes no sense, as most Unix tools have it.
const USAGE_ERROR: u8 = 2;

/// One thing that `cargo xtask` can do.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace, &[OsString]) -> Result<ExitCode>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "components",
        about: "Build every plugin and test guest as a WebAssembly component, into <target>/components",
        run: |workspace, _| components::build(workspace).map(|_| ExitCode::SUCCESS),
    },
    Command {
        name: "demo",
        about: "Build the components and ctxe, then compact the sample session of examples/",
        run: demo::run,
    },
    Command {
        name: "test",
        about: "Build the components, then run all tests; what follows `--` goes to cargo test",
        run: checks::test,
    },
    Command {
        name: "check",
        about: "Formatting, clippy with warnings denied, and cargo deny where it is installed",
        run: checks::check,
    },
    Command {
        name: "bench",
        about: "Build the components, then run the benchmarks; what follows `--` goes to cargo bench",
        run: checks::bench,
    },
    Command {
        name: "sample",
        about: "Write examples/coding-session.jsonl anew (its text is in xtask/sample)",
        run: |workspace, _| sample::write(workspace).map(|()| ExitCode::SUCCESS),
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(name) = arguments.next() else {
        print!("{}", help());
        return ExitCode::SUCCESS;
    };
    let rest: Vec<OsString> = arguments.collect();
    let wants_help = |argument: &OsString| argument == "--help" || argument == "-h";
    let before_dashes = rest.split(|argument| argument == "--").next().unwrap_or(&[]);
    if name == "help" || wants_help(&name) || before_dashes.iter().any(wants_help) {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| name == command.name) else {
        let known: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        eprintln!("error: there is no command `{}`", name.to_string_lossy());
        eprintln!("       known: {}", known.join(", "));
        return ExitCode::from(USAGE_ERROR);
    };
    match Workspace::find().and_then(|workspace| (command.run)(&workspace, &rest)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The table of commands.
fn help() -> String {
    let mut text = String::from("Usage: cargo xtask <COMMAND> [-- ARGUMENTS]\n\nCommands:\n");
    for Command { name, about, .. } in COMMANDS {
        text.push_str(&format!("  {name:<11} {about}\n"));
    }
    text.push_str(
        "\nEnvironment:\n  \
         CARGO_TARGET_DIR     where everything is built; the components are in its folder `components`\n  \
         CTXE_WASM_TOOLCHAIN  `rustup` or `debian`: take that compiler for WebAssembly and no other\n",
    );
    text
}
