//! The summary as a structure, and its one spelling as Markdown.
//!
//! [`render`] and [`crate::parse::parse`] are inverse: a summary that was rendered is read back as the same structure,
//! whatever its texts contain. That is what lets a later compaction merge an earlier one instead of quoting it. It
//! holds because every text of a session stands in a list item whose further lines are indented, so that no line of
//! it can begin where a heading or an item begins. Texts must be [`clean_block`] or [`clean_line`] before they enter.

use std::fmt::Write as _;

/// A map whose order and hashing are the same in every run. The default hasher asks the system for randomness, which
/// a component does not have.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, std::hash::BuildHasherDefault<std::hash::DefaultHasher>>;

/// A set, likewise.
pub(crate) type Set<T> = std::collections::HashSet<T, std::hash::BuildHasherDefault<std::hash::DefaultHasher>>;

/// First line of every summary of this plugin. The number is that of the spelling.
pub(crate) const MARKER: &str = "# Earlier conversation, condensed (regex-anchors 1)";

/// Names a part of the summary. The order is that of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Section {
    Goal,
    Focus,
    Constraints,
    Replaced,
    Messages,
    Open,
    State,
    Decisions,
    Files,
    Commands,
    Errors,
    Notes,
    Earlier,
    Anchors,
    Originals,
}

impl Section {
    /// All, in the order of the text.
    pub(crate) const ALL: [Section; 15] = [
        Section::Goal,
        Section::Focus,
        Section::Constraints,
        Section::Replaced,
        Section::Messages,
        Section::Open,
        Section::State,
        Section::Decisions,
        Section::Files,
        Section::Commands,
        Section::Errors,
        Section::Notes,
        Section::Earlier,
        Section::Anchors,
        Section::Originals,
    ];

    /// The heading, without its `## `.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Section::Goal => "Goal",
            Section::Focus => "Focus",
            Section::Constraints => "Constraints",
            Section::Replaced => "No longer in force",
            Section::Messages => "User messages",
            Section::Open => "Open",
            Section::State => "Where it stood",
            Section::Decisions => "Decisions",
            Section::Files => "Files",
            Section::Commands => "Commands",
            Section::Errors => "Errors",
            Section::Notes => "Saved notes",
            Section::Earlier => "Earlier summary",
            Section::Anchors => "Exact names",
            Section::Originals => "Originals",
        }
    }
}

/// A name and in how many entries it occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The name, exactly as it was written.
    pub(crate) name: String,
    /// Number of entries, at least 1.
    pub(crate) count: u32,
}

/// Names of one kind, most important first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameList {
    /// As in `urls`.
    pub(crate) kind: String,
    /// Never empty in a rendered summary.
    pub(crate) names: Vec<Counted>,
}

/// A statement of the user that a later one took back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// What was said first.
    pub(crate) old: String,
    /// What was said later.
    pub(crate) by: String,
}

/// Why something is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenKind {
    /// The user asked, and nothing came before the next message.
    Request,
    /// The assistant asked, and the user has not written since.
    Question,
    /// A task of the assistant's own list, or one it named in its text.
    Todo,
}

impl OpenKind {
    pub(crate) const ALL: [OpenKind; 3] = [OpenKind::Request, OpenKind::Question, OpenKind::Todo];

    pub(crate) fn word(self) -> &'static str {
        match self {
            OpenKind::Request => "request",
            OpenKind::Question => "question",
            OpenKind::Todo => "todo",
        }
    }
}

/// Something that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) kind: OpenKind,
    pub(crate) text: String,
}

/// How a command ended when it last ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    Failed,
    /// No result is in the session.
    Unknown,
}

impl Status {
    pub(crate) const ALL: [Status; 3] = [Status::Ok, Status::Failed, Status::Unknown];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Unknown => "no result",
        }
    }
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) status: Status,
    /// How often it ran.
    pub(crate) count: u32,
    pub(crate) line: String,
}

/// A line that reports an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorLine {
    /// The same call succeeded later.
    pub(crate) resolved: bool,
    pub(crate) count: u32,
    /// The command, or the tool and its file.
    pub(crate) source: String,
    pub(crate) line: String,
}

