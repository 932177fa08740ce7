//! The shortest way to see something: compact a session, and say what to try next.
//!
//! `ctxe` is built with the dev profile: its dependencies are optimised there too, and it is ready minutes before a
//! release build would be. Tests and clippy then find most of it built.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{components, process, sample};

/// Small enough that the sample, some 50,000 tokens, does not fit.
const WINDOW: &str = "32000";
const STRATEGY: &str = "regex-anchors";

/// Builds what is needed and runs `ctxe compact` on the sample; ends with its exit code.
pub(crate) fn run(workspace: &Workspace, arguments: &[OsString]) -> Result<ExitCode> {
    if let Some(unknown) = arguments.first() {
        bail!("`demo` takes no arguments, but was given `{}`", unknown.to_string_lossy());
    }
    let session = workspace.root.join(sample::FILE);
    if !session.is_file() {
        bail!("{} is missing: write it with `cargo xtask sample`", sample::FILE);
    }
    components::build(workspace)?;
    process::run(workspace.cargo().args(["build", "--package", "ctxe", "--bin", "ctxe"]))?;

    let program = workspace.target.join("debug").join(format!("ctxe{}", std::env::consts::EXE_SUFFIX));
    let compacted = workspace.target.join("demo").join("coding-session.compacted.jsonl");
    std::fs::create_dir_all(workspace.target.join("demo"))?;
    // So that what is there afterwards is of this run.
    let _ = std::fs::remove_file(&compacted);
    let shown = workspace.shown(&compacted).to_string();
    println!(
        "\nA recorded session of a coding agent, {} (a bug hunt in a web service), no longer fits a window of\n\
         {WINDOW} tokens. The strategy `{STRATEGY}`, a sandboxed plugin, proposes what stays and what is summarised;\n\
         the host checks the proposal and applies it. No model and no network are involved.\n",
        sample::FILE
    );
    let mut compact = Command::new(&program);
    compact.current_dir(&workspace.root);
    compact.args(["compact", sample::FILE, "--strategy", STRATEGY, "--window", WINDOW, "--out"]).arg(&shown);
    let status = process::status(&mut compact)?;
    if status.success() && !compacted.is_file() {
        bail!("ctxe said that all went well, but did not write {shown}");
    }
    if status.success() {
        let ctxe = workspace.shown(&program).to_string();
        println!(
            "\nThe compacted session is in {shown}: the newest entries are as they were, and its summary\n\
             has the exact paths, hashes, error codes and numbers of what was folded. Try next:\n  \
             {ctxe} inspect {}      what fills the window\n  \
             {ctxe} inspect {shown}\n  \
             {ctxe} compact {} --window 20000 --out {shown}",
            sample::FILE,
            sample::FILE
        );
    }
    Ok(process::exit_code(status))
}
