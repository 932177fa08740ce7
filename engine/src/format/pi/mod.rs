//! A session of Pi: JSON lines, of which the first that can be read is the header. Versions 1, 2 and 3.
//!
//! What the model sees is built as Pi 1.6 builds it. The leaf is the last entry of the file, whatever its type; the path
//! leads from it by `parentId` to a root, a missing parent or a cycle ending it. Of several compactions on the path
//! the newest counts: its summary, then the path from `firstKeptEntryId`, then what came after it. An id that is not
//! found before the compaction keeps nothing. The latest `context_edit` of an entry decides what is seen of it. System
//! messages ahead of the compaction are replaced by the one that it recorded.
//!
//! Version 1 has no ids; entries are named `line-N` after their lines, and `firstKeptEntryIndex` counts the lines that
//! can be read, the header being 0.
//!
//! Not in the context, as Pi does not send them either: an assistant message that ended in an error or was aborted,
//! a bash execution with `excludeFromContext`, an entry that an edit takes out. Results of calls of such an assistant
//! message are left out with it; Pi would send them, and the provider would refuse the request.

mod entries;
mod write;

use std::collections::{HashMap, HashSet};

pub(super) use entries::{NOTE, SUMMARY};
pub(super) use write::write;

use super::json::Object;
use super::source::{Line, Source};
use super::{Format, FormatError, Problem, Reading};

/// Versions of the session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    /// No ids; a list.
    One,
    /// A tree.
    Two,
    /// A tree with `context_edit`.
    Three,
}

/// What the writer needs of the file.
#[derive(Debug)]
pub(super) struct Session {
    version: Version,
    lines: Vec<Line>,
    /// By line; `None` for the header and for lines that are no entries.
    names: Vec<Option<Name>>,
    /// Lines that Pi can read: the index of the next one.
    parsed: usize,
    leaf: Option<String>,
    ids: HashSet<String>,
    /// By line: the line of the edit that is in force.
    edits: HashMap<usize, usize>,
    /// The system messages of the context in one, without its end: see [`entries::replay`].
    system: Option<String>,
}

/// How other entries refer to an entry.
#[derive(Debug, Clone)]
struct Name {
    id: String,
    /// Index among the lines that can be read.
    index: usize,
}

/// An entry of the file.
struct Record<'a> {
    line: usize,
    id: String,
    parent: Option<String>,
    kind: String,
    fields: Object<'a>,
}

const KNOWN_TYPES: [&str; 11] = [
    "message",
    "model_change",
    "thinking_level_change",
    "usage",
    "compaction",
    "branch_summary",
    "context_edit",
    "custom",
    "custom_message",
    "label",
    "session_info",
];

pub(super) fn read(source: &Source) -> Result<Reading, FormatError> {
    let file = File::parse(source)?;
    let mut problems = file.problems;
    let by_id: HashMap<&str, usize> = file.records.iter().enumerate().map(|(at, r)| (r.id.as_str(), at)).collect();
    let path = path(&file.records, &by_id, &mut problems);
    let shown = shown(&file.records, &path, &file.indexed);
    let edits = edits(&file.records, &shown, &by_id);
    let mut reader = entries::Reader::new(problems);
    for (place, at) in shown.iter().enumerate() {
        let edit = edits.get(at).map(|edit| &file.records[*edit]);
        reader.record(&file.records[*at], edit, place == 0);
    }
    let seen: HashSet<usize> = shown.iter().copied().collect();
    let hidden =
        file.records.iter().enumerate().filter(|(at, record)| !seen.contains(at) && is_message(record)).count();
    let mut names = vec![None; file.lines.len()];
    for record in &file.records {
        names[record.line] = file.indexes.get(&record.line).map(|index| Name { id: record.id.clone(), index: *index });
    }
    Ok(Reading {
        context: reader.context,
        problems: reader.problems,
        records: u32::try_from(file.written).unwrap_or(u32::MAX),
        earlier: u32::try_from(hidden).unwrap_or(u32::MAX),
        session: super::Session::Pi(Session {
            version: file.version,
            names,
            parsed: file.indexed.len(),
            leaf: file.records.last().map(|record| record.id.clone()),
            ids: file.records.iter().map(|record| record.id.clone()).collect(),
            edits: edits.iter().map(|(at, edit)| (file.records[*at].line, file.records[*edit].line)).collect(),
            system: entries::replay(&reader.systems),
            lines: file.lines,
        }),
    })
}

/// The lines of the file, told apart.
struct File<'a> {
    version: Version,
    lines: Vec<Line>,
    /// Lines that are not blank.
    written: usize,
    records: Vec<Record<'a>>,
    /// Lines that Pi can read, by index: the id of the entry, if it is one.
    indexed: Vec<Option<String>>,
    /// Index by line.
    indexes: HashMap<usize, usize>,
    problems: Vec<Problem>,
}

impl<'a> File<'a> {
    fn parse(source: &'a Source) -> Result<Self, FormatError> {
        let mut file = Self {
            version: Version::Three,
            lines: source.lines(),
            written: 0,
            records: Vec::new(),
            indexed: Vec::new(),
            indexes: HashMap::new(),
            problems: Vec::new(),
        };
        let mut first_use = HashMap::new();
        for line in 0..file.lines.len() {
            let text = &source.text()[file.lines[line].content.clone()];
            if !text.trim().is_empty() {
                file.written += 1;
                file.line(line, text, &mut first_use)?;
            }
        }
        if file.indexed.is_empty() {
            return Err(malformed(0, "no line can be read"));
        }
        Ok(file)
    }

