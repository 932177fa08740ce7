//! Lines of Claude Code as entries.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{is_message, metadata, problem};
use crate::format::content::{base64_image, image_of_url, join_texts, opaque};
use crate::format::ids::{self, Unique};
use crate::format::json::{Object, array, string};
use crate::format::{Problem, marker};
use crate::transcript::{Block, Compaction, Entry, EntryId, EntryKind, Reasoning, SourcePart, ToolCall, ToolResult};

/// How user lines begin that the program wrote: traces of slash commands and shell commands, and reminders.
const WRAPPERS: [&str; 10] = [
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
];

pub(super) struct Reader {
    entries: Vec<Entry>,
    problems: Vec<Problem>,
    names: Unique,
    tools: HashMap<String, String>,
    /// Entry of an API message, by its id, since the last words of the user.
    open: HashMap<String, usize>,
    /// Of the boundary, until its summary comes.
    compaction: Compaction,
    line: usize,
}

impl Reader {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self {
            entries: Vec::new(),
            problems,
            names: Unique::default(),
            tools: HashMap::new(),
            open: HashMap::new(),
            compaction: Compaction::default(),
            line: 0,
        }
    }

    pub(super) fn finish(self) -> (Vec<Arc<Entry>>, Vec<Problem>) {
        let mut context: Vec<Arc<Entry>> = Vec::with_capacity(self.entries.len());
        for mut entry in self.entries {
            entry.parent = context.last().map(|before| before.id.clone());
            context.push(Arc::new(entry));
        }
        (context, self.problems)
    }

    fn problem(&mut self, reason: impl Into<String>) {
        self.problems.push(problem(self.line, reason));
    }

    pub(super) fn boundary(&mut self, boundary: &Object<'_>) {
        let Some(metadata) = metadata(boundary) else { return };
        let tokens = |camel, snake| {
            let count = metadata.number(camel).or_else(|| metadata.number(snake)).unwrap_or(0);
            u32::try_from(count).unwrap_or(if count < 0 { 0 } else { u32::MAX })
        };
        let own = metadata.object("contextengine");
        self.compaction = Compaction {
            plugin: own.as_ref().and_then(|own| own.str("plugin")).unwrap_or_default().into_owned(),
            details: own.and_then(|own| own.some("details").map(|details| details.get().to_owned())),
            tokens_before: tokens("preTokens", "pre_tokens"),
            tokens_after: tokens("postTokens", "post_tokens"),
        };
    }

    pub(super) fn record(&mut self, line: usize, record: &Object<'_>) {
        self.line = line;
        if !is_message(record) {
            return;
        }
        let Some(message) = record.object("message") else {
            return self.problem("is a message without `message`; it is kept and not shown to the model");
        };
        if record.str("uuid").is_none() {
            self.problem("is a message without a uuid");
        }
        if record.str("type").as_deref() == Some("assistant") {
            self.assistant(record, &message);
        } else {
            self.user(record, &message);
        }
    }

    fn push(&mut self, record: &Object<'_>, kind: EntryKind, blocks: Vec<Block>, part: Option<Range<u32>>) {
        let uuid = record.str("uuid").filter(|uuid| !uuid.is_empty());
        let name = uuid.unwrap_or_else(|| Cow::Owned(format!("line-{}", self.line + 1)));
        let mut entry = Entry::new("", kind, blocks);
        entry.id = EntryId::new(self.names.name(&name));
        entry.at = record.str("timestamp").and_then(|time| ids::time(&time));
        entry.source = vec![SourcePart { record: u32::try_from(self.line).unwrap_or(u32::MAX), blocks: part }];
        if kind == EntryKind::Summary {
            entry.compaction = Some(Box::new(std::mem::take(&mut self.compaction)));
        }
        self.entries.push(entry);
    }

    fn assistant(&mut self, record: &Object<'_>, message: &Object<'_>) {
        let blocks = self.blocks(message.some("content"), assistant_block);
        for block in &blocks {
            if let Block::ToolCall(call) = block {
                self.tools.insert(call.id.clone(), call.name.clone());
            }
        }
        let id = message.str("id").filter(|id| !id.is_empty()).map(Cow::into_owned);
        if let Some(entry) = id.as_ref().and_then(|id| self.open.get(id)).and_then(|at| self.entries.get_mut(*at)) {
            entry.blocks.extend(blocks);
            entry.source.push(SourcePart { record: u32::try_from(self.line).unwrap_or(u32::MAX), blocks: None });
            return;
        }
        if let Some(id) = id {
            self.open.insert(id, self.entries.len());
        }
        self.push(record, EntryKind::Assistant, blocks, None);
    }

    fn user(&mut self, record: &Object<'_>, message: &Object<'_>) {
        let content = message.some("content");
        let parts = content.and_then(array).unwrap_or_default();
        let results = parts.iter().filter(|part| is_result(part)).count();
        if results == 0 {
            let blocks = self.blocks(content, user_block);
            return self.words(record, blocks, None);
        }
        let mut at = 0;
        while at < parts.len() {
            let run =
                if is_result(parts[at]) { 1 } else { parts[at..].iter().take_while(|part| !is_result(part)).count() };
            let range = u32::try_from(at).unwrap_or(u32::MAX)..u32::try_from(at + run).unwrap_or(u32::MAX);
            let part = (parts.len() > run).then_some(range);
            if is_result(parts[at]) {
                let blocks = self.result(parts[at]);
                self.push(record, EntryKind::ToolResult, blocks, part);
            } else {
                let blocks = parts[at..at + run].iter().map(|part| user_block(part)).collect();
                self.words(record, blocks, part);
            }
            at += run;
        }
    }

    fn words(&mut self, record: &Object<'_>, mut blocks: Vec<Block>, part: Option<Range<u32>>) {
        let texts = || blocks.iter().filter_map(|block| if let Block::Text(text) = block { Some(text) } else { None });
        let wrapped = |text: &String| WRAPPERS.iter().any(|wrapper| text.trim_start().starts_with(wrapper));
        let mut kind = if record.is_true("isCompactSummary") {
            EntryKind::Summary
        } else if record.is_true("isMeta") || (texts().next().is_some() && texts().all(wrapped)) {
            EntryKind::Note
        } else {
            EntryKind::User
        };
        if let [Block::Text(text)] = blocks.as_mut_slice()
            && let Some((marked, inner)) = marker::unwrap(text)
            // A note may turn out to be more; words of the user never do.
            && (marked == kind || kind == EntryKind::Note)
        {
            kind = marked;
            *text = inner.to_owned();
        }
        if kind == EntryKind::User {
            self.open.clear();
        }
        self.push(record, kind, blocks, part);
    }

    fn result(&mut self, raw: &RawValue) -> Vec<Block> {
        let Some(result) = Object::of(raw) else {
            return vec![opaque("tool_result", raw.get())];
        };
        let call_id = result.str("tool_use_id").unwrap_or_default().into_owned();
        if call_id.is_empty() {
            self.problem("has a tool result without `tool_use_id`");
        }
        let mut blocks = self.blocks(result.some("content"), user_block);
        let text = join_texts(&blocks);
        blocks.retain(|block| !matches!(block, Block::Text(_)));
        let name = self.tools.get(&call_id).cloned().unwrap_or_default();
        let failed = result.is_true("is_error");
        blocks.insert(0, Block::ToolResult(ToolResult { call_id, name, text, failed }));
        blocks
    }

    fn blocks(&mut self, content: Option<&RawValue>, block: fn(&RawValue) -> Block) -> Vec<Block> {
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

pub(super) fn is_result(raw: &RawValue) -> bool {
    Object::of(raw).is_some_and(|block| block.str("type").as_deref() == Some("tool_result"))
}

fn user_block(raw: &RawValue) -> Block {
    if let Some(text) = string(raw) {
        return Block::Text(text.into_owned());
    }
    let Some(block) = Object::of(raw) else {
        return opaque("", raw.get());
    };
    let kind = block.str("type").unwrap_or_default();
    let known = match kind.as_ref() {
        "text" => block.str("text").map(|text| Block::Text(text.into_owned())),
        "image" => block.object("source").and_then(|source| {
            let media_type = source.str("media_type").unwrap_or_default();
            match source.str("data") {
                Some(data) => Some(Block::Image(base64_image(&media_type, &data))),
                None => source.str("url").map(|url| image_of_url(&url)),
            }
        }),
        _ => None,
    };
    known.unwrap_or_else(|| opaque(kind, raw.get()))
}

fn assistant_block(raw: &RawValue) -> Block {
    let Some(block) = Object::of(raw) else {
        return user_block(raw);
    };
    match block.str("type").unwrap_or_default().as_ref() {
        "thinking" => Block::Reasoning(Reasoning {
            text: block.str("thinking").unwrap_or_default().into_owned(),
            signed: block.str("signature").is_some_and(|signature| !signature.is_empty()),
        }),
        "redacted_thinking" => Block::Reasoning(Reasoning { text: String::new(), signed: true }),
        "tool_use" => Block::ToolCall(ToolCall {
            id: block.str("id").unwrap_or_default().into_owned(),
            name: block.str("name").unwrap_or_default().into_owned(),
            arguments: block.some("input").map_or("{}", RawValue::get).to_owned(),
        }),
        _ => user_block(raw),
    }
}
