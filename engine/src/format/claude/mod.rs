//! A transcript of Claude Code: JSON lines without a header.
//!
//! The context is what follows the last `compact_boundary`, in the order of the file. A walk by `parentUuid` would
//! lose results: each of several parallel calls is the parent of the next one *and* of its own result, so the tree
//! forks. Messages from ahead of the boundary that it names as preserved come after the summary.
//!
//! The lines of one API message (same `message.id`, one line a block) are one assistant entry. A user line with
//! several `tool_result` blocks is one entry for each, and one for each run of other blocks. Side chains, errors of the
//! API and lines for the screen only are kept and not shown to the model; so are all lines of other types. Among these
//! is `microcompact_boundary`: results that Claude Code cleared in memory are seen here with the text that the file has.

mod entries;
mod write;

use std::collections::{HashMap, HashSet};

pub(super) use write::write;

use super::json::{Object, is_valid, on_one_line, quote};
use super::source::{Line, Source};
use super::{Format, FormatError, Problem, Reading};
use crate::transcript::Compaction;

/// What the writer needs of the file.
#[derive(Debug)]
pub(super) struct Session {
    lines: Vec<Line>,
    /// The lines that count now: from the last boundary on, with what it preserved put after its summary.
    active: Vec<usize>,
    /// The last boundary.
    boundary: Option<usize>,
    /// Lines ahead of the last boundary, blank ones left out.
    hidden: usize,
}

/// Types of lines that are known to say nothing to the model.
const OTHER_TYPES: [&str; 12] = [
    "system",
    "summary",
    "progress",
    "attachment",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "custom-title",
    "ai-title",
    "agent-name",
    "tag",
    "pr-link",
];

pub(super) fn read(source: &Source) -> Result<Reading, FormatError> {
    let lines = source.lines();
    let mut problems = Vec::new();
    let mut records: Vec<Option<Object<'_>>> = Vec::with_capacity(lines.len());
    let mut written = 0_usize;
    for (line, place) in lines.iter().enumerate() {
        let text = &source.text()[place.content.clone()];
        let blank = text.trim().is_empty();
        written += usize::from(!blank);
        records.push(if blank { None } else { parse(line, text, &mut problems) });
    }
    if records.iter().all(Option::is_none) {
        return Err(FormatError::Malformed {
            format: Format::ClaudeCode,
            line: 1,
            reason: "no line can be read as a JSON object".to_owned(),
        });
    }
    check(&records, &mut problems);
    let boundary = records.iter().rposition(|record| record.as_ref().is_some_and(is_boundary));
    let preserved = boundary.map(|at| preserved(&records, at)).unwrap_or_default();
    let active = active(&records, boundary, &preserved);
    let mut reader = entries::Reader::new(problems);
    if let Some(boundary) = boundary.and_then(|at| records[at].as_ref()) {
        reader.boundary(boundary);
    }
    for line in &active {
        if let Some(record) = &records[*line] {
            reader.record(*line, record);
        }
    }
    let ahead = boundary.unwrap_or(0);
    let hidden_lines = (0..ahead).filter(|line| !preserved.contains(line));
    let earlier = messages(hidden_lines.filter_map(|line| records[line].as_ref()));
    let hidden = lines[..ahead].iter().filter(|line| !source.text()[line.content.clone()].trim().is_empty()).count();
    let (context, problems) = reader.finish();
    Ok(Reading {
        context,
        problems,
        records: u32::try_from(written).unwrap_or(u32::MAX),
        earlier: u32::try_from(earlier).unwrap_or(u32::MAX),
        session: super::Session::Claude(Session { lines, active, boundary, hidden }),
    })
}

fn parse<'a>(line: usize, text: &'a str, problems: &mut Vec<Problem>) -> Option<Object<'a>> {
    let object = Object::parse(text);
    if object.is_none() {
        let reason = match serde_json::from_str::<&serde_json::value::RawValue>(text) {
            Err(error) => format!("is not JSON ({error}); it is kept and not read"),
            Ok(_) => "is JSON, but not an object; it is kept and not read".to_owned(),
        };
        problems.push(problem(line, reason));
    }
    object
}

fn problem(line: usize, reason: impl Into<String>) -> Problem {
    Problem { line: u32::try_from(line + 1).unwrap_or(u32::MAX), reason: reason.into() }
}