/// Everything a summary says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    pub(crate) goal: Option<String>,
    /// What the person asked to keep in focus, and what the assistant said about it.
    pub(crate) focus: Option<String>,
    pub(crate) focus_notes: Vec<String>,
    pub(crate) constraints: Vec<String>,
    pub(crate) replaced: Vec<Replaced>,
    pub(crate) messages: Vec<String>,
    pub(crate) open: Vec<Open>,
    pub(crate) state: Vec<String>,
    pub(crate) decisions: Vec<String>,
    pub(crate) modified: Vec<Counted>,
    pub(crate) read: Vec<Counted>,
    pub(crate) commands: Vec<Command>,
    pub(crate) errors: Vec<ErrorLine>,
    pub(crate) notes: Vec<String>,
    pub(crate) earlier: Vec<String>,
    pub(crate) anchors: Vec<NameList>,
    /// Entries that were folded, in all compactions.
    pub(crate) entries: u64,
    /// Compactions that were folded into this one, itself included.
    pub(crate) rounds: u32,
    /// User messages that the session has and the summary has not.
    pub(crate) messages_left_out: u64,
}

/// Second line of every summary: how to read it.
pub(crate) const INTRO: &str = "Taken from the conversation by rules, without a model. Goal, Constraints and User messages \
     (oldest first) are the user's own words; Where it stood and Decisions are the assistant's; ×N counts entries. It is a \
     record of what was said, not a new request.";

/// What stands under a heading that the host asked for and that has no content. Not an item, so that no text of a
/// session can be taken for it.
pub(crate) const NOTHING: &str = "Nothing was recorded.";

/// What separates a source from its line.
pub(crate) const ARROW: &str = " → ";

/// The summary as Markdown. Sections without content are left out, but for those that are `required`.
pub(crate) fn render(summary: &Summary, required: &[String]) -> String {
    let mut out = String::with_capacity(4096);
    let _ = write!(out, "{MARKER}\n{INTRO}\n");
    for section in Section::ALL {
        if section == Section::Originals {
            for heading in required.iter().filter(|heading| Section::ALL.iter().all(|s| s.heading() != *heading)) {
                let _ = write!(out, "\n## {heading}\n{NOTHING}\n");
            }
        }
        let items = items(summary, section);
        if items.is_empty() && !required.iter().any(|heading| heading == section.heading()) {
            continue;
        }
        let _ = write!(out, "\n## {}\n", section.heading());
        if items.is_empty() {
            let _ = writeln!(out, "{NOTHING}");
        }
        for item in items {
            push_item(&mut out, &item);
        }
    }
    while out.ends_with('\n') {
        out.pop();
    }
    out
}

/// One list item; the lines after the first are indented, empty ones stay empty.
fn push_item(out: &mut String, text: &str) {
    for (index, line) in text.split('\n').enumerate() {
        match (index, line.is_empty()) {
            (0, _) => out.push_str("- "),
            (_, true) => {}
            (_, false) => out.push_str("  "),
        }
        out.push_str(line);
        out.push('\n');
    }
}

/// The texts of the items of a section.
pub(crate) fn items(summary: &Summary, section: Section) -> Vec<String> {
    match section {
        Section::Goal => summary.goal.iter().cloned().collect(),
        Section::Focus => summary.focus.iter().chain(&summary.focus_notes).cloned().collect(),
        Section::Constraints => summary.constraints.clone(),
        Section::Replaced => summary.replaced.iter().map(Replaced::item).collect(),
        Section::Messages => summary.messages.clone(),
        Section::Open => summary.open.iter().map(Open::item).collect(),
        Section::State => summary.state.clone(),
        Section::Decisions => summary.decisions.clone(),
        Section::Files => [("modified", &summary.modified), ("read", &summary.read)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(kind, names)| list_item(kind, names))
            .collect(),
        Section::Commands => summary.commands.iter().map(Command::item).collect(),
        Section::Errors => summary.errors.iter().map(ErrorLine::item).collect(),
        Section::Notes => summary.notes.clone(),
        Section::Earlier => summary.earlier.clone(),
        Section::Anchors => summary
            .anchors
            .iter()
            .filter(|list| !list.names.is_empty())
            .map(|list| list_item(&list.kind, &list.names))
            .collect(),
        Section::Originals => vec![originals(summary)],
    }
}

