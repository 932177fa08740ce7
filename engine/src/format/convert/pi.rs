//! A session of Pi, version 3.

use super::{Clock, Losses, object};
use crate::format::changes::words;
use crate::format::content::text_block;
use crate::format::ids::{self, Unique};
use crate::format::json::{is_valid, on_one_line, quote};
use crate::format::pi::{NOTE, SUMMARY};
use crate::transcript::{Block, Entry, EntryKind, ImageSource, Role};

/// What Pi wants of the usage of an answer, when nothing is known of it.
const NO_USAGE: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

pub(super) fn write(entries: &[Entry], losses: &mut Losses) -> String {
    let mut writer =
        Writer { losses, clock: Clock::new(entries), names: Unique::default(), parent: None, out: String::new() };
    writer.header(entries);
    let systems = entries.iter().take_while(|entry| entry.kind == EntryKind::System).count();
    let rest = match entries.get(systems) {
        Some(summary) if summary.kind == EntryKind::Summary => {
            writer.compaction(&entries[..systems], summary);
            &entries[systems + 1..]
        }
        _ => entries,
    };
    for entry in rest {
        writer.entry(entry);
    }
    writer.losses.other.push("the session has no folder of its own: `cwd` is `.`");
    writer.out
}

struct Writer<'a> {
    losses: &'a mut Losses,
    clock: Clock,
    names: Unique,
    parent: Option<String>,
    out: String,
}

impl Writer<'_> {
    fn header(&mut self, entries: &[Entry]) {
        let texts: Vec<&[u8]> = entries.iter().map(|entry| entry.id.as_str().as_bytes()).collect();
        let id = ids::uuid(&texts);
        let time = ids::iso(self.clock.0);
        self.out.push_str(&format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\".\"}}\n"
        ));
    }

    /// Appends an entry of Pi: its type, and its own fields with a comma ahead.
    fn push(&mut self, entry: &Entry, kind: &str, fields: &str) {
        let id = self.next_id(entry);
        self.push_as(entry, &id, kind, fields);
    }

    fn next_id(&mut self, entry: &Entry) -> String {
        self.names.name(&ids::hash(&[entry.id.as_str().as_bytes()])[..8])
    }

    fn push_as(&mut self, entry: &Entry, id: &str, kind: &str, fields: &str) {
        let time = ids::iso(self.clock.of(entry));
        let parent = self.parent.replace(id.to_owned()).map_or_else(|| "null".to_owned(), |parent| quote(&parent));
        self.out.push_str(&format!(
            "{{\"type\":\"{kind}\",\"id\":{},\"parentId\":{parent},\"timestamp\":\"{time}\"{fields}}}\n",
            quote(id)
        ));
    }

    /// The summary that the context begins with, with the system messages ahead of it.
    fn compaction(&mut self, systems: &[Entry], summary: &Entry) {
        let time = self.clock.of(summary).0;
        let id = self.next_id(summary);
        let known = summary.compaction.as_deref();
        let mut fields = format!(
            r#","summary":{},"firstKeptEntryId":{},"tokensBefore":{}"#,
            quote(&words(summary)),
            quote(&id),
            known.map_or(0, |compaction| compaction.tokens_before)
        );
        if let Some(details) = known.and_then(|compaction| compaction.details.as_deref()) {
            if is_valid(details) {
                fields.push_str(&format!(r#","details":{}"#, on_one_line(details)));
            } else {
                self.losses.details += 1;
            }
        }
        if !systems.is_empty() {
            let text = systems.iter().map(words).collect::<Vec<_>>().join("\n\n");
            fields.push_str(&format!(
                r#","systemMessage":{{"role":"system","content":{},"timestamp":{time}}}"#,
                quote(&text)
            ));
        }
        self.push_as(summary, &id, "compaction", &fields);
    }

    fn entry(&mut self, entry: &Entry) {
        let time = entry.at.unwrap_or(self.clock.0).0;
        if let Some(result) = entry.tool_result() {
            let (id, name) = (quote(&result.call_id), quote(&result.name));
            let mut content = vec![text_block(&result.text)];
            content.extend(self.content(entry));
            return self.push(
                entry,
                "message",
                &format!(
                    r#","message":{{"role":"toolResult","toolCallId":{id},"toolName":{name},"content":[{}],"isError":{},"timestamp":{time}}}"#,
                    content.join(","),
                    result.failed
                ),
            );
        }
        match entry.kind {
            EntryKind::Assistant => self.assistant(entry, time),
            EntryKind::System => {
                let message = format!(r#"{{"role":"system","content":{},"timestamp":{time}}}"#, quote(&words(entry)));
                self.push(entry, "message", &format!(r#","message":{message}"#));
            }
            EntryKind::BranchSummary if !words(entry).is_empty() => {
                self.push(entry, "branch_summary", &format!(r#","fromId":"root","summary":{}"#, quote(&words(entry))));
            }
            EntryKind::User => {
                let content = self.content(entry).join(",");
                let message = format!(r#"{{"role":"user","content":[{content}],"timestamp":{time}}}"#);
                self.push(entry, "message", &format!(r#","message":{message}"#));
            }
            _ => {
                self.losses.roles += u32::from(entry.role != Role::User);
                let custom = if entry.kind == EntryKind::Summary { SUMMARY } else { NOTE };
                let content = self.content(entry).join(",");
                self.push(
                    entry,
                    "custom_message",
                    &format!(r#","customType":"{custom}","content":[{content}],"display":true"#),
                );
            }
        }
    }

    fn assistant(&mut self, entry: &Entry, time: i64) {
        let content = self.content(entry);
        if content.is_empty() {
            self.losses.empty += 1;
            return;
        }
        let stop = if entry.tool_calls().next().is_some() { "toolUse" } else { "stop" };
        let message = format!(
            r#"{{"role":"assistant","content":[{}],"api":"unknown","provider":"unknown","model":"unknown","usage":{NO_USAGE},"stopReason":"{stop}","timestamp":{time}}}"#,
            content.join(",")
        );
        self.push(entry, "message", &format!(r#","message":{message}"#));
    }

    /// The blocks of the entry but for its tool result.
    fn content(&mut self, entry: &Entry) -> Vec<String> {
        let mut content = Vec::with_capacity(entry.blocks.len());
        for block in &entry.blocks {
            match block {
                Block::Text(text) => content.push(text_block(text)),
                Block::Reasoning(reasoning) if !reasoning.signed && !reasoning.text.is_empty() => {
                    content.push(format!(r#"{{"type":"thinking","thinking":{}}}"#, quote(&reasoning.text)));
                }
                Block::Reasoning(_) => self.losses.reasoning += 1,
                Block::ToolCall(call) => content.push(format!(
                    r#"{{"type":"toolCall","id":{},"name":{},"arguments":{}}}"#,
                    quote(&call.id),
                    quote(&call.name),
                    object(&call.arguments, self.losses)
                )),
                Block::ToolResult(_) => {}
                Block::Image(image) => match &image.source {
                    ImageSource::Base64(data) => content.push(format!(
                        r#"{{"type":"image","data":{},"mimeType":{}}}"#,
                        quote(data),
                        quote(&image.media_type)
                    )),
                    ImageSource::Url(_) | ImageSource::Unknown => self.losses.images += 1,
                },
                Block::Opaque(_) => self.losses.opaque += 1,
            }
        }
        content
    }
}
