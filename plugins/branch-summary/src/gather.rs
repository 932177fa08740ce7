//! What the entries of a branch tell without a model: who wanted what, which tools ran, what failed, how it ended.

use std::collections::{BTreeMap, BTreeSet};

use contextengine_sdk::files::{self, Operations};
use contextengine_sdk::transcript::{one_line, quotable};
use contextengine_sdk::{Block, EntryInfo, EntryKind, Position, Span, ToolCall, ToolResult, View};
use serde_json::Value;

use crate::config::Config;
use crate::earlier::Earlier;

/// Arguments that tell most of a call, the most telling first.
const TELLING: [&str; 9] =
    ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description"];

/// Words of a line that says what went wrong. Lower case.
const COMPLAINTS: [&str; 9] =
    ["error", "panicked", "exception", "fatal", "failed", "denied", "refused", "not found", "no such"];

/// Most lines about the focus.
const FOCUS_LINES: usize = 6;

/// How often a tool was called.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) made: u32,
    pub(crate) failed: u32,
}

/// What is known of a branch.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) entries: u32,
    /// Requests of the user.
    pub(crate) turns: u32,
    /// The first words of the user.
    pub(crate) goal: String,
    /// The latest words of the user.
    pub(crate) request: String,
    /// The latest words of the model.
    pub(crate) answer: String,
    /// Calls by tool, in order of first use.
    pub(crate) tools: Vec<(String, Calls)>,
    /// Commands, oldest first, with how they ended.
    pub(crate) commands: Vec<String>,
    /// What failed and did not succeed later, oldest first.
    pub(crate) failures: Vec<String>,
    /// What was asked to keep in focus.
    pub(crate) focus: Option<String>,
    /// What was said about it, oldest first.
    pub(crate) focused: Vec<String>,
    /// Files of the branch and of the summaries inside of it.
    pub(crate) files: Operations,
    /// Summaries inside the branch, oldest first.
    pub(crate) earlier: Vec<Earlier>,
}

impl Facts {
    /// Reads all entries once.
    pub(crate) fn gather(view: &dyn View, focus: Option<&str>, config: &Config) -> Self {
        let focus = focus.map(str::trim).filter(|focus| !focus.is_empty());
        let mut facts = Self { entries: view.len(), focus: focus.map(str::to_owned), ..Self::default() };
        let mut gather =
            Gather { facts: &mut facts, config, calls: BTreeMap::new(), failed: Vec::new(), words: words(focus) };
        for (at, entry) in (0..).zip(view.all()) {
            gather.entry(view, at, &entry);
        }
        let failed = std::mem::take(&mut gather.failed);
        facts.failures = lines(failed, config.max_failures);
        facts.files.extend(files::track(view, Span::new(0, view.len()), &files::Rules::default()));
        facts.commands = commands(&facts.files, config);
        facts
    }

    /// There is nothing to tell.
    pub(crate) fn says_nothing(&self) -> bool {
        let words = [&self.goal, &self.request, &self.answer];
        words.iter().all(|words| words.is_empty()) && self.tools.is_empty() && self.earlier.is_empty()
    }
}

/// A call that failed, by what tells it apart.
struct Failed {
    call: (String, String),
    line: String,
}

struct Gather<'a> {
    facts: &'a mut Facts,
    config: &'a Config,
    /// Calls by group and id: ids repeat over turns, but not within a group.
    calls: BTreeMap<(u32, String), ToolCall>,
    failed: Vec<Failed>,
    /// Words of the focus, in lower case.
    words: Vec<String>,
}

impl Gather<'_> {
    fn entry(&mut self, view: &dyn View, at: Position, entry: &EntryInfo) {
        match entry.kind {
            EntryKind::Summary | EntryKind::BranchSummary => {
                self.facts.earlier.push(Earlier::read(view, at));
                self.facts.files.extend(files::recorded(view, at));
            }
            EntryKind::User => {
                self.facts.turns += 1;
                let text = view.text(at, None);
                if !text.trim().is_empty() {
                    self.look_for_focus(&text);
                    if self.facts.goal.is_empty() {
                        self.facts.goal = quotable(text.trim());
                    }
                    self.facts.request = quotable(text.trim());
                }
            }
            EntryKind::Assistant | EntryKind::ToolResult => self.blocks(view.blocks(at), entry),
            EntryKind::System | EntryKind::Note => {}
        }
    }

    fn blocks(&mut self, blocks: Vec<Block>, entry: &EntryInfo) {
        let mut said: Vec<String> = Vec::new();
        for block in blocks {
            match block {
                Block::Text(text) if entry.kind == EntryKind::Assistant && !text.trim().is_empty() => {
                    self.look_for_focus(&text);
                    said.push(quotable(text.trim()));
                }
                Block::ToolCall(call) => {
                    self.tool(&call.name).made += 1;
                    self.calls.insert((entry.group, call.id.clone()), call);
                }
                Block::ToolResult(result) => self.result(&result, entry.group),
                _ => {}
            }
        }
        if !said.is_empty() {
            self.facts.answer = said.join("\n");
        }
    }

    fn tool(&mut self, name: &str) -> &mut Calls {
        let tools = &mut self.facts.tools;
        let at = tools.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            tools.push((name.to_owned(), Calls::default()));
            tools.len() - 1
        });
        &mut tools[at].1
    }

    fn result(&mut self, result: &ToolResult, group: u32) {
        let call = self.calls.get(&(group, result.call_id.clone()));
        let name = call.map_or_else(|| result.name.clone(), |call| call.name.clone());
        let told = call.map(|call| told(call, self.config.line_bytes)).unwrap_or_default();
        let key = (name.clone(), call.map(|call| call.arguments.clone()).unwrap_or_default());
        // The same call again: whatever it did before is settled by how it goes now.
        self.failed.retain(|failed| failed.call != key);
        if !result.failed {
            return;
        }
        self.tool(&name).failed += 1;
        let complaint = complaint(&result.text);
        let line = [name.as_str(), &told, &complaint].into_iter().filter(|part| !part.is_empty());
        let line = one_line(&quotable(&line.collect::<Vec<_>>().join(": ")), self.config.line_bytes);
        self.failed.push(Failed { call: key, line: format!("- {line}") });
    }

    fn look_for_focus(&mut self, text: &str) {
        if self.words.is_empty() {
            return;
        }
        for line in text.lines() {
            let lower = line.to_lowercase();
            if self.words.iter().any(|word| lower.contains(word)) {
                self.facts.focused.push(format!("- {}", one_line(&quotable(line), self.config.line_bytes)));
            }
        }
        let surplus = self.facts.focused.len().saturating_sub(FOCUS_LINES);
        self.facts.focused.drain(..surplus);
    }
}

