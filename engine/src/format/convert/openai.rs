//! A list of chat messages, one a line.

use super::Losses;
use crate::format::changes::words;
use crate::format::content::text_block;
use crate::format::json::{on_one_line, quote};
use crate::format::{marker, openai};
use crate::transcript::{Block, Entry, EntryKind, Image, ImageSource, ToolResult};

pub(super) fn write(entries: &[Entry], losses: &mut Losses) -> String {
    let lines: Vec<String> = entries.iter().filter_map(|entry| message(entry, losses)).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

fn message(entry: &Entry, losses: &mut Losses) -> Option<String> {
    if entry.kind == EntryKind::Summary {
        losses.details += u32::from(entry.compaction.as_ref().is_some_and(|compaction| compaction.details.is_some()));
    }
    if let Some(result) = entry.tool_result() {
        return Some(tool(entry, result, losses));
    }
    let message = match entry.kind {
        EntryKind::Assistant => assistant(entry, losses),
        EntryKind::Summary | EntryKind::BranchSummary | EntryKind::Note if only_words(entry) => {
            let text = words(entry);
            Some(openai::message(entry.role, &marker::wrap(entry.kind, &text)))
        }
        EntryKind::System => {
            count(entry, losses, true);
            let text = words(entry);
            (!text.is_empty()).then(|| openai::message(entry.role, &text))
        }
        _ => user(entry, losses),
    };
    losses.empty += u32::from(message.is_none());
    message
}

fn only_words(entry: &Entry) -> bool {
    entry.blocks.iter().all(|block| matches!(block, Block::Text(_)))
}

fn tool(entry: &Entry, result: &ToolResult, losses: &mut Losses) -> String {
    losses.failed += u32::from(result.failed && result.text != super::NO_RESULT);
    count(entry, losses, true);
    format!(r#"{{"role":"tool","tool_call_id":{},"content":{}}}"#, quote(&result.call_id), quote(&result.text))
}

fn user(entry: &Entry, losses: &mut Losses) -> Option<String> {
    count(entry, losses, false);
    if let [Block::Text(text)] = entry.blocks.as_slice() {
        return Some(openai::message(entry.role, text));
    }
    let parts: Vec<String> = entry
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text_block(text)),
            Block::Image(image) => image_part(image),
            Block::Opaque(opaque) if is_native(&opaque.type_name) => Some(on_one_line(&opaque.json)),
            _ => None,
        })
        .collect();
    (!parts.is_empty()).then(|| format!(r#"{{"role":"user","content":[{}]}}"#, parts.join(",")))
}

/// Parts that the format has and the host does not model.
fn is_native(type_name: &str) -> bool {
    matches!(type_name, "input_audio" | "file")
}

fn image_part(image: &Image) -> Option<String> {
    let url = match &image.source {
        ImageSource::Base64(data) => format!("data:{};base64,{data}", image.media_type),
        ImageSource::Url(url) => url.clone(),
        ImageSource::Unknown => return None,
    };
    Some(format!(r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#, quote(&url)))
}

fn assistant(entry: &Entry, losses: &mut Losses) -> Option<String> {
    count(entry, losses, true);
    let texts: Vec<&str> = entry
        .blocks
        .iter()
        .filter_map(|block| if let Block::Text(text) = block { Some(text.as_str()) } else { None })
        .collect();
    let calls: Vec<String> = entry
        .tool_calls()
        .map(|call| {
            let (id, name) = (quote(&call.id), quote(&call.name));
            let arguments = quote(&call.arguments);
            format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#)
        })
        .collect();
    let content = match texts.as_slice() {
        [] if calls.is_empty() => return None,
        [] => "null".to_owned(),
        [text] => quote(text),
        texts => format!("[{}]", texts.iter().map(|text| text_block(text)).collect::<Vec<_>>().join(",")),
    };
    let calls = if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{}]"#, calls.join(",")) };
    Some(format!(r#"{{"role":"assistant","content":{content}{calls}}}"#))
}

/// Counts what of the entry has no place in its message.
fn count(entry: &Entry, losses: &mut Losses, images_too: bool) {
    for block in &entry.blocks {
        match block {
            Block::Reasoning(_) => losses.reasoning += 1,
            Block::Image(image) => losses.images += u32::from(images_too || image.source == ImageSource::Unknown),
            Block::Opaque(opaque) => losses.opaque += u32::from(images_too || !is_native(&opaque.type_name)),
            _ => {}
        }
    }
}