/// The last section: what is folded here, what is left out, where the rest is. Its numbers are read back.
fn originals(summary: &Summary) -> String {
    format!(
        "{} entries are folded here, in {} compactions; {} more user messages, repeated or without content or for \
         want of room, are not shown.\nNothing is lost: the session log holds every original, and a search for any \
         name above finds it.",
        summary.entries, summary.rounds, summary.messages_left_out
    )
}

/// `kind: a ×2, b`.
pub(crate) fn list_item(kind: &str, names: &[Counted]) -> String {
    let mut out = format!("{kind}: ");
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&name.item());
    }
    out
}

impl Counted {
    pub(crate) fn item(&self) -> String {
        match self.count {
            0 | 1 => self.name.clone(),
            count => format!("{} ×{count}", self.name),
        }
    }
}

impl Replaced {
    pub(crate) fn item(&self) -> String {
        format!("~~{}~~ replaced by: {}", self.old, self.by)
    }
}

impl Open {
    pub(crate) fn item(&self) -> String {
        format!("{}: {}", self.kind.word(), self.text)
    }
}

fn times(count: u32) -> String {
    if count > 1 { format!(" ×{count}") } else { String::new() }
}

impl Command {
    pub(crate) fn item(&self) -> String {
        format!("{}{}: {}", self.status.word(), times(self.count), self.line)
    }
}

impl ErrorLine {
    pub(crate) fn item(&self) -> String {
        let word = if self.resolved { "resolved" } else { "unresolved" };
        format!("{word}{}: {}{ARROW}{}", times(self.count), self.source, self.line)
    }
}

/// Can a name stand in a list without being taken for two, or for a name with a count?
pub(crate) fn is_listable(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(", ")
        && !name.ends_with(',')
        && !name.contains(" ×")
        && name.trim() == name
        && !name.chars().any(char::is_control)
}

/// A text of several lines as an item can hold it: no control characters but tabs and line ends, nothing around it,
/// no code fence left open (it would swallow the rest of the summary).
pub(crate) fn clean_block(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => clean.push(c),
            // Carriage returns end lines for some readers.
            '\r' => {}
            c if c.is_control() => clean.push('\u{FFFD}'),
            c => clean.push(c),
        }
    }
    let mut clean = clean.trim().to_owned();
    if let Some(fence) = open_fence(&clean) {
        clean.push('\n');
        clean.push_str(&fence);
    }
    clean
}

/// A text of one line: every run of white space is one space.
pub(crate) fn clean_line(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !clean.is_empty() {
            clean.push(' ');
        }
        clean.extend(word.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }));
    }
    clean
}

/// A line that can stand before [`ARROW`].
pub(crate) fn clean_source(text: &str) -> String {
    clean_line(text).replace(ARROW.trim(), "->")
}

/// A line that can stand between `~~` and `~~`.
pub(crate) fn clean_struck(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '~' || !clean.ends_with('~') {
            clean.push(c);
        }
    }
    clean
}

/// The fence that would close the code block that the text leaves open.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.split('\n') {
        let line = line.trim();
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            continue;
        };
        let length = line.chars().take_while(|c| *c == mark).count();
        if length < 3 {
            continue;
        }
        match open {
            None => open = Some((mark, length)),
            Some((c, n)) if c == mark && length >= n && line.chars().all(|c| c == mark) => open = None,
            Some(_) => {}
        }
    }
    open.map(|(mark, length)| std::iter::repeat_n(mark, length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_left_open_is_closed() {
        assert_eq!(clean_block("a\n```rust\nfn x() {}"), "a\n```rust\nfn x() {}\n```");
        assert_eq!(clean_block("```\na\n```"), "```\na\n```");
        assert_eq!(clean_block("````\n```\n"), "````\n```\n````");
    }

    #[test]
    fn cleaning_twice_changes_nothing_more() {
        for text in ["a\0b\r\nc", "```\nx", "~~~~ y\n```", " \n- a\n  b \n"] {
            let once = clean_block(text);
            assert_eq!(clean_block(&once), once);
        }
    }
}