/// Words of the focus that say something.
fn words(focus: Option<&str>) -> Vec<String> {
    let words = focus.unwrap_or_default().split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| word.chars().count() > 2 || !word.is_ascii() && !word.is_empty());
    words.map(str::to_lowercase).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The newest `most` lines, each once.
fn lines(failed: Vec<Failed>, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for failed in failed.into_iter().rev() {
        if lines.len() < most && !lines.contains(&failed.line) {
            lines.push(failed.line);
        }
    }
    lines.reverse();
    lines
}

/// The newest commands, each once, as it last ended.
fn commands(files: &Operations, config: &Config) -> Vec<String> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut lines: Vec<String> = Vec::new();
    for command in files.commands.iter().rev() {
        if lines.len() == config.max_commands {
            break;
        }
        if seen.insert(&command.command) {
            let outcome = match command.outcome {
                files::Outcome::Succeeded => "ok",
                files::Outcome::Failed => "failed",
                files::Outcome::Unknown => "no result",
            };
            lines.push(format!("- {outcome}: {}", one_line(&quotable(&command.command), config.line_bytes)));
        }
    }
    lines.reverse();
    lines
}

/// A call in a few words: the argument that tells most.
fn told(call: &ToolCall, max: usize) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let telling = TELLING.iter().find_map(|key| arguments.get(key)?.as_str());
    one_line(telling.unwrap_or(&call.arguments), max / 2)
}

/// The line that says what went wrong: the first that complains, else the last.
fn complaint(text: &str) -> String {
    let complains = |line: &&str| {
        let line = line.to_ascii_lowercase();
        COMPLAINTS.iter().any(|word| line.contains(word))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().find(complains).or_else(|| lines().next_back()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use contextengine_sdk::memory::MemoryView;

    use super::*;

    fn facts(view: &MemoryView) -> Facts {
        Facts::gather(view, Some("the parser"), &Config::default())
    }

    #[test]
    fn a_failure_counts_until_the_same_call_succeeds() {
        let view = MemoryView::new()
            .call("1", "bash", r#"{"command":"make"}"#)
            .failed_result("1", "cc a.c\nerror: no rule\nstop")
            .assistant("")
            .call("1", "bash", r#"{"command":"cargo test"}"#)
            .failed_result("1", "boom\nfinished")
            .assistant("")
            .call("1", "bash", r#"{"command":"make"}"#)
            .result("1", "done");
        let facts = facts(&view);
        assert_eq!(facts.failures, ["- bash: cargo test: finished"]);
        assert_eq!(facts.tools, [("bash".to_owned(), Calls { made: 3, failed: 2 })]);
        assert_eq!(facts.commands, ["- failed: cargo test", "- ok: make"]);
    }

    #[test]
    fn the_first_request_the_latest_one_and_the_last_words_are_known() {
        let view = MemoryView::new()
            .user("Try the other parser.")
            .assistant("I look.")
            .call("1", "read", r#"{"path":"a.rs"}"#)
            .result("1", "x")
            .user(" ")
            .user("Is it faster?")
            .assistant("Twice as fast.")
            .assistant("")
            .call("2", "read", r#"{"path":"b.rs"}"#);
        let facts = facts(&view);
        assert_eq!((facts.goal.as_str(), facts.request.as_str()), ("Try the other parser.", "Is it faster?"));
        assert_eq!(facts.answer, "Twice as fast.");
        assert_eq!(facts.focused, ["- Try the other parser."]);
        assert_eq!(facts.files.read, ["a.rs", "b.rs"]);
        assert_eq!(facts.turns, 3);
    }
}
