//! Any context as a fresh session of another format.
//!
//! The result is one that the format's own program, and the provider behind it, accepts: every call has exactly one
//! result, right after it, and every result has a call. What that took, and what the format has no place for, is said
//! in the remarks.

mod claude;
mod openai;
mod pi;

use std::collections::HashMap;
use std::sync::Arc;

use super::ids::Unique;
use super::json::{Object, on_one_line};
use super::{Format, FormatError, Written};
use crate::transcript::{Block, Entry, EntryKind, Timestamp, ToolCall, ToolResult};

/// What stands for the result of a call that has none.
const NO_RESULT: &str = "(no result was recorded for this call)";

/// Writes a context as a fresh session. The same context gives the same bytes.
///
/// # Errors
///
/// None today; a format that cannot hold some context at all would say so with [`FormatError::Inexpressible`].
pub fn convert(entries: &[Arc<Entry>], to: Format) -> Result<Written, FormatError> {
    let mut losses = Losses::default();
    let settled = settle(entries, to, &mut losses);
    let text = match to {
        Format::OpenAiChat => openai::write(&settled, &mut losses),
        Format::Pi => pi::write(&settled, &mut losses),
        Format::ClaudeCode => claude::write(&settled, &mut losses),
    };
    Ok(Written { bytes: text.into_bytes(), remarks: losses.remarks(to) })
}

/// What a conversion had to leave out, change or make up.
#[derive(Debug, Default)]
struct Losses {
    reasoning: u32,
    images: u32,
    opaque: u32,
    empty: u32,
    failed: u32,
    made_up: u32,
    orphans: u32,
    moved: u32,
    renamed: u32,
    wrapped: u32,
    roles: u32,
    details: u32,
    other: Vec<&'static str>,
}

impl Losses {
    fn remarks(&self, to: Format) -> Vec<String> {
        let counted = [
            (self.reasoning, "block(s) of reasoning left out: they are only valid where they were made"),
            (self.images, "image(s) left out: the format has no place for them there"),
            (self.opaque, "block(s) of unknown types left out"),
            (self.empty, "message(s) left out: nothing of them was left"),
            (self.failed, "result(s) no longer say that the tool failed: the format has no field for it"),
            (self.made_up, "call(s) without a result got one that says that none was recorded"),
            (self.orphans, "result(s) left out: no call, or another result of the same call"),
            (self.moved, "result(s) moved to their call"),
            (self.renamed, "call(s) renamed: the format needs ids that are unique and plain"),
            (self.wrapped, "call(s) with arguments that are no JSON object: they are now the field `input` of one"),
            (self.roles, "note(s) now read under the role of the user"),
            (self.details, "summary detail(s) left out: the format has no place for them"),
        ];
        let mut remarks: Vec<String> = (counted.iter().filter(|(count, _)| *count > 0))
            .map(|(count, what)| format!("{to}: {count} {what}"))
            .collect();
        remarks.extend(self.other.iter().map(|what| format!("{to}: {what}")));
        remarks
    }
}

/// The context with every call and result paired, and with ids that the format takes.
fn settle(entries: &[Arc<Entry>], to: Format, losses: &mut Losses) -> Vec<Entry> {
    let pairs = Pairs::find(entries);
    let mut names = Unique::default();
    let mut settled = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        if entry.tool_result().is_some() {
            losses.orphans += u32::from(!pairs.used[at]);
            continue;
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        let mut renamed = Entry::clone(entry);
        for block in &mut renamed.blocks {
            if let Block::ToolCall(call) = block {
                let name = names.name(&plain(&call.id, to));
                losses.renamed += u32::from(name != call.id);
                call.id = name;
                calls.push(call.clone());
            }
        }
        settled.push(renamed);
        let results = pairs.results.get(&at).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<(usize, &ToolCall)> =
            results.iter().zip(&calls).filter_map(|(result, call)| Some(((*result)?, call))).collect();
        found.sort_by_key(|(place, _)| *place);
        for (place, call) in found {
            losses.moved += u32::from(entries[at + 1..place].iter().any(|between| between.tool_result().is_none()));
            let mut result = Entry::clone(&entries[place]);
            for block in &mut result.blocks {
                if let Block::ToolResult(result) = block {
                    result.call_id.clone_from(&call.id);
                    result.name.clone_from(&call.name);
                }
            }
            settled.push(result);
        }
        for (_, call) in results.iter().zip(&calls).filter(|(result, _)| result.is_none()) {
            losses.made_up += 1;
            settled.push(made_up(entry, call));
        }
    }
    settled
}

fn made_up(caller: &Entry, call: &ToolCall) -> Entry {
    let result =
        ToolResult { call_id: call.id.clone(), name: call.name.clone(), text: NO_RESULT.to_owned(), failed: true };
    let id = format!("{}:{}", caller.id, call.id);
    let mut entry = Entry::new(id, EntryKind::ToolResult, vec![Block::ToolResult(result)]);
    entry.at = caller.at;
    entry
}

/// Which result answers which call. Ids repeat over turns, so a call's result is the first one behind it that is not
/// taken, ahead of the next call with the same id.
#[derive(Debug)]
struct Pairs {
    /// By position of the caller, for each of its calls.
    results: HashMap<usize, Vec<Option<usize>>>,
    used: Vec<bool>,
}

impl Pairs {
    fn find(entries: &[Arc<Entry>]) -> Self {
        // From the end: the results that no later call has claimed, nearest last.
        let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut results = HashMap::new();
        let mut used = vec![false; entries.len()];
        for (at, entry) in entries.iter().enumerate().rev() {
            if let Some(result) = entry.tool_result() {
                waiting.entry(&result.call_id).or_default().push(at);
                continue;
            }
            let own: Vec<Option<usize>> =
                entry.tool_calls().map(|call| waiting.get_mut(call.id.as_str()).and_then(Vec::pop)).collect();
            own.iter().flatten().for_each(|place| used[*place] = true);
            for call in entry.tool_calls() {
                waiting.remove(call.id.as_str());
            }
            if !own.is_empty() {
                results.insert(at, own);
            }
        }
        Self { results, used }
    }
}

/// The id as the format takes it: Anthropic's API wants letters, digits, `_` and `-`, at most 64 of them.
fn plain(id: &str, to: Format) -> String {
    let id = match to {
        Format::ClaudeCode => id
            .chars()
            .take(64)
            .map(|char| if char.is_ascii_alphanumeric() || matches!(char, '_' | '-') { char } else { '_' })
            .collect(),
        Format::OpenAiChat | Format::Pi => id.to_owned(),
    };
    if id.is_empty() { "call".to_owned() } else { id }
}

/// Arguments as the JSON object that the format needs.
fn object(arguments: &str, losses: &mut Losses) -> String {
    if Object::parse(arguments.trim()).is_some() {
        return on_one_line(arguments);
    }
    losses.wrapped += 1;
    format!(r#"{{"input":{}}}"#, super::json::quote(arguments))
}

/// When an entry was written, or else the one before it: what formats with times need of every entry.
#[derive(Debug)]
struct Clock(Timestamp);

impl Clock {
    fn new(entries: &[Entry]) -> Self {
        Self(entries.iter().find_map(|entry| entry.at).unwrap_or(Timestamp(0)))
    }

    fn of(&mut self, entry: &Entry) -> Timestamp {
        self.0 = entry.at.unwrap_or(self.0);
        self.0
    }
}
