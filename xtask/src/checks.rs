//! Tests, benchmarks and what must be clean before a change is merged.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::workspace::{Workspace, has_subcommand};
use crate::{components, process};

/// The crate of the benchmarks.
const BENCHES: &str = "contextengine-tests";

/// All tests, documentation tests too. One runner, cargo's own: the others leave documentation tests out.
pub(crate) fn test(workspace: &Workspace, arguments: &[OsString]) -> Result<ExitCode> {
    components::build(workspace)?;
    let mut command = workspace.cargo();
    command.args(["test", "--workspace"]).args(passed_on(arguments)?);
    Ok(process::exit_code(process::status(&mut command)?))
}

/// The benchmarks.
pub(crate) fn bench(workspace: &Workspace, arguments: &[OsString]) -> Result<ExitCode> {
    components::build(workspace)?;
    let mut command = workspace.cargo();
    command.args(["bench", "--package", BENCHES, "--benches"]).args(passed_on(arguments)?);
    Ok(process::exit_code(process::status(&mut command)?))
}

/// Formatting, clippy, licences and sources. All are run, so that one look shows all that is wrong.
pub(crate) fn check(workspace: &Workspace, _arguments: &[OsString]) -> Result<ExitCode> {
    let mut steps = vec![
        ("formatting", vec!["fmt", "--all", "--check"]),
        ("clippy", vec!["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ];
    if has_subcommand(workspace, "deny") {
        steps.push(("dependencies", vec!["deny", "check", "licenses", "bans", "sources"]));
    } else {
        eprintln!("skipped the check of dependencies: cargo install cargo-deny --locked");
    }
    let mut failed = Vec::new();
    for (name, arguments) in steps {
        let start = Instant::now();
        let status = process::status(workspace.cargo().args(&arguments))?;
        let verdict = if status.success() { "ok" } else { "FAILED" };
        eprintln!("{name}: {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
        if !status.success() {
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("not clean: {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// What follows `--`. Anything before it is a mistake: it would be silently ignored.
fn passed_on(arguments: &[OsString]) -> Result<&[OsString]> {
    match arguments {
        [] => Ok(&[]),
        [first, rest @ ..] if first == "--" => Ok(rest),
        [first, ..] => bail!("`{0}` is not understood; to pass it on, write `-- {0}`", first.to_string_lossy()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    #[test]
    fn only_what_follows_two_dashes_is_passed_on() {
        let words = |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(passed_on(&words("-- -p engine -- --nocapture")).unwrap(), words("-p engine -- --nocapture"));
        assert!(passed_on(&words("")).unwrap().is_empty());
        let error = passed_on(&words("--release")).unwrap_err().to_string();
        assert!(error.contains("-- --release"), "{error}");
    }
}
