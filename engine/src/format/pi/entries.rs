//! Records of Pi as entries.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Record, problem};
use crate::format::content::{base64_image, join_texts, opaque};
use crate::format::json::{Object, array, quote, string};
use crate::format::{Problem, ids};
use crate::transcript::{
    Block, Compaction, Entry, EntryId, EntryKind, Reasoning, SourcePart, Timestamp, ToolCall, ToolResult,
};

/// What `contextengine` names its own `custom_message` entries.
pub(in crate::format) const NOTE: &str = "contextengine";
/// The same for a summary that stands where Pi cannot have a compaction.
pub(in crate::format) const SUMMARY: &str = "contextengine-summary";

/// Is the record a system message?
pub(super) fn is_system(record: &Record<'_>) -> bool {
    record.kind == "message"
        && record.fields.object("message").is_some_and(|message| message.str("role").as_deref() == Some("system"))
}

pub(super) struct Reader<'a> {
    pub(super) context: Vec<Arc<Entry>>,
    pub(super) problems: Vec<Problem>,
    /// The system messages of the context, in order.
    pub(super) systems: Vec<Object<'a>>,
    tools: HashMap<String, String>,
    /// Calls of assistant messages that are left out.
    lost_calls: HashSet<String>,
    line: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self {
            context: Vec::new(),
            problems,
            systems: Vec::new(),
            tools: HashMap::new(),
            lost_calls: HashSet::new(),
            line: 0,
        }
    }

    fn problem(&mut self, reason: impl Into<String>) {
        self.problems.push(problem(self.line, reason));
    }

    /// Adds what the record shows the model. Only the first record can be a compaction that counts.
    pub(super) fn record(&mut self, record: &Record<'a>, edit: Option<&Record<'_>>, first: bool) {
        self.line = record.line;
        let fields = &record.fields;
        let entry = match record.kind.as_str() {
            "message" => self.message(fields),
            "custom_message" => {
                let kind = if fields.str("customType").as_deref() == Some(SUMMARY) {
                    EntryKind::Summary
                } else {
                    EntryKind::Note
                };
                Some(Entry::new("", kind, self.blocks(fields.some("content"))))
            }
            "branch_summary" => fields
                .str("summary")
                .filter(|summary| !summary.is_empty())
                .map(|summary| Entry::text("", EntryKind::BranchSummary, summary)),
            "compaction" if first => self.compaction(record, edit.is_some_and(takes_out)),
            _ => None,
        };
        let Some(entry) = entry else { return };
        let Some(edit) = edit else {
            return self.push(record, &record.id, entry);
        };
        if takes_out(edit) {
            if entry.kind == EntryKind::System {
                self.systems.pop();
            }
            return;
        }
        match self.edited(fields, &entry, edit) {
            Some(blocks) => {
                let mut edited = entry.clone();
                edited.blocks = blocks;
                edited.replaces = vec![Arc::new(self.complete(record, &record.id, entry))];
                self.push(record, &record.id, edited);
            }
            None => self.push(record, &record.id, entry),
        }
    }

    fn complete(&self, record: &Record<'_>, id: &str, mut entry: Entry) -> Entry {
        entry.id = EntryId::new(id);
        entry.parent = self.context.last().map(|before| before.id.clone());
        entry.source = vec![SourcePart { record: u32::try_from(record.line).unwrap_or(u32::MAX), blocks: None }];
        entry.at =
            record.fields.str("timestamp").and_then(|time| ids::time(&time)).or_else(|| {
                record.fields.object("message").and_then(|message| message.number("timestamp")).map(Timestamp)
            });
        entry
    }

    fn push(&mut self, record: &Record<'_>, id: &str, entry: Entry) {
        let entry = self.complete(record, id, entry);
        for call in entry.tool_calls() {
            self.tools.insert(call.id.clone(), call.name.clone());
            self.lost_calls.remove(&call.id);
        }
        self.context.push(Arc::new(entry));
    }

    fn message(&mut self, fields: &Object<'a>) -> Option<Entry> {
        let Some(message) = fields.object("message") else {
            self.problem("is a message without `message`; it is kept and not shown to the model");
            return None;
        };
        let role = message.str("role").unwrap_or_default();
        let content = message.some("content");
        match role.as_ref() {
            "user" => Some(Entry::new("", EntryKind::User, self.blocks(content))),
            "assistant" => self.assistant(&message),
            "toolResult" => self.result(&message),
            "system" => Some(self.system(message)),
            "bashExecution" => {
                let hidden = message.get("excludeFromContext").is_some_and(|hide| is_truthy(hide.get()));
                (!hidden).then(|| Entry::text("", EntryKind::Note, bash_text(&message)))
            }
            // Version 2 named it so; Pi renames it on loading.
            "custom" | "hookMessage" => Some(Entry::new("", EntryKind::Note, self.blocks(content))),
            "branchSummary" => Some(Entry::text("", EntryKind::BranchSummary, message.str("summary")?)),
            "compactionSummary" => Some(Entry::text("", EntryKind::Note, message.str("summary")?)),
            other => {
                self.problem(format!("has the unknown role `{other}`; it is kept and not shown to the model"));
                None
            }
        }
    }

    fn assistant(&mut self, message: &Object<'_>) -> Option<Entry> {
        let blocks = self.blocks(message.some("content"));
        let entry = Entry::new("", EntryKind::Assistant, blocks);
        if matches!(message.str("stopReason").as_deref(), Some("error" | "aborted")) {
            self.lost_calls.extend(entry.tool_calls().map(|call| call.id.clone()));
            return None;
        }
        Some(entry)
    }

    fn result(&mut self, message: &Object<'_>) -> Option<Entry> {
        let call_id = message.str("toolCallId").unwrap_or_default().into_owned();
        if call_id.is_empty() {
            self.problem("is a tool result without `toolCallId`");
        }
        if self.lost_calls.contains(&call_id) {
            return None;
        }
        let said = message.str("toolName").map(std::borrow::Cow::into_owned);
        let name = said.or_else(|| self.tools.get(&call_id).cloned()).unwrap_or_default();
        let failed = message.is_true("isError");
        let content = self.blocks(message.some("content"));
        Some(Entry::new("", EntryKind::ToolResult, result_blocks(call_id, name, failed, content)))
    }

    fn system(&mut self, message: Object<'a>) -> Entry {
        let mut blocks = self.blocks(message.some("content"));
        let sections = message.object("sections");
        for (_, section) in sections.iter().flat_map(Object::fields) {
            blocks.extend(string(section).map(|text| Block::Text(text.into_owned())));
        }
        for name in ["toolsAdded", "toolsRemoved"] {
            if let Some(tools) = message.some(name).filter(|tools| tools.get() != "[]") {
                blocks.push(opaque(name, tools.get()));
            }
        }
        self.systems.push(message);
        let mut entry = Entry::new("", EntryKind::System, blocks);
        entry.pinned = true;
        entry
    }

    fn compaction(&mut self, record: &Record<'a>, taken_out: bool) -> Option<Entry> {
        if taken_out {
            return None;
        }
        let fields = &record.fields;
        if let Some(message) = fields.object("systemMessage") {
            let system = self.system(message);
            self.push(record, &format!("{}:system", record.id), system);
        }
        let Some(summary) = fields.str("summary") else {
            self.problem("is a compaction without a summary");
            return None;
        };
        let mut entry = Entry::text("", EntryKind::Summary, summary);
        let tokens = fields.number("tokensBefore").unwrap_or(0);
        entry.compaction = Some(Box::new(Compaction {
            plugin: String::new(),
            details: fields.some("details").map(|details| details.get().to_owned()),
            tokens_before: u32::try_from(tokens).unwrap_or(if tokens < 0 { 0 } else { u32::MAX }),
            tokens_after: 0,
        }));
        Some(entry)
    }

    /// What an edit shows instead, if the entry is of a kind that Pi lets edits change.
    fn edited(&mut self, fields: &Object<'_>, entry: &Entry, edit: &Record<'_>) -> Option<Vec<Block>> {
        if !is_editable(fields) {
            return None;
        }
        let blocks = self.blocks(edit.fields.object("replacement")?.some("content"));
        Some(match entry.tool_result() {
            Some(result) => result_blocks(result.call_id.clone(), result.name.clone(), result.failed, blocks),
            None => blocks,
        })
    }

    fn blocks(&mut self, content: Option<&RawValue>) -> Vec<Block> {
        let Some(content) = content else { return Vec::new() };
        if let Some(text) = string(content) {
            return vec![Block::Text(text.into_owned())];
        }
        let Some(blocks) = array(content) else {
            self.problem("has content that is neither text nor a list");
            return vec![opaque("content", content.get())];
        };
        blocks.into_iter().map(block).collect()
    }
}

