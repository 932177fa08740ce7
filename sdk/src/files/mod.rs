//! Which files a session read and modified, and which commands it ran, from its tool calls.
//!
//! Works on the names and arguments of tools alone, so it sees what the model asked for; what a command did to files
//! it cannot see. A call that failed modified nothing, and one without a result yet counts as done.
//!
//! ```
//! use contextengine_sdk::{files, memory::MemoryView, View};
//! let view = MemoryView::new()
//!     .user("rename it")
//!     .call("1", "Read", r#"{"file_path":"src/a.rs"}"#).result("1", "…")
//!     .call("2", "apply_patch", r#"{"input":"*** Begin Patch\n*** Update File: src/b.rs\n*** End Patch"}"#)
//!     .result("2", "ok")
//!     .call("3", "bash", r#"{"command":"cargo test"}"#).failed_result("3", "1 failed");
//! let found = files::track(&view, (0..view.len()).into(), &files::Rules::default());
//! assert_eq!(found.read, ["src/a.rs"]);
//! assert_eq!(found.modified, ["src/b.rs"]);
//! assert_eq!(found.commands[0].command, "cargo test");
//! assert_eq!(found.commands[0].outcome, files::Outcome::Failed);
//! ```

mod recorded;
mod rules;

use std::collections::BTreeMap;

use serde_json::Value;

pub use recorded::{from_details, from_text, recorded};
pub use rules::{Effect, Rules};

use crate::types::{Block, EntryKind, Position, Span, ToolCall};
use crate::view::View;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its result reports no error.
    Succeeded,
    /// Its result reports an error or a refusal.
    Failed,
    /// Its result is not in the range.
    Unknown,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// As the model wrote it; words of a list are joined with spaces.
    pub command: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Position of the call.
    pub at: Position,
}

/// What a range of a session did. Paths are as the model wrote them, once each, in order of first use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operations {
    /// Files that were read, also those that were modified too.
    pub read: Vec<String>,
    /// Files that were written, edited, moved or deleted.
    pub modified: Vec<String>,
    /// Commands, in order.
    pub commands: Vec<Command>,
}

impl Operations {
    /// Files that were read and not modified.
    pub fn only_read(&self) -> impl Iterator<Item = &str> {
        self.read.iter().filter(|path| !self.modified.contains(path)).map(String::as_str)
    }

    /// Adds what came later.
    pub fn extend(&mut self, later: Operations) {
        later.read.into_iter().for_each(|path| add(&mut self.read, path));
        later.modified.into_iter().for_each(|path| add(&mut self.modified, path));
        self.commands.extend(later.commands);
    }
}

/// Reads the calls of a range.
pub fn track(view: &dyn View, range: Span, rules: &Rules) -> Operations {
    let entries = view.entries(range);
    let mut results: BTreeMap<(u32, String), bool> = BTreeMap::new();
    let mut calls: Vec<(Position, u32, ToolCall)> = Vec::new();
    for (at, entry) in (range.start..).zip(&entries) {
        if !matches!(entry.kind, EntryKind::Assistant | EntryKind::ToolResult) {
            continue;
        }
        for block in view.blocks(at) {
            match block {
                Block::ToolCall(call) => calls.push((at, entry.group, call)),
                // Ids repeat over turns, but not within a group.
                Block::ToolResult(result) => {
                    results.insert((entry.group, result.call_id), result.failed);
                }
                _ => {}
            }
        }
    }
    let mut operations = Operations::default();
    for (at, group, call) in calls {
        let outcome = match results.get(&(group, call.id.clone())) {
            Some(true) => Outcome::Failed,
            Some(false) => Outcome::Succeeded,
            None => Outcome::Unknown,
        };
        operations.note(&call, at, outcome, rules);
    }
    operations
}