    fn line(&mut self, line: usize, text: &'a str, first_use: &mut HashMap<String, usize>) -> Result<(), FormatError> {
        let Some(fields) = Object::parse(text) else {
            self.unreadable(line, text);
            return Ok(());
        };
        let kind = fields.str("type").unwrap_or_default().into_owned();
        if self.indexed.is_empty() {
            if kind != "session" || fields.str("id").is_none() {
                return Err(malformed(line, "the first record is not a header with `\"type\":\"session\"` and an id"));
            }
            self.version = self.header(line, &fields);
            self.indexed.push(None);
            return Ok(());
        }
        let index = self.indexed.len();
        self.indexed.push(None);
        if kind == "session" {
            self.problem(line, "is another header; it is kept and not read");
            return Ok(());
        }
        let (id, parent) = if self.version == Version::One {
            (format!("line-{}", line + 1), self.records.last().map(|record| record.id.clone()))
        } else {
            let Some(id) = fields.str("id").filter(|id| !id.is_empty()) else {
                self.problem(line, "has no id; it is kept and not shown to the model");
                return Ok(());
            };
            let parent = fields.str("parentId").filter(|parent| !parent.is_empty());
            (id.into_owned(), parent.map(std::borrow::Cow::into_owned))
        };
        if let Some(first) = first_use.insert(id.clone(), line) {
            self.problem(line, format!("has the id `{id}` of line {}; this one counts", first + 1));
        }
        if !KNOWN_TYPES.contains(&kind.as_str()) {
            self.problem(line, format!("has the unknown type `{kind}`; it is kept and not shown to the model"));
        }
        self.indexed[index] = Some(id.clone());
        self.indexes.insert(line, index);
        self.records.push(Record { line, id, parent, kind, fields });
        Ok(())
    }

    fn header(&mut self, line: usize, fields: &Object<'_>) -> Version {
        match fields.number("version").unwrap_or(1) {
            ..2 => Version::One,
            2 => Version::Two,
            3 => Version::Three,
            newer => {
                self.problem(line, format!("says version {newer}, which is not known; it is read as version 3"));
                Version::Three
            }
        }
    }

    fn unreadable(&mut self, line: usize, text: &str) {
        match serde_json::from_str::<&serde_json::value::RawValue>(text) {
            Err(error) => self.problem(line, format!("is not JSON ({error}); it is kept and not read")),
            Ok(value) => {
                // Pi drops what JavaScript takes for false, so such a line has no index.
                if !matches!(value.get(), "null" | "false" | "0" | "-0" | "\"\"") && !self.indexed.is_empty() {
                    self.indexed.push(None);
                }
                self.problem(line, "is JSON, but not an object; it is kept and not read");
            }
        }
    }

    fn problem(&mut self, line: usize, reason: impl Into<String>) {
        self.problems.push(problem(line, reason));
    }
}

fn problem(line: usize, reason: impl Into<String>) -> Problem {
    Problem { line: u32::try_from(line + 1).unwrap_or(u32::MAX), reason: reason.into() }
}

fn malformed(line: usize, reason: &str) -> FormatError {
    let line = u32::try_from(line + 1).unwrap_or(u32::MAX);
    FormatError::Malformed { format: Format::Pi, line, reason: reason.to_owned() }
}

fn is_message(record: &Record<'_>) -> bool {
    match record.kind.as_str() {
        "message" | "custom_message" => true,
        "branch_summary" => record.fields.str("summary").is_some_and(|summary| !summary.is_empty()),
        _ => false,
    }
}

/// Positions of the records from the root to the leaf.
fn path(records: &[Record<'_>], by_id: &HashMap<&str, usize>, problems: &mut Vec<Problem>) -> Vec<usize> {
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    let mut next = records.len().checked_sub(1);
    while let Some(at) = next {
        if !seen.insert(at) {
            let line = path.last().map_or(0, |last: &usize| records[*last].line);
            problems.push(problem(line, "has a parent that descends from it; the path begins here"));
            break;
        }
        path.push(at);
        let record = &records[at];
        next = record.parent.as_deref().and_then(|parent| by_id.get(parent).copied());
        if let (None, Some(parent)) = (next, &record.parent) {
            let reason = format!("has the parent `{parent}`, which is not in the file; the path begins here");
            problems.push(problem(record.line, reason));
        }
    }
    path.reverse();
    path
}

/// Positions of the records that can contribute to the context: the newest compaction, what it kept, what came after.
fn shown(records: &[Record<'_>], path: &[usize], indexed: &[Option<String>]) -> Vec<usize> {
    let Some(newest) = path.iter().rposition(|at| records[*at].kind == "compaction") else {
        return path.to_vec();
    };
    let fields = &records[path[newest]].fields;
    let by_index = || {
        let index = usize::try_from(fields.number("firstKeptEntryIndex")?).ok()?;
        indexed.get(index)?.clone()
    };
    let first_kept = by_index().or_else(|| fields.str("firstKeptEntryId").map(std::borrow::Cow::into_owned));
    let mut shown = vec![path[newest]];
    let kept = first_kept.and_then(|id| path[..newest].iter().position(|at| records[*at].id == id));
    if let Some(first) = kept {
        shown.extend(path[first..newest].iter().copied().filter(|at| !entries::is_system(&records[*at])));
    }
    shown.extend_from_slice(&path[newest + 1..]);
    shown
}

/// For every record that has one: the edit in force.
fn edits(records: &[Record<'_>], shown: &[usize], by_id: &HashMap<&str, usize>) -> HashMap<usize, usize> {
    let mut edits = HashMap::new();
    for at in shown.iter().filter(|at| records[**at].kind == "context_edit") {
        let target = records[*at].fields.str("targetId");
        if let Some(target) = target.and_then(|target| by_id.get(target.as_ref()).copied()) {
            edits.insert(target, *at);
        }
    }
    edits
}
