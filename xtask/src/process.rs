//! Running other programs: said aloud, bounded where a network is behind them, judged by their exit code.

use std::ffi::OsStr;
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How often a bounded program is looked at.
const POLL: Duration = Duration::from_millis(100);

/// The command line as a person would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Says what is run, runs it, and waits.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("$ {}", line(command));
    command.status().with_context(|| format!("cannot start `{}`", line(command)))
}

/// As [`status`]; anything but success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// As [`run`], but killed, and an error, when it takes longer than `limit`.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    eprintln!("$ {}  (at most {} s)", line(command), limit.as_secs());
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start `{}`", line(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            bail!("`{}` failed ({status})", line(command));
        }
        if start.elapsed() >= limit {
            // It may have ended in this very moment; then there is nothing to kill.
            let _ = child.kill();
            child.wait()?;
            bail!("`{}` took longer than {} s", line(command), limit.as_secs());
        }
        std::thread::sleep(POLL);
    }
}

/// Runs quietly and gives what it printed; `None` where it cannot be started or fails.
pub(crate) fn quiet(command: &mut Command) -> Option<String> {
    let Output { status, stdout, .. } = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    status.success().then(|| String::from_utf8_lossy(&stdout).trim().to_owned())
}

/// The exit code to pass on. A program ended by a signal has none: then plain failure.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => ExitCode::from(code),
        None => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_hangs_is_killed_at_its_limit() {
        let start = Instant::now();
        let error = run_within(&mut shell("exec sleep 60"), Duration::from_millis(300)).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failing_program_is_named_in_the_error() {
        let error = run(&mut shell("exit 3")).unwrap_err().to_string();
        assert!(error.contains("sh -c exit 3") && error.contains('3'), "{error}");
        assert!(run_within(&mut shell("exit 3"), Duration::from_secs(30)).is_err());
        assert!(run_within(&mut shell("exit 0"), Duration::from_secs(30)).is_ok());
    }

    #[test]
    fn a_missing_program_is_no_answer_and_a_failing_one_neither() {
        assert_eq!(quiet(&mut Command::new("no-such-program-here")), None);
        assert_eq!(quiet(&mut shell("echo no; exit 1")), None);
        assert_eq!(quiet(&mut shell("echo yes")), Some("yes".to_owned()));
    }
}
