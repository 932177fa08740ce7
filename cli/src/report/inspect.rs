//! The report of `ctxe inspect`.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Fill, KindName, Read, counted, percent, thousands};
use crate::harmless;
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
    pub(crate) report_version: u32,
    #[serde(flatten)]
    pub(crate) read: Read,
    pub(crate) file_bytes: usize,
    pub(crate) records: u32,
    /// Messages of the file that the model does not see any more.
    pub(crate) hidden_messages: u32,
    pub(crate) window_tokens: Option<u32>,
    /// Messages of the user.
    pub(crate) turns: u32,
    pub(crate) groups: u32,
    /// Assistant entries with calls that await their results.
    pub(crate) in_flight_entries: u32,
    pub(crate) context: Fill,
    pub(crate) largest: Vec<Largest>,
    pub(crate) tools: Vec<ToolUse>,
}

/// Characters of a tool's name in a table: some servers put long prefixes before it.
const TOOL_NAME: usize = 28;

impl InspectReport {
    pub(crate) fn for_people(&self) -> String {
        let fill = &self.context;
        let mut text = self.read.headline(fill.entries, fill.tokens);
        if let Some(window) = self.window_tokens {
            let _ = writeln!(text, "{} of a window of {} tokens", percent(fill.tokens, window), thousands(window));
        }
        let _ = writeln!(
            text,
            "{} in the file, {} of the user in the context",
            counted(self.records, "record"),
            counted(self.turns, "message"),
        );
        if self.hidden_messages > 0 {
            let hidden = counted(self.hidden_messages, "message");
            let _ = writeln!(text, "{hidden} not in the context: compacted earlier, or on another branch");
        }
        if self.in_flight_entries > 0 {
            let waiting = counted(self.in_flight_entries, "message");
            let _ = writeln!(text, "{waiting} of the assistant with tool calls that have no result yet");
        }
        text.push_str(&self.read.problem_lines());
        let table = output::table(&["kind", "messages", "tokens", "share", ""], &[1, 2, 3], fill.rows());
        let _ = writeln!(text, "\nWhat fills the context\n{table}");
        if !self.largest.is_empty() {
            let header = ["at", "kind", "tool", "tokens", "share", "begins"];
            let _ = writeln!(text, "\nLargest messages\n{}", output::table(&header, &[0, 3, 4], self.largest_rows()));
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
                entry.kind.words().to_owned(),
                entry.tool.as_deref().map(tool_name).unwrap_or_default(),
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
                tool_name(&tool.tool),
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

fn tool_name(name: &str) -> String {
    harmless::short_line(name, TOOL_NAME)
}