impl Operations {
    fn note(&mut self, call: &ToolCall, at: Position, outcome: Outcome, rules: &Rules) {
        let Some(effect) = rules.effect(&call.name) else { return };
        // Some agents hand a patch or a command over as it is, without JSON around it.
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
        match effect {
            Effect::Read => self.touch(paths(&arguments, rules), Vec::new(), outcome),
            Effect::Modify => self.touch(Vec::new(), paths(&arguments, rules), outcome),
            Effect::Editor if arguments.get("command").and_then(Value::as_str) == Some("view") => {
                self.touch(paths(&arguments, rules), Vec::new(), outcome);
            }
            Effect::Editor => self.touch(Vec::new(), paths(&arguments, rules), outcome),
            Effect::Patch => {
                let mut patched = paths(&arguments, rules);
                strings(&arguments).into_iter().for_each(|text| patched.extend(patched_paths(text)));
                self.touch(Vec::new(), patched, outcome);
            }
            Effect::Run => self.run(&arguments, at, outcome, rules),
        }
    }

    fn touch(&mut self, read: Vec<String>, modified: Vec<String>, outcome: Outcome) {
        if outcome != Outcome::Failed {
            read.into_iter().for_each(|path| add(&mut self.read, path));
            modified.into_iter().for_each(|path| add(&mut self.modified, path));
        }
    }

    fn run(&mut self, arguments: &Value, at: Position, outcome: Outcome, rules: &Rules) {
        let named = rules.command_keys.iter().find_map(|key| arguments.get(key));
        let command = match named.unwrap_or(arguments) {
            Value::String(command) => command.clone(),
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
            _ => return,
        };
        // A patch that is applied through the shell.
        if command.contains("*** Begin Patch") {
            self.touch(Vec::new(), patched_paths(&command), outcome);
        }
        self.commands.push(Command { command, outcome, at });
    }
}

fn add(list: &mut Vec<String>, path: String) {
    if !path.is_empty() && !list.contains(&path) {
        list.push(path);
    }
}

/// Paths under the known keys: a string, a list of strings, or a list of objects with such keys.
fn paths(arguments: &Value, rules: &Rules) -> Vec<String> {
    let mut found = Vec::new();
    for value in rules.path_keys.iter().filter_map(|key| arguments.get(key)) {
        match value {
            Value::String(path) => found.push(path.clone()),
            Value::Array(items) => {
                for item in items {
                    match item {
                        Value::String(path) => found.push(path.clone()),
                        Value::Object(_) => {
                            let path = rules.path_keys.iter().find_map(|key| item.get(key)?.as_str());
                            found.extend(path.map(str::to_owned));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The strings of an arguments object, or of a list below it.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Object(fields) => fields.values().filter(|field| !field.is_object()).flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Paths that a patch names, in the `*** Update File:` form or as a unified diff.
///
/// ```
/// use contextengine_sdk::files::patched_paths;
/// let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-x\n+y\n*** End Patch";
/// assert_eq!(patched_paths(patch), ["a.rs", "b.rs"]);
/// assert_eq!(patched_paths("--- a/old.rs\n+++ b/old.rs\n@@ -1 +1 @@\n"), ["old.rs"]);
/// ```
pub fn patched_paths(patch: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The header's first line, if the line before was one; `/dev/null` names no file.
    let mut header: Option<Option<String>> = None;
    for line in patch.lines() {
        let named = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "]
            .iter()
            .find_map(|marker| line.strip_prefix(marker));
        if let Some(path) = named {
            add(&mut found, path.trim().to_owned());
        } else if let Some(path) = line.strip_prefix("--- ") {
            header = Some(diff_path(path));
        } else if let (Some(before), Some(after)) = (header.take(), line.strip_prefix("+++ ")) {
            before.into_iter().chain(diff_path(after)).for_each(|path| add(&mut found, path));
        }
    }
    found
}

/// The path of a line of a diff's header, without `a/` or `b/` and the timestamp.
fn diff_path(header: &str) -> Option<String> {
    let path = header.split('\t').next().unwrap_or(header).trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null").then(|| path.to_owned())
}

#[cfg(test)]
mod tests;
