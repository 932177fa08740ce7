//! A tool result on its way into the log, shortened for the model.
//!
//! The log keeps the whole text beside what the model sees, so recall and [`View::original`](crate::view::View::original)
//! have all of it.

use std::sync::Arc;

use crate::tokens::TokenCounter;
use crate::transcript::{Block, Entry};

/// Why the text of a reducer is not taken. The result enters whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotShortened {
    #[error("its text is empty")]
    Empty,
    #[error("its text and the line that says how to get the rest take {after} tokens, and the whole result {before}")]
    NotSmaller { before: u32, after: u32 },
}

/// The text of a result that may be shortened: the only text of its entry.
pub(super) fn only_text(entry: &Entry) -> Option<&str> {
    let mut texts = entry.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(Some(result.text.as_str())),
        Block::Text(_) => Some(None),
        _ => None,
    });
    match (texts.next(), texts.next()) {
        (Some(Some(text)), None) => Some(text),
        _ => None,
    }
}

/// The entry as the model will see it, with the reducer's text and a line that says how to get the whole; and the tokens
/// of both together.
pub(super) fn shorten(whole: &Entry, text: &str, counter: &dyn TokenCounter) -> Result<(Entry, u32), NotShortened> {
    if text.trim().is_empty() {
        return Err(NotShortened::Empty);
    }
    let before = counter.count(only_text(whole).unwrap_or_default());
    let pointer = format!(
        "[Shortened from {before} to {} tokens. All of it can be recalled by the id {}]",
        counter.count(text),
        whole.id
    );
    let text = format!("{}\n{pointer}", text.trim_end());
    let after = counter.count(&text);
    if after >= before {
        return Err(NotShortened::NotSmaller { before, after });
    }
    let mut entry = whole.clone();
    entry.replace_text(&text);
    entry.replaces = vec![Arc::new(whole.clone())];
    Ok((entry, after))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::tokens::testing::Bytes;
    use crate::transcript::{EntryKind, ToolResult};

    fn result(text: &str) -> Entry {
        let result =
            ToolResult { call_id: "c".to_owned(), name: "read".to_owned(), text: text.to_owned(), failed: false };
        Entry::new("r7", EntryKind::ToolResult, vec![Block::ToolResult(result)])
    }

    #[test]
    fn a_shortened_result_names_the_id_of_the_whole_and_stands_for_it() {
        let whole = result(&"line\n".repeat(100));
        let (short, tokens) = shorten(&whole, "line\n[99 lines like it]\n", &Bytes).unwrap();
        let text = only_text(&short).unwrap();
        assert_eq!(tokens as usize, text.len());
        assert_eq!(
            text,
            "line\n[99 lines like it]\n[Shortened from 500 to 24 tokens. All of it can be recalled by the id r7]"
        );
        assert!(short.is_edited());
        assert_eq!(*short.replaces[0], whole);
    }

    #[test]
    fn a_text_that_is_empty_or_saves_nothing_is_not_taken() {
        let whole = result(&"x".repeat(100));
        assert_eq!(shorten(&whole, " \n", &Bytes), Err(NotShortened::Empty));
        let why = shorten(&whole, &"x".repeat(99), &Bytes).unwrap_err();
        assert!(matches!(why, NotShortened::NotSmaller { before: 100, .. }), "{why}");
    }
}
