//! An entry as plain text: words and results as they are, a call as `name(arguments)`, one block a line.
//!
//! Reasoning and images are left out. The text of an entry with one block is that block, not a copy.

use std::borrow::Cow;

use crate::transcript::{Block, Entry};

/// The whole text.
pub(super) fn plain(entry: &Entry) -> Cow<'_, str> {
    let mut pieces = entry.blocks.iter().filter_map(piece);
    let Some(first) = pieces.next() else {
        return Cow::Borrowed("");
    };
    let Some(second) = pieces.next() else {
        return first.into_text();
    };
    let mut text = first.into_text().into_owned();
    for piece in std::iter::once(second).chain(pieces) {
        text.push('\n');
        piece.push_to(&mut text);
    }
    Cow::Owned(text)
}

/// Length of the whole text in bytes, without making it.
pub(super) fn plain_len(entry: &Entry) -> usize {
    let mut pieces = 0;
    let bytes: usize = entry.blocks.iter().filter_map(piece).inspect(|_| pieces += 1).map(|piece| piece.len()).sum();
    bytes + usize::saturating_sub(pieces, 1)
}

enum Piece<'a> {
    Text(&'a str),
    Call { name: &'a str, arguments: &'a str },
}

fn piece(block: &Block) -> Option<Piece<'_>> {
    match block {
        Block::Text(text) => Some(Piece::Text(text)),
        Block::ToolResult(result) => Some(Piece::Text(&result.text)),
        Block::ToolCall(call) => Some(Piece::Call { name: &call.name, arguments: &call.arguments }),
        Block::Reasoning(_) | Block::Image(_) | Block::Opaque(_) => None,
    }
}

impl<'a> Piece<'a> {
    fn len(&self) -> usize {
        match self {
            Piece::Text(text) => text.len(),
            Piece::Call { name, arguments } => name.len() + arguments.len() + 2,
        }
    }

    fn into_text(self) -> Cow<'a, str> {
        match self {
            Piece::Text(text) => Cow::Borrowed(text),
            Piece::Call { .. } => {
                let mut text = String::with_capacity(self.len());
                self.push_to(&mut text);
                Cow::Owned(text)
            }
        }
    }

    fn push_to(&self, text: &mut String) {
        match self {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Call { name, arguments } => {
                text.push_str(name);
                text.push('(');
                text.push_str(arguments);
                text.push(')');
            }
        }
    }
}

/// The first `limit` bytes, cut at a character boundary.
pub(super) fn limited(text: Cow<'_, str>, limit: Option<u32>) -> Cow<'_, str> {
    let Some(limit) = limit else { return text };
    let end = text.floor_char_boundary(usize::try_from(limit).unwrap_or(usize::MAX));
    slice(text, 0, end)
}

/// Bytes `start..end`, snapped inwards to character boundaries.
pub(super) fn range(text: Cow<'_, str>, start: u32, end: u32) -> Cow<'_, str> {
    let start = text.ceil_char_boundary(usize::try_from(start).unwrap_or(usize::MAX));
    let end = text.floor_char_boundary(usize::try_from(end).unwrap_or(usize::MAX));
    slice(text, start, end.max(start))
}

fn slice(text: Cow<'_, str>, start: usize, end: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            text.drain(..start);
            Cow::Owned(text)
        }
    }
}
