//! The lines that say what was left out, and the words by which lines matter.

/// How every note begins and ends. A line of this form is never taken for output.
const OPEN: &str = "[... ";
const CLOSE: &str = " ...]";

/// Bytes that a note takes at most, its line break included.
pub(crate) const NOTE_BYTES: usize = 64;

/// Of a line, so many bytes are searched for words that matter.
const SEARCHED: usize = 400;

/// What marks a line that says what went wrong. Lower case.
const ERRORS: [&str; 14] = [
    "error",
    "exception",
    "failed",
    "failure",
    "fatal",
    "traceback",
    "panic",
    "errno",
    "exit code",
    "assertion",
    "caused by",
    "segmentation fault",
    "not ok",
    "undefined reference",
];

/// What else marks an end that is worth keeping: the sum of what was done.
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
    line.starts_with("diff --git ") || holds_any(line, &ERRORS)
}

/// An end that says how it ended.
pub(crate) fn end_matters(end: &str) -> bool {
    end.lines().any(|line| holds_any(line, &ERRORS) || holds_any(line, &SUMMARIES))
}

fn holds_any(line: &str, words: &[&str]) -> bool {
    let line = contextengine_sdk::budget::head_bytes(line, SEARCHED).to_ascii_lowercase();
    words.iter().any(|word| line.contains(word))
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
}
