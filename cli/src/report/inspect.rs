//! The reports of `ctxe inspect` and `ctxe session show`.

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

/// What fills a context.
#[derive(Debug, Serialize)]
pub(crate) struct ContextReport {
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

/// A session in a file.
#[derive(Debug, Serialize)]
pub(crate) struct InspectReport {
    pub(crate) report_version: u32,
    #[serde(flatten)]
    pub(crate) read: Read,
    pub(crate) file_bytes: usize,
    pub(crate) records: u32,
    /// Messages of the file that the model does not see any more.
    pub(crate) hidden_messages: u32,
    #[serde(flatten)]
    pub(crate) context: ContextReport,
}

/// A session in a store.
#[derive(Debug, Serialize)]
pub(crate) struct ShowReport {
    pub(crate) report_version: u32,
    #[serde(flatten)]
    pub(crate) read: Read,
    /// Entries on the branch in use, also those that compactions replaced.
    pub(crate) logged_entries: u64,
    /// Ids of the compactions that made the context what it is, newest first.
    pub(crate) compactions: Vec<String>,
    #[serde(flatten)]
    pub(crate) context: ContextReport,
}

/// Characters of a tool's name in a table: some servers put long prefixes before it.
const TOOL_NAME: usize = 28;

impl InspectReport {
    pub(crate) fn for_people(&self) -> String {
        let turns = counted(self.context.turns, "message");
        let records = counted(self.records, "record");
        let mut text = self.context.head(&self.read);
        let _ = writeln!(text, "{records} in the file, {turns} of the user in the context");
        if self.hidden_messages > 0 {
            let hidden = counted(self.hidden_messages, "message");
            let _ = writeln!(text, "{hidden} not in the context: compacted earlier, or on another branch");
        }
        text.push_str(&self.context.waiting());
        text.push_str(&self.read.problem_lines());
        text.push_str(&self.context.tables());
        text
    }
}

impl ShowReport {
    pub(crate) fn for_people(&self) -> String {
        let turns = counted(self.context.turns, "message");
        let logged = counted(self.logged_entries, "message");
        let mut text = self.context.head(&self.read);
        let _ = writeln!(text, "{logged} in the log, {turns} of the user in the context");
        if let Some(newest) = self.compactions.first() {
            let all = counted(self.compactions.len() as u64, "compaction");
            let _ = writeln!(text, "{all} in force, the newest is {}", harmless::line(newest));
        }
        text.push_str(&self.context.waiting());
        text.push_str(&self.context.tables());
        text
    }
}

impl ContextReport {
    fn head(&self, read: &Read) -> String {
        let fill = &self.context;
        let mut text = read.headline(fill.entries, fill.tokens);
        if let Some(window) = self.window_tokens {
            let _ = writeln!(text, "{} of a window of {} tokens", percent(fill.tokens, window), thousands(window));
        }
        text
    }

    fn waiting(&self) -> String {
        if self.in_flight_entries == 0 {
            return String::new();
        }
        let waiting = counted(self.in_flight_entries, "message");
        format!("{waiting} of the assistant with tool calls that have no result yet\n")
    }

    fn tables(&self) -> String {
        let fill = &self.context;
        let table = output::table(&["kind", "messages", "tokens", "share", ""], &[1, 2, 3], fill.rows());
        let mut text = format!("\nWhat fills the context\n{table}\n");
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
