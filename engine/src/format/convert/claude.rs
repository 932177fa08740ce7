//! A transcript of Claude Code.

use super::{Clock, Losses, object};
use crate::format::changes::words;
use crate::format::claude::own_metadata;
use crate::format::content::text_block;
use crate::format::json::quote;
use crate::format::{ids, marker};
use crate::transcript::{Block, Entry, EntryKind, ImageSource, Role};

/// What an empty opening message of the user says; the API wants the first message to be one of the user.
const OPENING: &str = "(the conversation begins here)";

pub(super) fn write(entries: &[Entry], losses: &mut Losses) -> String {
    let texts: Vec<&[u8]> = entries.iter().map(|entry| entry.id.as_str().as_bytes()).collect();
    let session = ids::uuid(&texts);
    let mut writer = Writer { losses, clock: Clock::new(entries), session, parent: None, lines: 0, out: String::new() };
    let (mut systems, mut begun) = (false, false);
    for entry in entries {
        systems |= entry.kind == EntryKind::System;
        if entry.kind == EntryKind::Summary && !begun {
            writer.boundary(entry);
        } else if entry.kind == EntryKind::Assistant && !begun {
            writer.user(entry, &quote(OPENING), r#","isMeta":true"#);
            writer.losses.other.push("a note opens the conversation: its first message must be one of the user");
        }
        begun = true;
        writer.entry(entry);
    }
    if systems {
        writer.losses.other.push("system messages are notes: Claude Code has its own and keeps none in the transcript");
    }
    writer.losses.other.push("the session has no folder of its own: `cwd` is `.`");
    writer.out
}

struct Writer<'a> {
    losses: &'a mut Losses,
    clock: Clock,
    session: String,
    parent: Option<String>,
    lines: u64,
    out: String,
}

impl Writer<'_> {
    fn entry(&mut self, entry: &Entry) {
        self.clock.of(entry);
        if let Some(result) = entry.tool_result() {
            let mut content = vec![text_block(&result.text)];
            content.extend(self.content(entry));
            let failed = if result.failed { r#","is_error":true"# } else { "" };
            let block = format!(
                r#"[{{"tool_use_id":{},"type":"tool_result","content":[{}]{failed}}}]"#,
                quote(&result.call_id),
                content.join(",")
            );
            return self.user(entry, &block, "");
        }
        if entry.kind == EntryKind::Assistant {
            return self.assistant(entry);
        }
        let flags = match entry.kind {
            EntryKind::User => "",
            EntryKind::Summary => r#","isVisibleInTranscriptOnly":true,"isCompactSummary":true"#,
            _ => r#","isMeta":true"#,
        };
        let text = match entry.kind {
            EntryKind::Summary | EntryKind::BranchSummary => quote(&marker::wrap(entry.kind, &words(entry))),
            _ => {
                self.losses.roles += u32::from(entry.kind == EntryKind::Note && entry.role != Role::User);
                match self.content(entry) {
                    blocks if blocks.is_empty() => {
                        self.losses.empty += 1;
                        return;
                    }
                    blocks => format!("[{}]", blocks.join(",")),
                }
            }
        };
        self.user(entry, &text, flags);
    }

    fn uuid(&mut self, entry: &Entry) -> String {
        self.lines += 1;
        ids::uuid(&[self.session.as_bytes(), entry.id.as_str().as_bytes(), &self.lines.to_le_bytes()])
    }

    /// Appends a line: its own fields stand between those that all lines have.
    fn push(&mut self, uuid: String, parent: Option<String>, fields: &str) {
        let time = ids::iso(self.clock.0);
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| quote(&parent));
        self.out.push_str(&format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\".\",\"sessionId\":\"{}\",\"version\":\"2.0.0\",\"gitBranch\":\"\",{fields},\"uuid\":\"{uuid}\",\"timestamp\":\"{time}\"}}\n",
            self.session
        ));
        self.parent = Some(uuid);
    }

    fn user(&mut self, entry: &Entry, content: &str, flags: &str) {
        let uuid = self.uuid(entry);
        let parent = self.parent.take();
        self.push(uuid, parent, &format!(r#""type":"user","message":{{"role":"user","content":{content}}}{flags}"#));
    }

    fn boundary(&mut self, summary: &Entry) {
        let uuid = self.uuid(summary);
        let known = summary.compaction.as_deref();
        let tokens = known.map_or((0, 0), |compaction| (compaction.tokens_before, compaction.tokens_after));
        let own = known.map_or(Ok(String::new()), own_metadata).unwrap_or_else(|rest| {
            self.losses.details += 1;
            rest
        });
        let fields = format!(
            r#""type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{{"trigger":"manual","preTokens":{},"postTokens":{}{own}}}"#,
            tokens.0, tokens.1
        );
        self.push(uuid, None, &fields);
    }

    fn assistant(&mut self, entry: &Entry) {
        let content = self.content(entry);
        if content.is_empty() {
            self.losses.empty += 1;
            return;
        }
        let stop = if entry.tool_calls().next().is_some() { "tool_use" } else { "end_turn" };
        let uuid = self.uuid(entry);
        let id = format!("msg_{}", &ids::hash(&[uuid.as_bytes()])[..24]);
        let message = format!(
            r#"{{"id":"{id}","type":"message","role":"assistant","model":"unknown","content":[{}],"stop_reason":"{stop}","stop_sequence":null,"usage":{{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}}"#,
            content.join(",")
        );
        let parent = self.parent.take();
        self.push(uuid, parent, &format!(r#""type":"assistant","message":{message}"#));
    }

    /// The blocks of the entry but for its tool result.
    fn content(&mut self, entry: &Entry) -> Vec<String> {
        let mut content = Vec::with_capacity(entry.blocks.len());
        for block in &entry.blocks {
            match block {
                // The API refuses empty blocks of text.
                Block::Text(text) if !text.is_empty() => content.push(text_block(text)),
                Block::Text(_) | Block::ToolResult(_) => {}
                Block::Reasoning(_) => self.losses.reasoning += 1,
                Block::ToolCall(call) => content.push(format!(
                    r#"{{"type":"tool_use","id":{},"name":{},"input":{}}}"#,
                    quote(&call.id),
                    quote(&call.name),
                    object(&call.arguments, self.losses)
                )),
                Block::Image(image) => {
                    let source = match &image.source {
                        ImageSource::Base64(data) => format!(
                            r#"{{"type":"base64","media_type":{},"data":{}}}"#,
                            quote(&image.media_type),
                            quote(data)
                        ),
                        ImageSource::Url(url) => format!(r#"{{"type":"url","url":{}}}"#, quote(url)),
                        ImageSource::Unknown => {
                            self.losses.images += 1;
                            continue;
                        }
                    };
                    content.push(format!(r#"{{"type":"image","source":{source}}}"#));
                }
                Block::Opaque(_) => self.losses.opaque += 1,
            }
        }
        content
    }
}