/// Reports what is odd about lines, wherever they stand.
fn check(records: &[Option<Object<'_>>], problems: &mut Vec<Problem>) {
    let mut uuids = HashMap::new();
    let mut unknown = HashSet::new();
    for (line, record) in records.iter().enumerate() {
        let Some(record) = record else { continue };
        if let Some(uuid) = record.str("uuid")
            && let Some(first) = uuids.insert(uuid.clone().into_owned(), line)
        {
            problems.push(problem(line, format!("has the uuid `{uuid}` of line {}", first + 1)));
        }
        let kind = record.str("type").unwrap_or_default();
        let known = matches!(kind.as_ref(), "user" | "assistant") || OTHER_TYPES.contains(&kind.as_ref());
        if !known && unknown.insert(kind.clone().into_owned()) {
            let reason =
                format!("has the unknown type `{kind}`; it and all like it are kept and not shown to the model");
            problems.push(problem(line, reason));
        }
    }
}

fn is_boundary(record: &Object<'_>) -> bool {
    record.str("type").as_deref() == Some("system")
        && record.str("subtype").as_deref() == Some("compact_boundary")
        && !record.is_true("isSidechain")
}

/// The record says something to the model.
fn is_message(record: &Object<'_>) -> bool {
    matches!(record.str("type").as_deref(), Some("user" | "assistant"))
        && !record.is_true("isSidechain")
        && !record.is_true("isApiErrorMessage")
        && (record.is_true("isCompactSummary") || !record.is_true("isVisibleInTranscriptOnly"))
}

/// Messages among records; lines of one API message are one.
fn messages<'r, 'a: 'r>(records: impl Iterator<Item = &'r Object<'a>>) -> usize {
    let mut ids = HashSet::new();
    records
        .filter(|record| is_message(record))
        .filter(|record| match record.object("message").and_then(|message| message.str("id")) {
            Some(id) => ids.insert(id.into_owned()),
            None => true,
        })
        .count()
}

/// What is known of the compaction that a boundary marks. Newer versions spell the names in snake case.
fn metadata<'a>(boundary: &Object<'a>) -> Option<Object<'a>> {
    boundary.object("compactMetadata").or_else(|| boundary.object("compact_metadata"))
}

/// What is known of a compaction and has no place of Claude Code's own, as a field of the boundary's metadata with a
/// comma ahead. `Err` holds what can be written where the details are not JSON.
pub(super) fn own_metadata(compaction: &Compaction) -> Result<String, String> {
    let mut own = Vec::new();
    if !compaction.plugin.is_empty() {
        own.push(format!(r#""plugin":{}"#, quote(&compaction.plugin)));
    }
    let details = compaction.details.as_deref();
    own.extend(
        details.filter(|details| is_valid(details)).map(|details| format!(r#""details":{}"#, on_one_line(details))),
    );
    let field = if own.is_empty() { String::new() } else { format!(r#","contextengine":{{{}}}"#, own.join(",")) };
    if details.is_none_or(is_valid) { Ok(field) } else { Err(field) }
}

/// Lines ahead of the boundary that it says are still seen, in the order in which they are.
fn preserved(records: &[Option<Object<'_>>], boundary: usize) -> Vec<usize> {
    let Some(metadata) = records[boundary].as_ref().and_then(metadata) else {
        return Vec::new();
    };
    let by_uuid: HashMap<String, usize> = records[..boundary]
        .iter()
        .enumerate()
        .filter_map(|(line, record)| Some((record.as_ref()?.str("uuid")?.into_owned(), line)))
        .collect();
    let find = |uuid: Option<std::borrow::Cow<'_, str>>| uuid.and_then(|uuid| by_uuid.get(uuid.as_ref()).copied());
    if let Some(list) = metadata.object("preservedMessages").or_else(|| metadata.object("preserved_messages")) {
        let mut seen = HashSet::new();
        let uuids = list.array("uuids").unwrap_or_default();
        return uuids
            .into_iter()
            .filter_map(|uuid| find(super::json::string(uuid)))
            .filter(|l| seen.insert(*l))
            .collect();
    }
    let Some(segment) = metadata.object("preservedSegment").or_else(|| metadata.object("preserved_segment")) else {
        return Vec::new();
    };
    let head = find(segment.str("headUuid").or_else(|| segment.str("head_uuid")));
    let tail = find(segment.str("tailUuid").or_else(|| segment.str("tail_uuid")));
    match (head, tail) {
        (Some(head), Some(tail)) => {
            (head..=tail).filter(|line| records[*line].as_ref().is_some_and(is_message)).collect()
        }
        _ => Vec::new(),
    }
}

fn active(records: &[Option<Object<'_>>], boundary: Option<usize>, preserved: &[usize]) -> Vec<usize> {
    let Some(boundary) = boundary else {
        return (0..records.len()).collect();
    };
    let is_summary = |line: &usize| records[*line].as_ref().is_some_and(|record| record.is_true("isCompactSummary"));
    let summary = (boundary + 1..records.len()).find(is_summary).unwrap_or(boundary);
    let mut active: Vec<usize> = (boundary..=summary).collect();
    active.extend_from_slice(preserved);
    active.extend(summary + 1..records.len());
    active
}
