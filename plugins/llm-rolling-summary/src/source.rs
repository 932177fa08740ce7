//! The entries as the model reads them: a transcript in pieces, one an entry, and what it leaves out.

use contextengine_sdk::budget::head_bytes;
use contextengine_sdk::cut::Layout;
use contextengine_sdk::transcript::{Style, render};
use contextengine_sdk::{Block, EntryInfo, EntryKind, Host, Marks, Position, Span, View};

use crate::chunks::Piece;
use crate::config::Config;
use crate::escape::masked;

/// Bytes of a piece of originals.
const ORIGINAL_PIECE: usize = 8 * 1024;

/// What the model did not read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Results, arguments and words that were shortened to their beginning and end.
    pub(crate) shortened: u32,
    /// Bytes that were left out of them.
    pub(crate) bytes: u64,
    /// Images.
    pub(crate) images: u32,
    /// Entries that were too large and what they were.
    pub(crate) set_aside: Vec<String>,
}

/// Reads entries as pieces of a transcript.
pub(crate) fn pieces(
    view: &dyn View,
    layout: &Layout,
    positions: &[Position],
    config: &Config,
    host: &Host,
    losses: &mut Losses,
) -> Vec<Piece> {
    let words = config.words_bytes.map_or(usize::MAX, |bytes| bytes as usize);
    let style = Style::new()
        .result_bytes(config.result_bytes as usize)
        .call_bytes(config.call_bytes as usize)
        .words_bytes(words)
        .reasoning(config.reasoning);
    let tools = view.tools();
    let mut pieces: Vec<Piece> = Vec::new();
    for &at in positions {
        let Some(entry) = layout.entry(at) else { continue };
        note_losses(view, at, entry, config, losses);
        let text = masked(&render(view, Span::one(at), &style));
        if !text.is_empty() {
            let starts = layout.is_boundary(at) || layout.group(at).first() == Some(&at);
            pieces.push(Piece { text, tokens: 0, starts, name: name(at, entry, &tools) });
        }
    }
    counted(pieces, host)
}

/// The originals behind a summary as pieces.
pub(crate) fn originals(text: &str, host: &Host) -> Vec<Piece> {
    let text = masked(text);
    let mut rest = text.as_str();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let most = head_bytes(rest, ORIGINAL_PIECE).len();
        let end = if most == rest.len() { most } else { rest[..most].rfind('\n').map_or(most, |line| line + 1) };
        let (piece, after) = rest.split_at(end.max(1));
        pieces.push(Piece { text: piece.to_owned(), tokens: 0, starts: true, name: "an original".to_owned() });
        rest = after;
    }
    if let Some(first) = pieces.first_mut() {
        first.text.insert_str(0, "[Originals of earlier entries, in order, without their speakers]:\n");
    }
    counted(pieces, host)
}

fn counted(mut pieces: Vec<Piece>, host: &Host) -> Vec<Piece> {
    let texts: Vec<String> = pieces.iter().map(|piece| piece.text.clone()).collect();
    for (piece, tokens) in pieces.iter_mut().zip(host.count_all(&texts)) {
        piece.tokens = tokens;
    }
    pieces
}

/// Replaces pieces that no prompt could hold beside others by a line that says so.
pub(crate) fn set_aside(
    pieces: &[Piece],
    config: &Config,
    window: u32,
    host: &Host,
    named: &mut Vec<String>,
) -> Vec<Piece> {
    let most = f64::from(window) * config.oversized_share;
    let is_oversized = |piece: &Piece| f64::from(piece.tokens) * config.safety_margin > most;
    pieces
        .iter()
        .map(|piece| {
            if !is_oversized(piece) {
                return piece.clone();
            }
            let name = format!("{}, {} tokens", piece.name, piece.tokens);
            let text = format!("[Left out, too large to be read: {name}]\n");
            if !named.contains(&name) {
                named.push(name);
            }
            Piece { tokens: host.count(&text), text, ..piece.clone() }
        })
        .collect()
}

fn name(at: Position, entry: &EntryInfo, tools: &[String]) -> String {
    let tool = entry.tool.and_then(|index| tools.get(index as usize));
    let what = match entry.kind {
        EntryKind::System => "instructions".to_owned(),
        EntryKind::User => "a message of the user".to_owned(),
        EntryKind::Assistant => "a message of the assistant".to_owned(),
        EntryKind::ToolResult => tool.map_or("a tool result".to_owned(), |tool| format!("a result of `{tool}`")),
        EntryKind::Summary => "an earlier summary".to_owned(),
        EntryKind::BranchSummary => "a summary of another branch".to_owned(),
        EntryKind::Note => "a note".to_owned(),
    };
    format!("{what} (entry {at})")
}

fn note_losses(view: &dyn View, at: Position, entry: &EntryInfo, config: &Config, losses: &mut Losses) {
    if entry.marks.contains(Marks::HAS_IMAGE) {
        losses.images += 1;
    }
    let words = config.words_bytes.unwrap_or(u32::MAX);
    if entry.bytes <= config.result_bytes.min(config.call_bytes).min(words) {
        return;
    }
    for block in view.blocks(at) {
        let (length, most) = match &block {
            Block::Text(text) => (text.trim_end().len(), words),
            Block::ToolCall(call) => (call.arguments.len(), config.call_bytes),
            Block::ToolResult(result) => (result.text.trim_end().len(), config.result_bytes),
            _ => continue,
        };
        if length > most as usize {
            losses.shortened += 1;
            losses.bytes += (length - most as usize) as u64;
        }
    }
}