/// The edit leaves nothing of its target.
fn takes_out(edit: &Record<'_>) -> bool {
    edit.fields.get("replacement").is_some_and(|replacement| replacement.get() == "null")
}

/// Is the record one whose content an edit can replace?
pub(super) fn is_editable(fields: &Object<'_>) -> bool {
    match fields.object("message") {
        Some(message) => matches!(
            message.str("role").as_deref(),
            Some("user" | "assistant" | "toolResult" | "custom" | "hookMessage")
        ),
        None => fields.str("type").as_deref() == Some("custom_message"),
    }
}

fn result_blocks(call_id: String, name: String, failed: bool, mut content: Vec<Block>) -> Vec<Block> {
    let text = join_texts(&content);
    content.retain(|block| !matches!(block, Block::Text(_)));
    content.insert(0, Block::ToolResult(ToolResult { call_id, name, text, failed }));
    content
}

fn block(raw: &RawValue) -> Block {
    let Some(block) = Object::of(raw) else {
        return opaque("", raw.get());
    };
    let kind = block.str("type").unwrap_or_default();
    let known = match kind.as_ref() {
        "text" => block.str("text").map(|text| Block::Text(text.into_owned())),
        "thinking" => Some(Block::Reasoning(Reasoning {
            text: block.str("thinking").unwrap_or_default().into_owned(),
            signed: block.is_true("redacted") || block.str("thinkingSignature").is_some_and(|name| is_signature(&name)),
        })),
        "toolCall" => Some(Block::ToolCall(ToolCall {
            id: block.str("id").unwrap_or_default().into_owned(),
            name: block.str("name").unwrap_or_default().into_owned(),
            arguments: block.some("arguments").map_or("{}", RawValue::get).to_owned(),
        })),
        "image" => {
            block.str("data").map(|data| Block::Image(base64_image(&block.str("mimeType").unwrap_or_default(), &data)))
        }
        _ => None,
    };
    known.unwrap_or_else(|| opaque(kind, raw.get()))
}

