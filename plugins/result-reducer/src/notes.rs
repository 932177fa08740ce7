//! The lines that say what was left out, and the words by which lines matter.

use contextengine_sdk::budget::head_bytes;

/// How every note begins and ends. A line of this form is never taken for output.
const OPEN: &str = "[... ";
const CLOSE: &str = " ...]";

/// Bytes that a note takes at most, its line break included.
pub(crate) const NOTE_BYTES: usize = 64;

/// Of a line, so many bytes are searched for words that matter.
const SEARCHED: usize = 400;

/// What marks a line that says what went wrong, as tools write it. With case and punctuation: source code speaks of errors
/// on every page.
const ERRORS: [&str; 22] = [
    "error: ",
    "error[",
    "Error: ",
    "ERROR",
    "npm ERR!",
    "Exception: ",
    "Exception in ",
    "FAILED",
    "FAIL ",
    "FAIL:",
    "failed:",
    "FATAL",
    "fatal:",
    "panicked at",
    "panic:",
    "Traceback (most recent",
    "Caused by",
    "not ok ",
    "Segmentation fault",
    "undefined reference",
    "exited with",
    "AssertionError",
];

/// What marks an end that is worth keeping: an error in any words. Lower case.
const TROUBLES: [&str; 7] = ["error", "exception", "failed", "fatal", "traceback", "panic", "exit code"];

/// What else does: the sum of what was done. Lower case.
const SUMMARIES: [&str; 9] =
    ["total", "summary", "result", "passed", "done", "finished", "exit status", "warnings", "elapsed"];

/// Lines and bytes that are not there.
pub(crate) fn left_out(lines: usize, bytes: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("{OPEN}{lines} line{plural}, {bytes} bytes left out{CLOSE}")
}

/// Bytes within a line that are not there.
pub(crate) fn within_line(bytes: usize) -> String {
    format!("{OPEN}{bytes} bytes left out{CLOSE}")
}

/// Lines like others that are still there.
pub(crate) fn similar(lines: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("{OPEN}{lines} similar line{plural} left out{CLOSE}")
}

/// A block that goes on repeating.
pub(crate) fn repeated(lines: usize, times: usize) -> String {
    if lines == 1 {
        format!("{OPEN}the line above {times} times more{CLOSE}")
    } else {
        format!("{OPEN}the {lines} lines above {times} times more{CLOSE}")
    }
}

/// Data that no model reads.
pub(crate) fn data(bytes: usize, kind: &str) -> String {
    format!("{OPEN}{bytes} bytes of {kind} left out{CLOSE}")
}

pub(crate) fn is_note(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with(OPEN) && line.ends_with(CLOSE)
}

/// A line that says what went wrong, or in a diff, which file follows.
pub(crate) fn matters(line: &str) -> bool {
    let line = head_bytes(line, SEARCHED);
    line.starts_with("diff --git ") || ERRORS.iter().any(|word| line.contains(word))
}

/// An end that says how it ended.
pub(crate) fn end_matters(end: &str) -> bool {
    let end = end.to_ascii_lowercase();
    TROUBLES.iter().chain(&SUMMARIES).any(|word| end.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_is_known_as_one_and_is_short() {
        let most = usize::MAX / 1_000_000_000;
        let notes = [
            left_out(1, 9),
            left_out(most, most),
            within_line(7),
            similar(most),
            repeated(8, most),
            data(most, "base64"),
        ];
        for note in notes {
            assert!(is_note(&note) && note.len() < NOTE_BYTES, "{note}");
        }
        assert!(!is_note("[... and more"));
    }

    #[test]
    fn what_tools_report_matters_and_code_that_handles_errors_does_not() {
        for line in [
            "error[E0308]: mismatched types",
            "src/a.c:3:5: error: expected ';'",
            "TypeError: x is not a function",
            "--- FAIL: TestImport (0.00s)",
            "FAILED tests/test_import.py::test_quotes",
            "Caused by: java.sql.SQLException: connection refused",
            "npm ERR! code ELIFECYCLE",
            "diff --git a/src/a.rs b/src/a.rs",
        ] {
            assert!(matters(line), "{line}");
        }
        for line in
            ["    } catch (error) {", "use crate::error::PlanError;", "private errorMessage = null;", "// may panic"]
        {
            assert!(!matters(line), "{line}");
        }
    }
}
