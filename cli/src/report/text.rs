//! Wording that reports share.

use std::fmt::Write as _;

use contextengine::format::Problem;
use serde::Serialize;

use crate::failure::Failure;
use crate::harmless;

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

/// A share in percent, rounded: `12 %`. Little is not shown as nothing, and nearly all not as all.
pub(crate) fn percent(part: u32, whole: u32) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_owned();
    }
    match (u64::from(part) * 100 + u64::from(whole) / 2) / u64::from(whole) {
        0 => "< 1 %".to_owned(),
        100 if part < whole => "> 99 %".to_owned(),
        rounded => format!("{rounded} %"),
    }
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

/// A number and what it counts: `1 turn`, `2,000 turns`.
pub(crate) fn counted(number: impl Into<u64>, one: &str) -> String {
    let number = number.into();
    format!("{} {one}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Problems that a report for people lists; a file that is broken all over needs no more.
const LISTED: usize = 10;

/// What was read, and what could not be.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Read {
    /// `None`: standard input, or a session of a store.
    pub(crate) file: Option<String>,
    /// Name of a session of a store.
    pub(crate) session: Option<String>,
    /// `None`: the session was not read from a file.
    pub(crate) format: Option<&'static str>,
    pub(crate) tokenizer: &'static str,
    pub(crate) problems: Vec<ProblemReport>,
}

impl Read {
    fn name(&self) -> String {
        match (&self.file, &self.session) {
            (Some(file), _) => file.clone(),
            (None, Some(session)) => format!("session {}", harmless::line(session)),
            (None, None) => "standard input".to_owned(),
        }
    }

    /// The first line of a report.
    pub(crate) fn headline(&self, entries: u32, tokens: u32) -> String {
        let tokenizer = self.tokenizer;
        let name = self.name();
        let format = self.format.map_or(String::new(), |format| format!("{format}, "));
        format!("{name}: {format}{}, {} ({tokenizer})\n", counted(entries, "message"), counted(tokens, "token"))
    }

    /// What could not be read, one line each.
    pub(crate) fn problem_lines(&self) -> String {
        let name = self.name();
        let mut text = String::new();
        for ProblemReport { line, reason } in self.problems.iter().take(LISTED) {
            let _ = writeln!(text, "{name}:{line}: {}", harmless::line(reason));
        }
        if let Some(more) = self.problems.len().checked_sub(LISTED).filter(|more| *more > 0) {
            let _ = writeln!(text, "{name}: {} that could not be read", counted(more as u64, "more line"));
        }
        text
    }
}

/// What a format could not say in its own way, one line each.
pub(crate) fn remark_lines(remarks: &[String]) -> String {
    remarks.iter().map(|remark| format!("Note: {}\n", harmless::line(remark))).collect()
}

/// A report for programs.
pub(crate) fn json(report: &impl Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(report).map_err(|error| Failure::File(error.into()))?;
    text.push('\n');
    Ok(harmless::json(&text))
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
    fn one_is_no_plural() {
        assert_eq!(counted(1u32, "turn"), "1 turn");
        assert_eq!(counted(0u32, "turn"), "0 turns");
        assert_eq!(counted(1_000u32, "turn"), "1,000 turns");
    }

    #[test]
    fn a_small_share_is_not_shown_as_none() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(1, 1_000), "< 1 %");
        assert_eq!(percent(1, 3), "33 %");
        assert_eq!(percent(999, 1_000), "> 99 %");
        assert_eq!(percent(1_000, 1_000), "100 %");
        assert_eq!(percent(1_001, 1_000), "100 %");
        assert_eq!(percent(3, 0), "0 %");
    }
}
