//! Wording that reports share.

use std::fmt::Write as _;

use contextengine::format::Problem;
use serde::Serialize;

/// A number with commas: 1,234,567.
pub(crate) fn thousands(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent, rounded: `12 %`; `< 1 %` for what is not nothing.
pub(crate) fn percent(part: u32, whole: u32) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_owned();
    }
    let rounded = (u64::from(part) * 100 + u64::from(whole) / 2) / u64::from(whole);
    if rounded == 0 { "< 1 %".to_owned() } else { format!("{rounded} %") }
}

/// A line of the session that could not be read.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProblemReport {
    line: u32,
    reason: String,
}

impl From<&Problem> for ProblemReport {
    fn from(problem: &Problem) -> Self {
        Self { line: problem.line, reason: problem.reason.clone() }
    }
}

/// Problems that a report for people lists; a file that is broken all over needs no more.
const LISTED: usize = 10;

/// What could not be read, one line each.
pub(crate) fn problems(file: &str, problems: &[ProblemReport]) -> String {
    let mut text = String::new();
    for ProblemReport { line, reason } in problems.iter().take(LISTED) {
        let _ = writeln!(text, "{file}:{line}: {reason}");
    }
    if problems.len() > LISTED {
        let _ = writeln!(text, "{file}: and {} more lines that could not be read", problems.len() - LISTED);
    }
    text
}

/// The first line of a report: what was read.
pub(crate) fn session_line(file: &str, format: &str, entries: u32, tokens: u32, tokenizer: &str) -> String {
    format!("{file}: {format}, {} entries, {} tokens ({tokenizer})", thousands(entries), thousands(tokens))
}

/// A report for programs.
pub(crate) fn pretty_json(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(thousands(0u32), "0");
        assert_eq!(thousands(999u32), "999");
        assert_eq!(thousands(1_000u32), "1,000");
        assert_eq!(thousands(1_234_567u32), "1,234,567");
    }

    #[test]
    fn a_small_share_is_not_shown_as_none() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(1, 1_000), "< 1 %");
        assert_eq!(percent(1, 3), "33 %");
        assert_eq!(percent(3, 0), "0 %");
    }
}