/// Pi keeps in `thinkingSignature` either what the provider signed or encrypted, or the name of the field that the
/// thinking came in, as in `reasoning_content`. A name has only small letters and underscores; base64 and JSON do not.
fn is_signature(signature: &str) -> bool {
    signature.bytes().any(|byte| !matches!(byte, b'a'..=b'z' | b'_'))
}

fn is_truthy(json: &str) -> bool {
    !matches!(json, "null" | "false" | "0" | "-0" | "\"\"")
}

/// What the model reads of a command that the user ran.
fn bash_text(message: &Object<'_>) -> String {
    let command = message.str("command").unwrap_or_default();
    let output = message.str("output").unwrap_or_default();
    let mut text = format!("Ran `{command}`\n");
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{output}\n```"));
    }
    if message.is_true("cancelled") {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = message.number("exitCode").filter(|code| *code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if let Some(path) = message.str("fullOutputPath").filter(|_| message.is_true("truncated")) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}

/// All system messages in one, as Pi folds them for a compaction: texts one after another, sections by name, tools
/// added less tools removed. Without its last field and brace, since the time is only known on writing.
pub(super) fn replay(systems: &[Object<'_>]) -> Option<String> {
    if systems.is_empty() {
        return None;
    }
    let mut texts = Vec::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut tools: Vec<(String, String)> = Vec::new();
    for message in systems {
        let text = message.some("content").map(content_text).unwrap_or_default();
        if !text.is_empty() {
            texts.push(text);
        }
        for (name, value) in message.object("sections").iter().flat_map(Object::fields) {
            patch(&mut sections, name, Some(value.get()).filter(|value| *value != "null"));
        }
        for (removed, list) in [(true, "toolsRemoved"), (false, "toolsAdded")] {
            for tool in message.array(list).unwrap_or_default() {
                let name = Object::of(tool).and_then(|tool| tool.str("name").map(std::borrow::Cow::into_owned));
                patch(&mut tools, &name.unwrap_or_default(), (!removed).then_some(tool.get()));
            }
        }
    }
    let mut json = format!(r#"{{"role":"system","content":{}"#, quote(&texts.join("\n\n")));
    if !sections.is_empty() {
        let fields: Vec<String> = sections.iter().map(|(name, value)| format!("{}:{value}", quote(name))).collect();
        json.push_str(&format!(r#","sections":{{{}}}"#, fields.join(",")));
    }
    if !tools.is_empty() {
        let tools: Vec<&str> = tools.iter().map(|(_, tool)| tool.as_str()).collect();
        json.push_str(&format!(r#","toolsAdded":[{}]"#, tools.join(",")));
    }
    Some(json)
}

/// Sets or removes a value by name, in the order of a JavaScript map.
fn patch(list: &mut Vec<(String, String)>, name: &str, value: Option<&str>) {
    match value {
        None => list.retain(|(known, _)| known != name),
        Some(value) => match list.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.to_owned(),
            None => list.push((name.to_owned(), value.to_owned())),
        },
    }
}

fn content_text(content: &RawValue) -> String {
    match string(content) {
        Some(text) => text.into_owned(),
        None => join_texts(&array(content).unwrap_or_default().into_iter().map(block).collect::<Vec<_>>()),
    }
}
