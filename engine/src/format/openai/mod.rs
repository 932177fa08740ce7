//! OpenAI chat: a list of messages, or a request body with `messages`.
//!
//! One message is one entry. Messages have no ids, so an entry is named after its content, and a repeated one by
//! its number: the same message has the same id before and after a compaction. Leading `system` and `developer`
//! messages are pinned. An element that is no object is kept where it stands and is no entry; a message with an
//! unknown role is a note that holds it whole. Messages that a marker makes a summary or a note
//! (`<context-summary>`, see `marker.rs`) are read as such.

mod write;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

pub(super) use write::{message, write};

use super::content::{image_of_url, join_texts, opaque};
use super::ids::{Unique, hash};
use super::json::{Object, array, range_in, string};
use super::source::{LineCounter, Source};
use super::{Format, FormatError, Problem, Reading, marker};
use crate::transcript::{Block, Compaction, Entry, EntryKind, Reasoning, Role, SourcePart, ToolCall, ToolResult};

/// Where the messages stand in the file.
#[derive(Debug)]
pub(super) struct Session {
    /// The list, with its brackets.
    list: Range<usize>,
    /// Its elements.
    elements: Vec<Range<usize>>,
}

pub(super) fn read(source: &Source) -> Result<Reading, FormatError> {
    let text = source.text();
    let list = list(source)?;
    let range = range_in(text, list.get());
    let mut counter = LineCounter::new(text);
    let Some(elements) = array(list) else {
        let line = counter.line(range.start);
        return Err(malformed(line, "`messages` is not a list"));
    };
    let mut reader = Reader::default();
    for (index, element) in elements.iter().enumerate() {
        reader.line = counter.line(range_in(text, element.get()).start);
        reader.message(u32::try_from(index).unwrap_or(u32::MAX), element);
    }
    Ok(Reading {
        context: reader.context,
        problems: reader.problems,
        records: u32::try_from(elements.len()).unwrap_or(u32::MAX),
        earlier: 0,
        session: super::Session::OpenAi(Session {
            list: range,
            elements: elements.iter().map(|element| range_in(text, element.get())).collect(),
        }),
    })
}

fn list(source: &Source) -> Result<&RawValue, FormatError> {
    let content = &source.text()[source.start()..];
    let top: &RawValue = serde_json::from_str(content)
        .map_err(|error| malformed(u32::try_from(error.line()).unwrap_or(u32::MAX), &error.to_string()))?;
    if top.get().starts_with('[') {
        return Ok(top);
    }
    Object::of(top)
        .and_then(|body| body.get("messages"))
        .ok_or_else(|| malformed(1, "it is neither a list of messages nor an object with `messages`"))
}

fn malformed(line: u32, reason: &str) -> FormatError {
    FormatError::Malformed { format: Format::OpenAiChat, line: line.max(1), reason: reason.to_owned() }
}

#[derive(Debug, Default)]
struct Reader {
    context: Vec<Arc<Entry>>,
    problems: Vec<Problem>,
    names: Unique,
    /// Names of the tools, by the id of the newest call.
    tools: HashMap<String, String>,
    past_system: bool,
    line: u32,
}

impl Reader {
    fn problem(&mut self, reason: impl Into<String>) {
        self.problems.push(Problem { line: self.line, reason: reason.into() });
    }

    fn message(&mut self, record: u32, raw: &RawValue) {
        let Some(message) = Object::of(raw) else {
            return self.problem("is not a message; it is kept where it stands and not shown to the model");
        };
        let role = message.str("role").unwrap_or_default();
        let mut entry = match role.as_ref() {
            "system" | "developer" => self.words(EntryKind::System, Role::System, &message),
            "user" => self.words(EntryKind::User, Role::User, &message),
            "assistant" => self.assistant(&message),
            "tool" | "function" => self.result(&message, role.as_ref()),
            other => {
                self.problem(format!("has the unknown role `{other}`; it is kept as a note"));
                Entry::new("", EntryKind::Note, vec![opaque(other, raw.get())])
            }
        };
        self.past_system |= entry.kind != EntryKind::System;
        entry.pinned = entry.kind == EntryKind::System && !self.past_system;
        let name = &hash(&[raw.get().as_bytes()])[..12];
        entry.id = crate::transcript::EntryId::new(self.names.name(name));
        entry.parent = self.context.last().map(|before| before.id.clone());
        entry.source = vec![SourcePart { record, blocks: None }];
        self.context.push(Arc::new(entry));
    }

    fn words(&mut self, kind: EntryKind, role: Role, message: &Object<'_>) -> Entry {
        let blocks = self.content(message.some("content"));
        let (kind, blocks) = unmark(kind, blocks);
        let mut entry = Entry::new("", kind, blocks);
        entry.role = role;
        if kind == EntryKind::Summary {
            entry.compaction = Some(Box::new(Compaction::default()));
        }
        entry
    }

