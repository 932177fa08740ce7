//! The report of `ctxe inspect`.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Fill, KindName, ProblemReport, percent, problems, session_line, thousands};
use crate::output;

/// One of the largest entries.
#[derive(Debug, Serialize)]
pub(crate) struct Largest {
    pub(crate) position: u32,
    pub(crate) id: String,
    pub(crate) kind: KindName,
    pub(crate) tool: Option<String>,
    pub(crate) tokens: u32,
    pub(crate) begins: String,
}

/// What one tool takes.
#[derive(Debug, Serialize)]
pub(crate) struct ToolUse {
    pub(crate) tool: String,
    pub(crate) calls: u32,
    pub(crate) results: u32,
    pub(crate) failed: u32,
    pub(crate) result_tokens: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct InspectReport {
    pub(crate) file: String,
    pub(crate) format: &'static str,
    pub(crate) file_bytes: usize,
    pub(crate) records: u32,
    /// Messages of the file that the model does not see any more.
    pub(crate) earlier: u32,
    pub(crate) tokenizer: &'static str,
    pub(crate) window: Option<u32>,
    pub(crate) turns: u32,
    pub(crate) groups: u32,
    /// Calls that await their result.
    pub(crate) in_flight: u32,
    pub(crate) context: Fill,
    pub(crate) largest: Vec<Largest>,
    pub(crate) tools: Vec<ToolUse>,
    pub(crate) problems: Vec<ProblemReport>,
}

impl InspectReport {
    pub(crate) fn for_people(&self) -> String {
        let fill = &self.context;
        let mut text = session_line(&self.file, self.format, fill.entries, fill.tokens, self.tokenizer);
        text.push('\n');
        let _ = writeln!(
            text,
            "{} records, {} turns, {} groups{}{}",
            thousands(self.records),
            thousands(self.turns),
            thousands(self.groups),
            if self.in_flight > 0 { ", calls in flight" } else { "" },
            if self.earlier > 0 {
                format!("; {} messages are hidden by earlier compactions or on other branches", thousands(self.earlier))
            } else {
                String::new()
            }
        );
        if let Some(window) = self.window {
            let _ = writeln!(text, "{} of a window of {}", percent(fill.tokens, window), thousands(window));
        }
        text.push_str(&problems(&self.file, &self.problems));
        let _ =
            writeln!(text, "\n{}", output::table(&["kind", "entries", "tokens", "share", ""], &[1, 2, 3], fill.rows()));
        if !self.largest.is_empty() {
            let header = ["at", "kind", "tool", "tokens", "share", "begins"];
            let _ = writeln!(text, "\nLargest entries\n{}", output::table(&header, &[0, 3, 4], self.largest_rows()));
        }
        if !self.tools.is_empty() {
            let header = ["tool", "calls", "results", "failed", "result tokens", "share"];
            let _ = writeln!(text, "\nTokens by tool\n{}", output::table(&header, &[1, 2, 3, 4, 5], self.tool_rows()));
        }
        text
    }

    fn largest_rows(&self) -> Vec<Vec<String>> {
        let row = |entry: &Largest| {
            vec![
                entry.position.to_string(),
                entry.kind.0.to_owned(),
                entry.tool.clone().unwrap_or_default(),
                thousands(entry.tokens),
                percent(entry.tokens, self.context.tokens),
                entry.begins.clone(),
            ]
        };
        self.largest.iter().map(row).collect()
    }

    fn tool_rows(&self) -> Vec<Vec<String>> {
        let row = |tool: &ToolUse| {
            vec![
                tool.tool.clone(),
                thousands(tool.calls),
                thousands(tool.results),
                thousands(tool.failed),
                thousands(tool.result_tokens),
                percent(tool.result_tokens, self.context.tokens),
            ]
        };
        self.tools.iter().map(row).collect()
    }
}