    fn assistant(&mut self, message: &Object<'_>) -> Entry {
        let mut blocks = Vec::new();
        let thought = ["reasoning_content", "reasoning"].iter().find_map(|name| message.str(name));
        let details = message.array("reasoning_details").filter(|details| !details.is_empty());
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            blocks.push(Block::Reasoning(Reasoning { text: text.into_owned(), signed: details.is_some() }));
        } else if details.is_some() {
            blocks.push(Block::Reasoning(Reasoning { text: String::new(), signed: true }));
        }
        blocks.extend(self.content(message.some("content")));
        if let Some(refusal) = message.str("refusal").filter(|text| !text.is_empty()) {
            blocks.push(Block::Text(refusal.into_owned()));
        }
        if let Some(audio) = message.some("audio") {
            blocks.push(opaque("audio", audio.get()));
        }
        match message.some("tool_calls").map(array) {
            Some(Some(calls)) => calls.into_iter().for_each(|call| blocks.push(self.call(call))),
            Some(None) => self.problem("has `tool_calls` that are not a list; they are not shown"),
            None => {}
        }
        if let Some(call) = message.object("function_call") {
            let name = call.str("name").unwrap_or_default().into_owned();
            let id = function_id(&name);
            self.tools.insert(id.clone(), name.clone());
            blocks.push(Block::ToolCall(ToolCall { id, name, arguments: arguments(&call) }));
        }
        let (kind, blocks) = unmark(EntryKind::Assistant, blocks);
        let mut entry = Entry::new("", kind, blocks);
        entry.role = Role::Assistant;
        entry
    }

    fn call(&mut self, raw: &RawValue) -> Block {
        let Some(call) = Object::of(raw) else {
            self.problem("has a tool call that is not an object");
            return opaque("tool_call", raw.get());
        };
        let id = call.str("id").unwrap_or_default().into_owned();
        if id.is_empty() {
            self.problem("has a tool call without an id");
        }
        let (name, arguments) = if let Some(function) = call.object("function") {
            (function.str("name").unwrap_or_default().into_owned(), arguments(&function))
        } else if let Some(custom) = call.object("custom") {
            let input = custom.get("input").map_or("null", RawValue::get);
            (custom.str("name").unwrap_or_default().into_owned(), format!("{{\"input\":{input}}}"))
        } else {
            self.problem("has a tool call of an unknown type");
            return opaque(call.str("type").unwrap_or(Cow::Borrowed("tool_call")), raw.get());
        };
        self.tools.insert(id.clone(), name.clone());
        Block::ToolCall(ToolCall { id, name, arguments })
    }

    fn result(&mut self, message: &Object<'_>, role: &str) -> Entry {
        let said = message.str("name").unwrap_or_default().into_owned();
        let call_id = match message.str("tool_call_id") {
            Some(id) => id.into_owned(),
            None if role == "function" => function_id(&said),
            None => {
                self.problem("is a tool result without `tool_call_id`");
                String::new()
            }
        };
        let name = self.tools.get(&call_id).cloned().unwrap_or(said);
        let mut rest = self.content(message.some("content"));
        let text = join_texts(&rest);
        rest.retain(|block| !matches!(block, Block::Text(_)));
        let mut blocks = vec![Block::ToolResult(ToolResult { call_id, name, text, failed: false })];
        blocks.append(&mut rest);
        Entry::new("", EntryKind::ToolResult, blocks)
    }

    fn content(&mut self, content: Option<&RawValue>) -> Vec<Block> {
        let Some(content) = content else { return Vec::new() };
        if let Some(text) = string(content) {
            return vec![Block::Text(text.into_owned())];
        }
        let Some(parts) = array(content) else {
            self.problem("has content that is neither text nor a list");
            return vec![opaque("content", content.get())];
        };
        parts.into_iter().map(part).collect()
    }
}

fn part(raw: &RawValue) -> Block {
    if let Some(text) = string(raw) {
        return Block::Text(text.into_owned());
    }
    let Some(part) = Object::of(raw) else {
        return opaque("", raw.get());
    };
    let kind = part.str("type").unwrap_or_default();
    let known = match kind.as_ref() {
        "text" | "input_text" | "output_text" => part.str("text").map(|text| Block::Text(text.into_owned())),
        "refusal" => part.str("refusal").map(|text| Block::Text(text.into_owned())),
        "image_url" | "input_image" => {
            let url = part.object("image_url").and_then(|image| image.str("url")).or_else(|| part.str("image_url"));
            url.map(|url| image_of_url(&url))
        }
        _ => None,
    };
    known.unwrap_or_else(|| opaque(kind, raw.get()))
}

/// Arguments as the model wrote them. Some programs store the object itself.
fn arguments(function: &Object<'_>) -> String {
    match function.some("arguments") {
        Some(raw) => string(raw).map_or_else(|| raw.get().to_owned(), Cow::into_owned),
        None => "{}".to_owned(),
    }
}

/// The id that stands for the missing one of a legacy function call.
fn function_id(name: &str) -> String {
    format!("function-{name}")
}

/// Takes the marker off a message that is nothing but one marked text.
fn unmark(kind: EntryKind, blocks: Vec<Block>) -> (EntryKind, Vec<Block>) {
    if let [Block::Text(text)] = blocks.as_slice()
        && let Some((marked, inner)) = marker::unwrap(text)
    {
        return (marked, vec![Block::Text(inner.to_owned())]);
    }
    (kind, blocks)
}
